package canon

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sieved is what comes through the sieves behind a decoder, by where it comes from.
type sieved struct {
	d      Decoder
	sieves [8]Sieve
	texts  []string
	open   [8][]Unit
}

func (s *sieved) take(out [][]Unit) {
	for i := range out {
		for _, u := range s.sieves[i].Write(nil, out[i]) {
			if u.C != Break {
				s.open[i] = append(s.open[i], u)
				continue
			}
			s.end(i)
		}
	}
}

func (s *sieved) end(i int) {
	if len(s.open[i]) > 0 {
		s.texts = append(s.texts, fmt.Sprintf("%d-%d %q", s.open[i][0].Start, s.open[i][len(s.open[i])-1].End, text(s.open[i])))
	}
	s.open[i] = nil
}

func (s *sieved) close() []string {
	out := make([][]Unit, s.d.Enc.Phases)
	s.d.Close(out)
	s.take(out)
	for i := range s.open {
		s.end(i)
	}
	slices.Sort(s.texts)
	return s.texts
}

func letters(units []Unit) (out []Unit) {
	for _, u := range units {
		if u.C >= Alnum {
			out = append(out, u)
		}
	}
	return out
}

// awake decodes a text all the time.
func awake(e *Encoding, in string) []string {
	s := sieved{d: Decoder{Enc: e}}
	units := Units(nil, []byte(in), 0)
	if e == Base16 {
		units = letters(units)
	}
	out := make([][]Unit, e.Phases)
	s.d.Write(out, units)
	s.take(out)
	return s.close()
}

// sleepy decodes it where there is text, and comes to it in pieces.
func sleepy(t *testing.T, e *Encoding, in string, cuts []int) []string {
	s := sieved{d: Decoder{Enc: e}}
	from := 0
	for _, c := range append(cuts, len(in)) {
		p, off := []byte(in[from:c]), from
		from = c
		for len(p) > 0 {
			var n int
			out := make([][]Unit, e.Phases)
			if !s.d.Active() || s.d.Asleep() {
				var text bool
				if n, text = s.d.Read(p, int64(off), []byte(in[max(0, off-16):off])); text {
					s.d.Wake(out)
				}
			} else {
				n = min(len(p), 5)
				units := Units(nil, p[:n], int64(off))
				if e == Base16 {
					units = letters(units)
				}
				s.d.Write(out, units)
			}
			s.take(out)
			if s.d.Active() && !s.d.Asleep() && !slices.ContainsFunc(s.sieves[:], func(s Sieve) bool { return s.On() }) && s.d.Sleep() {
				for i := range s.sieves {
					s.sieves[i].Reset()
				}
			}
			p, off = p[n:], off+n
		}
		if h := s.d.Hold(); h != NoHold && h > int64(c) {
			t.Fatalf("a hold at %d of %d", h, c)
		}
	}
	return s.close()
}

// A decoder that sleeps where nothing is text finds the same texts.
func TestSleepFindsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return string(b)
	}
	piece := func() string {
		plain := []string{"harbor-41", "a@b.cc", "passwort=zürich", random(rng.IntN(20)), "ok" + random(3) + "lantern", strings.Repeat("x", rng.IntN(9))}[rng.IntN(6)]
		switch rng.IntN(7) {
		case 0:
			return base64.StdEncoding.EncodeToString([]byte(plain))
		case 1:
			return base64.RawURLEncoding.EncodeToString([]byte(random(rng.IntN(4)) + plain))
		case 2:
			return strings.ToLower(base32.StdEncoding.EncodeToString([]byte(plain)))
		case 3:
			return strings.Join(strings.Split(hex.EncodeToString([]byte(plain)), ""), []string{"", " ", ":"}[rng.IntN(3)])
		case 4:
			return []string{" ", "\n", "\n  ", "==", "=", ".", strings.Repeat(" ", 250+rng.IntN(12)), "\n" + strings.Repeat(" ", 300)}[rng.IntN(8)]
		case 5:
			return "a long sentence of words "
		}
		return plain
	}
	texts := 0
	for range 3000 {
		var in string
		for range 1 + rng.IntN(8) {
			in += piece()
		}
		var cuts []int
		for range rng.IntN(4) {
			cuts = append(cuts, rng.IntN(len(in)+1))
		}
		slices.Sort(cuts)
		for _, e := range []*Encoding{Base64, Base32, Base16} {
			want, got := awake(e, in), sleepy(t, e, in, cuts)
			if !slices.Equal(got, want) {
				t.Fatalf("%s of %q, cut at %v: %v, want %v", e.Name, in, cuts, got, want)
			}
			texts += len(want)
		}
	}
	if texts < 1000 {
		t.Errorf("only %d texts were found", texts)
	}
}

// ReadIdle does for three encodings what Read does for one.
func TestReadIdle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		in := make([]byte, 1+rng.IntN(600))
		for i := range in {
			if in[i] = "abcdef0123456789XYZ+/=  \n.ghijk"[rng.IntN(31)]; rng.IntN(40) == 0 {
				for ; i < len(in) && rng.IntN(300) > 0; i++ {
					in[i] = ' '
				}
			}
		}
		for _, e := range []*Encoding{Base64, Base32, Base16} {
			d := [3]Decoder{{Enc: Base64}, {Enc: Base32}, {Enc: Base16}}
			n := ReadIdle(&d[0], &d[1], &d[2], in, 0)
			one := Decoder{Enc: e}
			one.Read(in[:n], 0, nil)
			if one.Active() {
				t.Fatalf("%s decodes %q", e.Name, in[:n])
			}
			for i := range d {
				if d[i].Enc == e && (d[i].Hold() != one.Hold() || d[i].count != one.count) {
					t.Fatalf("%s holds from %d with %d of %q, want %d with %d", e.Name, d[i].Hold(), d[i].count, in[:n], one.Hold(), one.count)
				}
			}
		}
	}
}

// What Plain says is read as it is, whatever follows.
func TestPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	pieces := []string{"word ", "100% sure", "a & b", "a && b", "%%", "&&&", "R&D", "%s", "%41", "\\n", "\\q", "\\x4", "1", "é", "日本語", "а", "\u200b", "&amp", ";", "\\", "%", "&", "\x80", "x"}
	plain := 0
	for range 20000 {
		var in string
		for range 1 + rng.IntN(6) {
			in += pieces[rng.IntN(len(pieces))]
		}
		n, ascii := Plain([]byte(in))
		plain += n
		var esc, esc2 Unescape
		var fold Fold
		units := esc2.Write(nil, esc.Write(nil, Units(nil, []byte(in), 0)))
		units = fold.Close(fold.Write(nil, esc2.Close(esc2.Write(units, esc.Close(nil)))))
		if len(units) < n {
			t.Fatalf("%d bytes of %q are plain, but %d come out", n, in, len(units))
		}
		for i, u := range units[:n] {
			if u.B != in[i] || ascii && u.B >= 0x80 {
				t.Fatalf("%d bytes of %q are plain (ASCII: %t), but byte %d comes out as %q", n, in, ascii, i, u.B)
			}
		}
	}
	if plain < 20000 {
		t.Errorf("only %d bytes were plain", plain)
	}
}
