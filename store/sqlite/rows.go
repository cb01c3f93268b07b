package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/store"
)

// moment reads a time; NULL is the zero time.
type moment struct{ to *time.Time }

// Scan implements sql.Scanner.
func (m moment) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*m.to = time.Time{}
	case int64:
		*m.to = time.UnixMilli(v).UTC()
	default:
		return fmt.Errorf("a time can't be read: %w", ErrCorrupt)
	}
	return nil
}

// millis writes a time. The zero time is NULL: 0 is a time like any other, and
// must not come back as "never".
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return store.Moment(t).UnixMilli()
}

// fixed reads bytes of a known number; NULL leaves what is there.
type fixed []byte

// Scan implements sql.Scanner.
func (f fixed) Scan(v any) error {
	b, ok := v.([]byte)
	if v != nil && (!ok || len(b) != len(f)) {
		return fmt.Errorf("a hash can't be read: %w", ErrCorrupt)
	}
	copy(f, b)
	return nil
}

// decoded reads JSON; NULL leaves what is there.
type decoded struct{ to any }

// Scan implements sql.Scanner. Its error quotes nothing, as the decoder's may.
func (d decoded) Scan(v any) error {
	text, ok := v.(string)
	if v != nil && (!ok || json.Unmarshal([]byte(text), d.to) != nil) {
		return fmt.Errorf("an entry of the log can't be read: %w", ErrCorrupt)
	}
	return nil
}

// columns says where the columns of a row go.
type columns[T any] func(*T) []any

// each yields the rows of a query. An iteration holds a connection until it
// ends.
func each[T any](ctx context.Context, s *Store, into columns[T], query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		fail := func(err error) {
			if err != nil {
				yield(*new(T), s.explain(ctx, err))
			}
		}
		rows, err := s.query(ctx, query, args)
		if err != nil {
			fail(err)
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var one T
			if err := rows.Scan(into(&one)...); err != nil {
				fail(err)
				return
			}
			if !yield(one, nil) {
				return
			}
		}
		fail(rows.Err())
	}
}

func (s *Store) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if p := s.prepared[query]; p != nil {
		return p.QueryContext(ctx, args...)
	}
	return s.r.QueryContext(ctx, query, args...)
}

// list returns all rows of a query.
func list[T any](ctx context.Context, s *Store, into columns[T], query string, args ...any) ([]T, error) {
	var out []T
	for one, err := range each(ctx, s, into, query, args...) {
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// one returns the first row of a query, or missing where there is none.
func one[T any](ctx context.Context, s *Store, missing error, into columns[T], query string, args ...any) (T, error) {
	for row, err := range each(ctx, s, into, query, args...) {
		return row, err
	}
	return *new(T), missing
}

// value is the column of rows that have no other.
func value[T any](to *T) []any { return []any{to} }

// tx is a transaction. After its first error it runs nothing more, and transact
// returns that error: what uses it need not look after each statement.
type tx struct {
	*sql.Tx

	store *Store
	ctx   context.Context
	// unwatched is ctx for statements. The driver would watch ctx with a
	// goroutine for each of them; asking it before is cheaper.
	unwatched context.Context
	stmts     map[string]*sql.Stmt
	err       error
}

// transact runs f in a transaction that is durable when it returns nil. What f
// refuses is returned as it is, and nothing is changed.
func (s *Store) transact(ctx context.Context, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begun, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer func() { _ = begun.Rollback() }()
	t := &tx{Tx: begun, store: s, ctx: ctx, unwatched: context.WithoutCancel(ctx), stmts: map[string]*sql.Stmt{}}
	refused := f(t)
	switch {
	case t.err != nil:
		return s.explain(ctx, t.err)
	case refused != nil:
		return refused
	}
	return s.explain(ctx, t.Commit())
}

// statement returns a query's statement in the transaction; nil after an error.
func (t *tx) statement(query string) *sql.Stmt {
	if t.err == nil {
		t.err = t.ctx.Err()
	}
	if t.err != nil {
		return nil
	}
	stmt := t.stmts[query]
	if stmt == nil {
		if p := t.store.prepared[query]; p != nil {
			stmt = t.StmtContext(t.unwatched, p)
		} else if stmt, t.err = t.PrepareContext(t.unwatched, query); t.err != nil {
			return nil
		}
		t.stmts[query] = stmt
	}
	return stmt
}

// exec runs a statement and returns how many rows it changed, and the number
// of the last one that it inserted.
func (t *tx) exec(query string, args ...any) (changed, last int64) {
	stmt := t.statement(query)
	if stmt == nil {
		return 0, 0
	}
	res, err := stmt.ExecContext(t.unwatched, args...)
	if err == nil {
		changed, err = res.RowsAffected()
	}
	if err == nil {
		last, err = res.LastInsertId()
	}
	t.err = err
	return changed, last
}

// row reads the first row of a query, and reports whether there is one.
func (t *tx) row(into []any, query string, args ...any) bool {
	stmt := t.statement(query)
	if stmt == nil {
		return false
	}
	err := stmt.QueryRowContext(t.unwatched, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	t.err = err
	return err == nil
}

// together is how many rows one statement inserts where there are as many: most of
// what a small row costs is its statement.
const together = 16

// inserting are the statements that insert one row, and several.
type inserting struct {
	one, some string
	columns   int
}

// rowsInto inserts rows into columns of a table. Then says what follows the values.
func rowsInto(table, columns, then string) inserting {
	n := 1 + strings.Count(columns, ",")
	head := "INSERT INTO " + table + " (" + columns + ") VALUES "
	return inserting{head + marks(n) + then, head + strings.Repeat(marks(n)+",", together-1) + marks(n) + then, n}
}

// rowWriter inserts rows, several at a time.
type rowWriter struct {
	t    *tx
	q    *inserting
	args []any
	last int64
}

func (t *tx) rows(q *inserting) *rowWriter {
	return &rowWriter{t: t, q: q, args: make([]any, 0, q.columns*together)}
}

// put takes the next row.
func (w *rowWriter) put(row ...any) {
	if w.args = append(w.args, row...); len(w.args) == cap(w.args) {
		_, w.last = w.t.exec(w.q.some, w.args...)
		w.args = w.args[:0]
	}
}

// end writes the rest, and returns the number of the last row.
func (w *rowWriter) end() int64 {
	for row := range slices.Chunk(w.args, w.q.columns) {
		_, w.last = w.t.exec(w.q.one, row...)
	}
	return w.last
}

// exec runs a statement in a transaction and returns how many rows it changed.
func (s *Store) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = s.transact(ctx, func(t *tx) error {
		n, _ = t.exec(query, args...)
		return nil
	})
	return n, err
}
