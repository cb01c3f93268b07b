package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"os"
)

// applicationID marks our files in their header: "Marg".
const applicationID = 0x4d617267

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations bring a database from each version to the next: the one at i makes
// version i+1. All missing ones run in one transaction. A published one never
// changes.
var migrations = func() (out []string) {
	names, _ := fs.Glob(migrationFiles, "migrations/*.sql") // sorted; the pattern is sound
	for _, name := range names {
		b, err := migrationFiles.ReadFile(name)
		if err != nil { // embedded files can be read
			panic(err)
		}
		out = append(out, string(b))
	}
	return out
}()

// cheapCheck is the size in bytes up to which a file is always checked when
// it is opened; a larger one is checked if it was not closed in order.
const cheapCheck = 16 << 20

// inspect looks at a file that is there without changing it.
func (s *Store) inspect(ctx context.Context) error {
	file, err := os.Stat(s.path)
	if err != nil || file.Size() == 0 {
		return err
	}
	if file.Size() < 512 { // the engine would take it for empty, and write over it
		return ErrCorrupt
	}
	// The last to close a database removes the log of writes. One that is
	// left means a crash, or that another process has the database open.
	left := false
	if wal, err := os.Stat(s.path + "-wal"); err == nil && wal.Size() > 0 {
		left = true
	}
	db, err := s.connect(1, "mode=ro", "query_only(1)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = formatOf(ctx, db, len(migrations))
	if unfinished(err) {
		// The process that made the file was killed before it was done. Reading
		// undoes what is half written, and has to write for that.
		_ = db.Close()
		if db, err = s.connect(1, "mode=rw", "query_only(1)"); err != nil {
			return err
		}
		_, err = formatOf(ctx, db, len(migrations))
	}
	if err != nil {
		return err
	}
	if file.Size() > cheapCheck && !left {
		return nil
	}
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return ErrCorrupt // what was found may quote a row
	}
	return nil
}

// querier is a *sql.DB or a *sql.Tx.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// formatOf returns the version of a database, 0 for an empty one.
func formatOf(ctx context.Context, q querier, known int) (version int, err error) {
	var app, tables int
	// In this order: another process may be making the tables and the id.
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	if err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, err
	}
	switch {
	case app == 0 && tables == 0:
		return 0, nil
	case app != applicationID:
		return 0, fmt.Errorf("%w: name another path, or move it away", ErrForeign)
	}
	if err := q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'format'").Scan(&version); err != nil {
		return 0, fmt.Errorf("%w: it has no format version: %w", ErrCorrupt, err)
	}
	if version > known {
		return 0, fmt.Errorf("%w: it has format %d, and this version knows %d; upgrade margay", ErrNewer, version, known)
	}
	return version, nil
}

// upgrade brings the database to the version that the last step makes.
func (s *Store) upgrade(ctx context.Context, steps []string) error {
	// Usually there is nothing to do, and no lock is needed.
	if v, err := formatOf(ctx, s.w, len(steps)); err != nil || v == len(steps) {
		return err
	}
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	v, err := formatOf(ctx, tx, len(steps)) // another process may have been faster
	if err != nil {
		return err
	}
	for ; v < len(steps); v++ {
		if _, err := tx.ExecContext(ctx, steps[v]); err != nil {
			return fmt.Errorf("bringing the database from format %d to %d: %w", v, v+1, err)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE meta SET value = ? WHERE key = 'format'", v+1); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	return tx.Commit()
}
