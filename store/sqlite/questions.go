package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
)

// maxQuestions bounds the questions that are kept. The oldest go first.
const maxQuestions = 10_000

const questionColumns = "id, trajectory, digest, granted, sealed, asked, expires, answer, answered_by, answered, used"

// PutQuestion implements confirm.Store.
func (s *Store) PutQuestion(ctx context.Context, r confirm.Row) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO questions ("+questionColumns+") VALUES (?,?,?,?,?,?,?,'','',NULL,0)",
			r.ID, string(r.Trajectory), r.Digest[:], r.Grant[:], r.Sealed, r.Asked.UnixMilli(), r.Expires.UnixMilli()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE id IN (SELECT id FROM questions ORDER BY id DESC LIMIT -1 OFFSET ?)", maxQuestions)
		return err
	})
}

// scanner is a *sql.Row or a *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

func questionOf(from scanner) (r confirm.Row, err error) {
	var trajectory, answer string
	var digest, grant []byte
	var asked, expires int64
	var answered sql.NullInt64
	if err := from.Scan(&r.ID, &trajectory, &digest, &grant, &r.Sealed, &asked, &expires, &answer, &r.By, &answered, &r.Used); err != nil {
		return r, err
	}
	r.Trajectory, r.Answer = flow.TrajectoryID(trajectory), confirm.Answer(answer)
	r.Digest, r.Grant = [32]byte(digest), [32]byte(grant) // the table checks their lengths
	r.Asked, r.Expires = time.UnixMilli(asked).UTC(), time.UnixMilli(expires).UTC()
	if answered.Valid {
		r.Answered = time.UnixMilli(answered.Int64).UTC()
	}
	return r, nil
}

// Question implements confirm.Store.
func (s *Store) Question(ctx context.Context, id string) (confirm.Row, error) {
	r, err := questionOf(s.r.QueryRowContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return r, confirm.ErrNotFound
	}
	return r, s.explain(ctx, err)
}

// Questions implements confirm.Store.
func (s *Store) Questions(ctx context.Context, now time.Time, all bool, limit int) ([]confirm.Row, error) {
	query, args := "SELECT "+questionColumns+" FROM questions WHERE answer = '' AND expires > ? ORDER BY id LIMIT ?", []any{now.UnixMilli(), limit}
	if all {
		query, args = "SELECT * FROM (SELECT "+questionColumns+" FROM questions ORDER BY id DESC LIMIT ?) ORDER BY id", []any{limit}
	}
	return s.questions(ctx, query, args...)
}

func (s *Store) questions(ctx context.Context, query string, args ...any) ([]confirm.Row, error) {
	rows, err := s.r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer rows.Close()
	var out []confirm.Row
	for rows.Next() {
		r, err := questionOf(rows)
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		out = append(out, r)
	}
	return out, s.explain(ctx, rows.Err())
}

// AnswerQuestion implements confirm.Store.
func (s *Store) AnswerQuestion(ctx context.Context, id string, a confirm.Answer, by string, now time.Time) error {
	var refused error
	err := s.transact(ctx, func(tx *sql.Tx) error {
		r, err := questionOf(tx.QueryRowContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE id = ?", id))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			refused = confirm.ErrNotFound
		case err != nil:
			return err
		case r.Answer != "":
			refused = confirm.ErrAnswered
		case now.UnixMilli() >= r.Expires.UnixMilli():
			refused = confirm.ErrExpired
		default:
			_, err = tx.ExecContext(ctx, "UPDATE questions SET answer = ?, answered_by = ?, answered = ? WHERE id = ?", string(a), by, now.UnixMilli(), id)
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return refused
}

// UseAnswer implements confirm.Store.
func (s *Store) UseAnswer(ctx context.Context, id string, digest [32]byte, now time.Time) (bool, error) {
	var n int64
	err := s.transact(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE questions SET used = 1
			WHERE id = ? AND digest = ? AND used = 0 AND answer IN ('once', 'trajectory') AND expires > ?`, id, digest[:], now.UnixMilli())
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n == 1, err
}

// Grants implements confirm.Store.
func (s *Store) Grants(ctx context.Context, t flow.TrajectoryID, limit int) ([]confirm.Row, error) {
	return s.questions(ctx, "SELECT "+questionColumns+" FROM questions WHERE trajectory = ? AND answer = 'trajectory' ORDER BY id DESC LIMIT ?", string(t), limit)
}
