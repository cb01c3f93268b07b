package vectors

import "strings"

// Encoding is one way to disguise a value.
type Encoding struct {
	Name   string
	Encode func(string) string
}

// Encodings returns the closed list that the suite reports on, and the disguises that
// only registered values are looked for in.
func Encodings() []Encoding {
	var out []Encoding
	had := map[string]bool{}
	for _, e := range append(encodings[:len(encodings):len(encodings)], disguises()...) {
		if !had[e.name] {
			out = append(out, Encoding{e.name, e.f})
		}
		had[e.name] = true
	}
	return out
}

// Disguised is a vector in prose, its secret in one encoding.
type Disguised struct {
	Rule, Path, Encoding string
	Secret               string // in plain
	Text                 string
}

// Positives are the vectors that hold a secret.
type Positives []vector

// LoadPositives reads the vectors from the folder with outside data.
func LoadPositives(data string) (Positives, error) {
	pos, _, err := load(data)
	return pos, err
}

// Len returns the number of vectors times encodings.
func (p Positives) Len() int { return len(p) * len(encodings) }

// At returns the i-th of all vectors in all encodings.
func (p Positives) At(i int) Disguised {
	v, e := &p[i/len(encodings)], encodings[i%len(encodings)]
	text := before + strings.Replace(v.V, v.secret, e.f(v.secret), 1) + after
	return Disguised{Rule: v.Rule, Path: v.Path, Encoding: e.name, Secret: v.secret, Text: text}
}
