// Package draw makes texts with much for a detection engine to do: what rules look
// for, registered values in disguise, parts of them, keys on many lines, and ordinary
// words. All values are invented. The same seed gives the same texts.
package draw

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"

	"github.com/margaydev/margay/secret/recognise"
)

// Source is what texts are made from. It must not change.
type Source struct {
	trees     []*syntax.Regexp // of rules
	gates     []string
	values    []string // registered
	encodings []func(string) string
}

// NewSource makes a source from rules, values that are registered, and disguises.
func NewSource(rules []recognise.Rule, values []string, encodings []func(string) string) (*Source, error) {
	s := &Source{values: values, encodings: encodings}
	for i := range rules {
		s.gates = append(s.gates, rules[i].Gate...)
		if rules[i].Regex == "" {
			continue
		}
		tree, err := syntax.Parse(rules[i].Regex, syntax.Perl)
		if err != nil {
			return nil, err
		}
		s.trees = append(s.trees, tree)
	}
	return s, nil
}

// Drawer draws texts. It is not safe for concurrent use.
type Drawer struct {
	src *Source
	rng *rand.Rand
}

// Drawer returns the drawer of a seed.
func (s *Source) Drawer(seed uint64) *Drawer {
	return &Drawer{src: s, rng: rand.New(rand.NewPCG(seed, 17))}
}

// most bounds a text, in bytes.
const most = 4000

// Text draws a text of at most 4000 bytes.
func (d *Drawer) Text() []byte {
	var b []byte
	for range 1 + d.rng.IntN(9) {
		b = append(b, d.piece()...)
		b = append(b, d.one(joints)...)
	}
	return b[:min(len(b), most)]
}

// Around puts drawn text before, into and behind another text.
func (d *Drawer) Around(text []byte) []byte {
	at := d.rng.IntN(len(text) + 1)
	b := []byte(d.piece() + d.one(joints))
	b = append(append(b, text[:at]...), d.piece()...)
	b = append(b, text[at:]...)
	return append(b[:min(len(b), most)], d.piece()...)
}

// Cuts draws where a text of n bytes is cut.
func (d *Drawer) Cuts(n int) (cuts []int) {
	size := d.one2([]int{1, 2, 4, 12, 60, 300, 1000})
	for at := 1 + d.rng.IntN(size); at < n; at += 1 + d.rng.IntN(size) {
		cuts = append(cuts, at)
	}
	return cuts
}

func (d *Drawer) one(of []string) string { return of[d.rng.IntN(len(of))] }

func (d *Drawer) one2(of []int) int { return of[d.rng.IntN(len(of))] }

// piece draws one thing to find, or something like it.
func (d *Drawer) piece() string {
	switch k := d.rng.IntN(20); {
	case k < 4:
		return d.words(1 + d.rng.IntN(12))
	case k < 8:
		return d.ofRule()
	case k < 10:
		return d.disguised(d.ofRule())
	case k < 13:
		return d.disguised(d.one(d.src.values))
	case k < 14:
		return d.named()
	case k == 14: // as short as what is found at all
		v := d.one(d.src.values)
		at := d.rng.IntN(max(1, len(v)-8))
		return d.src.encodings[d.rng.IntN(len(d.src.encodings))](v[at:min(len(v), at+6+d.rng.IntN(8))])
	case k == 15:
		return d.one(signs) + d.part(d.one(d.src.values)) + d.one(signs)
	case k == 16:
		return d.pem()
	case k == 17:
		return d.disguised(d.named())
	case k == 18:
		return d.one(samples)
	case d.rng.IntN(12) == 0:
		return d.long()
	default:
		return d.noise()
	}
}

// long draws a URL or a line that is as long as what detectors look back to or hold.
func (d *Drawer) long() string {
	if d.rng.IntN(2) == 0 {
		return d.words(25+d.rng.IntN(30)) + " " + d.named()
	}
	return "https://host.example/" + d.chars("abcdefghij-/", 1900+d.rng.IntN(200)) + "?t=" + d.ofRule() + d.one(joints)
}

func (d *Drawer) words(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(d.one(words))
	}
	return b.String()
}

// disguised applies one disguise or two, to all of a text or a part.
func (d *Drawer) disguised(s string) string {
	if d.rng.IntN(5) == 0 {
		s = d.words(2) + s + d.words(1)
	}
	for range 1 + d.rng.IntN(5)/3 {
		if len(s) < 600 {
			s = d.src.encodings[d.rng.IntN(len(d.src.encodings))](s)
		}
	}
	switch d.rng.IntN(8) {
	case 0:
		s = d.part(s)
	case 1: // put apart
		at := d.rng.IntN(len(s) + 1)
		s = s[:at] + strings.Repeat(d.one([]string{" ", "-", "\n", "\u200b", "."}), 1+d.rng.IntN(270)) + s[at:]
	}
	return s
}

// part cuts off some of the beginning and the end.
func (d *Drawer) part(s string) string {
	from := d.rng.IntN(len(s)/2 + 1)
	return s[from : len(s)-d.rng.IntN(len(s)-from+1)/2]
}

// named draws a setting with a name, as discovery looks for them.
func (d *Drawer) named() string {
	return d.one(names) + d.one(separators) + d.value() + d.one(ends)
}

func (d *Drawer) value() string {
	switch d.rng.IntN(5) {
	case 0:
		return d.chars("0123456789abcdef", 8+d.rng.IntN(40))
	case 1:
		return d.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*_-", 8+d.rng.IntN(24))
	case 2:
		return strings.ReplaceAll(d.words(3+d.rng.IntN(3)), " ", d.one([]string{"", "-", " "}))
	case 3:
		return d.chars("0123456789", 4+d.rng.IntN(8))
	}
	return d.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 12+d.rng.IntN(60)) + d.one([]string{"", "=", "=="})
}

func (d *Drawer) chars(of string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = of[d.rng.IntN(len(of))]
	}
	return string(b)
}

// pem draws a private key, or what begins like one.
func (d *Drawer) pem() string {
	kind := d.one([]string{"RSA PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "OPENSSH PRIVATE KEY", "PUBLIC KEY", "CERTIFICATE"})
	end := d.one([]string{"\n", "\n", "\r\n", `\n`, `\\n`, " ", ""})
	b := "-----BEGIN " + kind + "-----" + end
	if d.rng.IntN(4) == 0 {
		b += "Proc-Type: 4,ENCRYPTED" + end + end
	}
	for range d.rng.IntN(8) {
		b += d.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", d.one2([]int{64, 64, 64, 20, 70})) + end
	}
	if d.rng.IntN(4) > 0 {
		b += "-----END " + kind + "-----"
	}
	return b
}

// noise draws bytes that mean something to some detector.
func (d *Drawer) noise() string {
	switch d.rng.IntN(4) {
	case 0:
		b := make([]byte, 1+d.rng.IntN(60))
		for i := range b {
			b[i] = byte(d.rng.Uint32())
		}
		return string(b)
	case 1:
		return strings.Repeat(d.one(bits), 1+d.rng.IntN(120))
	case 2:
		return d.one(d.src.gates) + d.one(joints) + d.ofRule()
	}
	var b strings.Builder
	for range 1 + d.rng.IntN(30) {
		b.WriteString(d.one(bits))
	}
	return b.String()
}
