// Package engine measures the speed of scanning: processor time by kind of
// text, by the size of writes and by the number of registered secrets, and the
// time that hostile texts take.
//
// All figures of a run are of one process with one processor. Its cells are
// measured in turn, several times over; a figure is the least of them, and
// beside it stands the spread, the greatest by the least. Processor time counts
// the collection of garbage and leaves other programs out.
package engine

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
)

// whole is the size of a write that is the whole text.
const whole = 0

// engine is a scanner that is measured on texts in memory.
type engine interface {
	// name is the defence of its rows.
	name() string
	// secrets are the numbers of registered secrets that it is measured with,
	// where the run asks for these.
	secrets(asked []int) []int
	// takes reports whether it reads texts in writes of a size.
	takes(write int) bool
	// open makes it ready. The error of one that is not installed wraps
	// errUnavailable.
	open(secrets *registered) (scan, error)
}

// scan reads one text from its beginning to its end and returns the number of
// findings.
type scan func(text []byte, write int) (found int)

var errUnavailable = errors.New("not installed")

// engines are those that are measured, ours first.
func engines() []engine {
	return []engine{margay{}, leaks{}, before{}}
}

// registered are n random secrets of a seed.
type registered struct {
	n     int
	seed  uint64
	index *match.Index // nil until it is asked for, and for no secrets
	mib   float64      // memory of the index
}

var keys = secret.Keys{Fingerprint: [32]byte{7}, Pseudonym: [32]byte{8}, Seal: [32]byte{9}}

// values are the secrets. A value is valid during the call.
func (r *registered) values() iter.Seq2[int, []byte] {
	const set = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return func(yield func(int, []byte) bool) {
		rng := rand.New(rand.NewPCG(r.seed, 3))
		value := make([]byte, 40)
		for i := range r.n {
			v := value[:20+rng.IntN(21)]
			for j := range v {
				v[j] = set[rng.IntN(len(set))]
			}
			if !yield(i, v) {
				return
			}
		}
	}
}

// vaults returns the index of the secrets as configurations have it.
func (r *registered) vaults() ([]*match.Index, error) {
	if r.n == 0 {
		return nil, nil
	}
	if r.index == nil {
		before := heap()
		ix, err := match.NewIndex(&keys, func(yield func(secret.Record, error) bool) {
			for i, v := range r.values() {
				rec, _, err := match.Prepare(&keys, id(i), label(i), secret.KindSecret, secret.SourceRegistered, "bench", v, time.Unix(1, 0))
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}, time.Unix(1, 0))
		if err != nil {
			return nil, err
		}
		r.index, r.mib = ix, heap()-before
	}
	return []*match.Index{r.index}, nil
}

// heap is the memory in use, in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// expressions are the rules of the default set that have one.
func expressions() ([]*recognise.Rule, error) {
	set, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	var out []*recognise.Rule
	for _, r := range set.Rules() {
		if r.Regex != "" && r.ID != recognise.PrivateKeyID {
			out = append(out, r)
		}
	}
	return out, nil
}

// id and label are what the i-th secret is registered by.
func id(i int) string { return fmt.Sprintf("%026d", i) }

func label(i int) string { return fmt.Sprintf("SECRET_%d", i) }
