package leakage

import (
	"context"
	"encoding/json"

	"github.com/margaydev/margay/screen"
)

// memo asks an adviser once about each question: tasks are played twice. It is
// not safe for concurrent use.
type memo struct {
	screen.Adviser
	known  map[string]answer
	failed int // questions that had no answer
}

type answer struct {
	relevant []bool
	err      error
}

// Relevant implements screen.Adviser.
func (m *memo) Relevant(ctx context.Context, q *screen.Question) ([]bool, error) {
	key, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	a, ok := m.known[string(key)]
	if !ok {
		a.relevant, a.err = m.Adviser.Relevant(ctx, q)
		if a.err != nil {
			m.failed++
		}
		m.known[string(key)] = a
	}
	return a.relevant, a.err
}
