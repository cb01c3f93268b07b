// Package sqlite is the embedded store: one file, no server, no cgo. Its
// schema is described in docs/format/store.md.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/margaydev/margay/mediator"
)

// Errors that say what the caller must do.
var (
	// ErrCorrupt says that the file is no sound database. It was not changed.
	ErrCorrupt = errors.New("the database is corrupt: move it away, and a new one is made")
	// ErrLocked says that another process kept the database locked.
	ErrLocked = errors.New("the database is locked by another process: try again, or stop that process")
	// ErrFull says that the disk, or the limit on the file, is full.
	ErrFull = errors.New("no room to write the database: free some disk space")
	// ErrNewer says that a newer version of Margay made the file.
	ErrNewer = errors.New("the database was made by a newer version of margay: upgrade margay")
	// ErrOpen says that others may read the file.
	ErrOpen = errors.New("the database may be read by other users")
)

// formatVersion is that of docs/format/store.md.
const formatVersion = 1

const schema = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO meta VALUES ('format', 1), ('epoch', 1);
CREATE TABLE secrets (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, origin TEXT NOT NULL,
  fingerprint BLOB NOT NULL, print BLOB NOT NULL, length INTEGER NOT NULL, sealed BLOB,
  created INTEGER NOT NULL, expires INTEGER NOT NULL,
  UNIQUE (fingerprint, name)
) STRICT;
CREATE TABLE allows (
  id TEXT PRIMARY KEY, fingerprint BLOB, rule TEXT NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL,
  finding TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL
) STRICT;
CREATE TABLE decisions (id TEXT PRIMARY KEY, entry TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE findings (id TEXT PRIMARY KEY, decision TEXT NOT NULL) STRICT, WITHOUT ROWID;
`

// Options tune a store. The zero value has the defaults.
type Options struct {
	// Busy is how long a locked database is waited for; 2 s by default.
	Busy time.Duration
	// MaxDecisions bounds the log; 1,000,000 by default. The oldest go.
	MaxDecisions int
}

// Store implements mediator.Store. It is safe for concurrent use, by several
// processes too. Changes are durable when a method returns.
type Store struct {
	path string
	opt  Options
	w    *sql.DB // one connection: writes are serialised here, not by retries
	r    *sql.DB
	log  chan appendRequest
	done chan struct{}
	quit chan struct{}
}

var _ mediator.Store = (*Store)(nil)

// Open opens or makes the database at path. The folder is made with mode 0700
// and the file with 0600; a file that others may read is refused.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	if opt.Busy <= 0 {
		opt.Busy = 2 * time.Second
	}
	if opt.MaxDecisions <= 0 {
		opt.MaxDecisions = 1000000
	}
	if err := prepare(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, opt: opt, log: make(chan appendRequest), done: make(chan struct{}), quit: make(chan struct{})}
	var err error
	if s.w, err = s.connect(1, "_txlock=immediate"); err != nil {
		return nil, err
	}
	if s.r, err = s.connect(4, ""); err != nil {
		_ = s.w.Close()
		return nil, err
	}
	if err := s.setUp(ctx); err != nil {
		_ = s.w.Close()
		_ = s.r.Close()
		return nil, explain(path, err)
	}
	go s.commit()
	return s, nil
}

func prepare(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: chmod 600 %s", ErrOpen, path)
	}
	return nil
}

func (s *Store) connect(conns int, extra string) (*sql.DB, error) {
	q := url.Values{}
	for _, p := range []string{
		"busy_timeout(" + strconv.FormatInt(s.opt.Busy.Milliseconds(), 10) + ")",
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)", "trusted_schema(0)",
	} {
		q.Add("_pragma", p)
	}
	dsn := "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?" + q.Encode()
	if extra != "" {
		dsn += "&" + extra
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	db.SetMaxOpenConns(conns)
	return db, nil
}

// setUp checks the file and makes the schema in an empty one.
func (s *Store) setUp(ctx context.Context) error {
	var check string
	if err := s.w.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&check); err != nil {
		return err
	}
	if check != "ok" {
		return ErrCorrupt
	}
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var tables, version int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'").Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		return tx.Commit()
	}
	if err := tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'format'").Scan(&version); err != nil {
		return fmt.Errorf("%w (it has no format version: %w)", ErrCorrupt, err)
	}
	if version > formatVersion {
		return fmt.Errorf("%w (format %d; this version knows %d)", ErrNewer, version, formatVersion)
	}
	return tx.Commit()
}

// Close ends the store. Appends under way are finished.
func (s *Store) Close() error {
	select {
	case <-s.quit:
		return nil
	default:
	}
	close(s.quit)
	<-s.done
	return errors.Join(s.r.Close(), s.w.Close())
}

// explain maps the engine's errors to ours, with the file's path.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%s: %w", path, ErrCorrupt)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fmt.Errorf("%s: %w", path, ErrLocked)
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
			return fmt.Errorf("%s: %w (%w)", path, ErrFull, err)
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}
