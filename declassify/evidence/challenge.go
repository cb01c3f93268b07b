package evidence

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"unicode"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/rubric"
)

// Challenge asks whether a stretch of text touches a field, whether it touches
// none, or whether what it discloses has a necessity. The verifier draws
// challenges after it has the evidence, so that a defender can't prepare for them.
type Challenge struct {
	Atom      int    `json:"atom"` // of the evidence; -1: a stretch without a label
	Part      int    `json:"part"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Field     string `json:"field,omitempty"` // or none
	Necessity string `json:"necessity,omitempty"`
}

// Place is a place in a text, in bytes.
type Place struct{ Start, End int }

// Text is what the verifier knows of a part without the evidence.
type Text struct {
	Text string
	// Found are places that touch a field by something else than the evidence: the
	// tool's schema, clauses, values that were seen. In any order.
	Found []Place
	// Held are places that nothing is asked about: pseudonyms. In any order.
	Held []Place
	// Free: text without a label may pass, so stretches of it are asked about.
	Free bool
}

// Pool is what may be asked under the rubrics of a release: whether a stretch
// touches each of their fields or none, and whether a label has each necessity. It
// follows from the rubrics alone, which their signatures seal, and the draw from a
// key that no defender has.
type Pool struct {
	Fields []string // of the rubrics
	// Key and Bind, which names the release, are what draws depend on besides what
	// is drawn from.
	Key  []byte
	Bind string
}

// Bounds of what is asked about.
const (
	maxWords   = 12 // of a stretch
	maxOmitted = 1 << 14
)

// Draw draws challenges: half of them about labels, those of none too, and half
// about what has no label, as long as there is both. Half of those about labels of
// fields name what was claimed, so that the question does not give the answer away.
func (p *Pool) Draw(n int, labels []Label, texts []Text) []Challenge {
	r := p.random(labels, texts)
	omitted := omissions(r, labels, texts)
	if n <= 0 || len(p.Fields) == 0 || len(labels)+len(omitted) == 0 {
		return nil
	}
	out := make([]Challenge, 0, n)
	for range n {
		if about := len(labels); about == 0 || len(omitted) > 0 && r.IntN(2) == 0 {
			c := omitted[r.IntN(len(omitted))]
			c.Field = None
			if r.IntN(2) == 0 {
				c.Field = p.Fields[r.IntN(len(p.Fields))]
			}
			out = append(out, c)
			continue
		}
		i := r.IntN(len(labels))
		l := &labels[i]
		c := Challenge{Atom: i, Part: l.Part, Start: l.Start, End: l.End}
		claim, any := r.IntN(2) == 0, r.IntN(len(p.Fields)+1)
		switch {
		case l.Field != None && r.IntN(4) == 0:
			c.Necessity = l.Necessity
			if !claim {
				c.Necessity = rubric.Necessity(r.IntN(3)).String() //nolint:gosec // below 3
			}
		case claim:
			c.Field = l.Field
		case any < len(p.Fields):
			c.Field = p.Fields[any]
		default:
			c.Field = None
		}
		out = append(out, c)
	}
	return out
}

// random is the stream of draws for what is drawn from.
func (p *Pool) random(labels []Label, texts []Text) *rand.Rand {
	h := hmac.New(sha256.New, p.Key)
	write := func(s string) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	write("margay challenges v1")
	write(p.Bind)
	for i := range texts {
		write(texts[i].Text)
	}
	raw, _ := json.Marshal(labels) // numbers and strings: it can't fail
	write(string(raw))
	return rand.New(rand.NewChaCha8([32]byte(h.Sum(nil)))) //nolint:gosec // seeded by a keyed hash
}

// omissions are the stretches without a label that may be asked about: what was
// found, and the words of free text between labels, maxWords at a time from a word
// on that is drawn.
func omissions(r *rand.Rand, labels []Label, texts []Text) []Challenge {
	var out []Challenge
	add := func(part int, p Place) {
		if len(out) < maxOmitted {
			out = append(out, Challenge{Atom: -1, Part: part, Start: p.Start, End: p.End})
		}
	}
	at := 0
	for part := range texts {
		t := &texts[part]
		held := slices.Clone(t.Held)
		for at < len(labels) && labels[at].Part < part {
			at++
		}
		for ; at < len(labels) && labels[at].Part == part; at++ {
			held = append(held, Place{labels[at].Start, labels[at].End})
		}
		found := slices.DeleteFunc(slices.Clone(t.Found), func(p Place) bool {
			return p.Start < 0 || p.Start >= p.End || p.End > len(t.Text) || !boundary(t.Text, p.Start) || !boundary(t.Text, p.End) ||
				slices.ContainsFunc(held, func(h Place) bool { return h.Start < p.End && p.Start < h.End })
		})
		for _, p := range found {
			add(part, p)
		}
		if !t.Free {
			continue
		}
		held = append(held, found...)
		slices.SortFunc(held, func(a, b Place) int { return a.Start - b.Start })
		from := 0
		for _, h := range append(held, Place{len(t.Text), len(t.Text)}) {
			all := words(t.Text, min(from, h.Start), h.Start)
			for k, end := 0, 1+r.IntN(maxWords); k < len(all); k, end = end, end+maxWords {
				add(part, Place{all[k].Start, all[min(end, len(all))-1].End})
			}
			from = max(from, h.End)
		}
	}
	return out
}

// words are the words of a text between two offsets.
func words(text string, from, to int) []Place {
	var out []Place
	start := -1
	for i, r := range text[from:to] {
		switch space := unicode.IsSpace(r); {
		case space && start >= 0:
			out, start = append(out, Place{start, from + i}), -1
		case !space && start < 0:
			start = from + i
		}
	}
	if start >= 0 {
		out = append(out, Place{start, to})
	}
	return out
}

// Disputed reports whether the second pass says that a stretch touches a field
// which the first gave no label, or the label none.
func (c *Challenge) Disputed(labels []Label, yes bool) bool {
	return (c.Atom < 0 || labels[c.Atom].Field == None) && c.Field != "" && yes != (c.Field == None)
}

// answers are those to challenges, as the verifier reads them.
type answers struct {
	Version int    `json:"version"` // 1
	Answers []bool `json:"answers"`
}

// ParseAnswers reads the answers to n challenges: {"version": 1, "answers": [true, …]}.
func ParseAnswers(raw []byte, n int) ([]bool, error) {
	var a answers
	if err := read(raw, strictjson.Limits{MaxBytes: 1 << 16, MaxDepth: 4, MaxNodes: 1 << 12}, &a); err != nil {
		return nil, Unanswered.Errorf("%w", err)
	}
	if a.Version != 1 || len(a.Answers) != n {
		return nil, Unanswered.Errorf("expected %d answers of version 1", n)
	}
	return a.Answers, nil
}

// MarshalAnswers writes answers as ParseAnswers reads them.
func MarshalAnswers(yes []bool) ([]byte, error) { return json.Marshal(answers{1, yes}) }
