// Package corpus makes the texts that the speed of scanners is measured on.
//
// Ordinary texts are varied: no sentence is repeated to fill them. Source,
// prose and some JavaScript come from the Go distribution that is installed;
// the rest is generated. Hostile texts repeat what makes a scanner work the
// most. A seed and a size give the same bytes on every machine with the same
// Go distribution. Nothing here holds a secret on purpose, but ordinary text
// has addresses, digests and identifiers as it does elsewhere.
package corpus

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// Corpus is one kind of ordinary text.
type Corpus struct {
	Name   string // as in the slices of a result
	Source string // where the text is from
	fill   func(*draw) error
}

// All returns the kinds of text in the order of reports.
func All() []Corpus {
	return []Corpus{
		{"prose", "Newton's Opticks and the documentation comments of the Go distribution", prose},
		{"go", "source of the Go distribution", source},
		{"js", "minified JavaScript, some of the Go distribution, most generated", javascript},
		{"json", "generated answers of interfaces and events", documents},
		{"base64", "generated: compressed data, noise and text in base64, in lines, data URLs and JSON", encoded},
		{"logs", "generated: nginx, syslog, logfmt and Kubernetes JSON lines", logs},
		{"cjk", "generated Chinese, Japanese and Korean sentences", cjk},
	}
}

// Text returns n bytes of the corpus.
func (c Corpus) Text(n int, seed uint64) ([]byte, error) {
	d := newDraw(c.Name, n, seed)
	for !d.full() {
		was := len(d.b)
		if err := c.fill(d); err != nil {
			return nil, fmt.Errorf("corpus %s: %w", c.Name, err)
		}
		if len(d.b) == was {
			return nil, fmt.Errorf("corpus %s: no more than %d bytes are to be had", c.Name, was)
		}
	}
	return d.b[:n:n], nil
}

// draw is a text in the making: random choices and what was written so far.
type draw struct {
	*rand.Rand
	b    []byte
	want int
	turn int // calls of fill so far, for what goes through files
	list []string
}

func newDraw(name string, n int, seed uint64) *draw {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return &draw{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), b: make([]byte, 0, n+4096), want: n}
}

func (d *draw) full() bool { return len(d.b) >= d.want }

func (d *draw) add(s string) { d.b = append(d.b, s...) }

func (d *draw) addf(format string, args ...any) { d.b = fmt.Appendf(d.b, format, args...) }

func (d *draw) one(list []string) string { return list[d.IntN(len(list))] }

// from appends n characters of a set.
func (d *draw) from(set string, n int) {
	for range n {
		d.b = append(d.b, set[d.IntN(len(set))])
	}
}

// some is a string of n characters of a set.
func (d *draw) some(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[d.IntN(len(set))]
	}
	return string(b)
}

const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
	hexits   = "0123456789abcdef"
	alphanum = upper + lower + digits
)
