// Package world is the simulated world of the benchmarks traj and robust:
// people drawn from correlated populations, the tasks that an agent does for
// them, and every text that the agent would send on the way.
//
// The people are here (Population), and so are the ways to write their fields
// (Forms). What the agent does and says is data: a Setting is read from the
// files of a folder, in the format of docs/format/world.md. Dev is the one that
// is built in, lab/worlds/dev; Lint says what is wrong with others.
//
// What it guarantees:
//
//   - The same seed and files give the same bytes on every machine.
//   - It knows no rubric. What a task needs, at which sink and how fine, and
//     when it has succeeded, is in the files. No rubric, cost or operator is
//     read.
//   - The truth is what the generator wrote: a Mention says which bytes of a
//     text disclose what about the person (its Facts), also if no pattern
//     would find it: an initial, a date in words, an illness shown by its
//     medicine. It comes from the Form, and no text is searched for it.
//   - People are drawn from one joint distribution (Population): home and
//     area code, decade and given name, age and illness, illness and medicine,
//     name and address of mail, region and surname, region and bank, occupation
//     and salary. An adversary may know it; rubrics need not declare it.
//   - Agents share too much: the candidate has the full value where the
//     service needs a coarse one, and values that nobody asked for.
//
// A task needs at most one coarse field at curious sinks, at a level that the
// design's own hierarchies name (decade, chapter, band, brand, country): that
// fits its default budget of four bits for such sinks. Besides it needs words of
// the task at many of them (Keep): a defence that withholds free text fails it.
//
// What a text tells after a defence has worked on it is read back by Read,
// the one reader of both the services, whose tasks succeed if they can read
// what they need, and the adversaries. A value that is replaced by a marker
// or an opaque token discloses nothing.
//
// People, addresses and numbers are made up; names of cities, states, area
// codes, illnesses and medicines are common knowledge.
package world

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// draw is a stream of random choices.
type draw struct{ *rand.Rand }

// stream is the stream of a seed and of what it is for.
func stream(seed uint64, labels ...any) draw {
	h := sha256.New()
	fmt.Fprint(h, "traj", seed)
	for _, l := range labels {
		fmt.Fprintf(h, "\x00%v", l)
	}
	sum := h.Sum(nil)
	return draw{rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])))}
}

func (d draw) chance(p float64) bool { return d.Float64() < p }

func (d draw) between(low, high int) int { return low + d.IntN(high-low+1) }

// weighted returns an index with the probability of its weight. Weights sum
// to 1.
func (d draw) weighted(weights []float64) int {
	at := d.Float64()
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func (d draw) digits(n int) string { return d.chars(n, "0123456789") }

func (d draw) chars(n int, set string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[d.IntN(len(set))]
	}
	return string(b)
}

func pick[T any](d draw, of []T) T { return of[d.IntN(len(of))] }
