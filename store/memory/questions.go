package memory

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
)

// MaxQuestions bounds the questions that are kept. The oldest go first.
const maxQuestions = 10_000

// PutQuestion implements confirm.Store.
func (s *Store) PutQuestion(ctx context.Context, r confirm.Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.questions == nil {
		s.questions = map[string]*confirm.Row{}
	}
	r.Sealed = bytes.Clone(r.Sealed)
	s.questions[r.ID] = &r
	if len(s.questions) > maxQuestions {
		oldest := r.ID
		for id := range s.questions {
			oldest = min(oldest, id)
		}
		delete(s.questions, oldest)
	}
	return nil
}

// Question implements confirm.Store.
func (s *Store) Question(ctx context.Context, id string) (confirm.Row, error) {
	if err := ctx.Err(); err != nil {
		return confirm.Row{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.questions[id]
	if !ok {
		return confirm.Row{}, confirm.ErrNotFound
	}
	return row(r), nil
}

func row(r *confirm.Row) confirm.Row {
	out := *r
	out.Sealed = bytes.Clone(r.Sealed)
	return out
}

// Questions implements confirm.Store.
func (s *Store) Questions(ctx context.Context, now time.Time, all bool, limit int) ([]confirm.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []confirm.Row
	for _, r := range s.questions {
		if all || r.Answer == "" && now.Before(r.Expires) {
			out = append(out, row(r))
		}
	}
	slices.SortFunc(out, func(a, b confirm.Row) int { return strings.Compare(a.ID, b.ID) })
	if len(out) > limit {
		if all {
			return out[len(out)-limit:], nil
		}
		out = out[:limit]
	}
	return out, nil
}

// AnswerQuestion implements confirm.Store.
func (s *Store) AnswerQuestion(ctx context.Context, id string, a confirm.Answer, by string, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.questions[id]
	switch {
	case !ok:
		return confirm.ErrNotFound
	case r.Answer != "":
		return confirm.ErrAnswered
	case !now.Before(r.Expires):
		return confirm.ErrExpired
	}
	r.Answer, r.By, r.Answered = a, by, now.UTC().Truncate(time.Millisecond)
	return nil
}

// UseAnswer implements confirm.Store.
func (s *Store) UseAnswer(ctx context.Context, id string, digest [32]byte, now time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.questions[id]
	if !ok || r.Used || r.Digest != digest || r.Answer != confirm.Once && r.Answer != confirm.Trajectory || !now.Before(r.Expires) {
		return false, nil
	}
	r.Used = true
	return true, nil
}

// Grants implements confirm.Store.
func (s *Store) Grants(ctx context.Context, t flow.TrajectoryID, limit int) ([]confirm.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []confirm.Row
	for _, r := range s.questions {
		if r.Trajectory == t && r.Answer == confirm.Trajectory {
			out = append(out, row(r))
		}
	}
	slices.SortFunc(out, func(a, b confirm.Row) int { return strings.Compare(b.ID, a.ID) })
	return out[:min(limit, len(out))], nil
}
