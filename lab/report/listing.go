package report

import (
	"slices"

	"github.com/margaydev/margay/lab/results"
)

// Listing shows rows of a result as a table: these metrics of them, in this order,
// those that no row has left out; all, by name, where Metrics is empty. Slices are
// shown without Prefix.
type Listing struct {
	Rows    []*results.Row
	Prefix  string
	Metrics []string
}

func (l Listing) empty() bool  { return len(l.Rows) == 0 }
func (l Listing) check() error { return nil }

func (l Listing) table() table {
	has := func(name string) bool {
		return slices.ContainsFunc(l.Rows, func(r *results.Row) bool { _, ok := r.Metrics[name]; return ok })
	}
	metrics := slices.DeleteFunc(slices.Clone(l.Metrics), func(name string) bool { return !has(name) })
	if len(l.Metrics) == 0 {
		all := map[string]float64{}
		for _, r := range l.Rows {
			for name := range r.Metrics {
				all[name] = 0
			}
		}
		metrics = sortedKeys(all)
	}
	return listed(l.Rows, l.Prefix, metrics)
}

func (l Listing) scale(*canvas) {}
func (l Listing) draw(*canvas)  {}
