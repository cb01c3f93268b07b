package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
)

// applicationID marks our files in their header: "Marg".
const applicationID = 0x4d617267

// migrations bring a database from each version to the next: that at i makes
// version i+1. All that are missing run in one transaction. A published one is
// never changed.
var migrations = []string{`
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('format', 0), ('epoch', 1), ('decisions', 0);
CREATE TABLE secrets (
  id TEXT PRIMARY KEY CHECK (id <> ''),
  name TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, origin TEXT NOT NULL,
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 16),
  print BLOB NOT NULL, length INTEGER NOT NULL, sealed BLOB,
  created INTEGER, expires INTEGER,
  UNIQUE (fingerprint, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE allows (
  id TEXT PRIMARY KEY CHECK (id <> ''),
  fingerprint BLOB CHECK (length(fingerprint) = 16),
  rule TEXT NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL, finding TEXT NOT NULL,
  created INTEGER, expires INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE decisions (id TEXT NOT NULL UNIQUE CHECK (id <> ''), entry TEXT NOT NULL) STRICT;
CREATE TABLE findings (
  id TEXT NOT NULL, decision TEXT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
  PRIMARY KEY (decision, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX findings_id ON findings (id, decision);
`, `
CREATE TABLE pseudonyms (
  owner BLOB NOT NULL CHECK (length(owner) = 32), name TEXT NOT NULL CHECK (name <> ''),
  sealed BLOB NOT NULL CHECK (length(sealed) > 0), used INTEGER NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX pseudonyms_used ON pseudonyms (used);
`, `
CREATE TABLE pins (
  server BLOB NOT NULL CHECK (length(server) = 32), tool BLOB NOT NULL CHECK (length(tool) = 32),
  looks BLOB NOT NULL CHECK (length(looks) = 32),
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE questions (
  id TEXT PRIMARY KEY CHECK (id <> ''), trajectory TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32), granted BLOB NOT NULL CHECK (length(granted) = 32),
  sealed BLOB NOT NULL CHECK (length(sealed) > 0), asked INTEGER NOT NULL, expires INTEGER NOT NULL,
  answer TEXT NOT NULL CHECK (answer IN ('', 'once', 'trajectory', 'deny')), answered_by TEXT NOT NULL, answered INTEGER,
  used INTEGER NOT NULL CHECK (used IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_granted ON questions (trajectory, id) WHERE answer = 'trajectory';
`, `
INSERT INTO meta VALUES ('events', 0), ('event_bytes', 0);
CREATE TABLE events (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL, trajectory TEXT NOT NULL, at INTEGER NOT NULL,
  kind TEXT NOT NULL, verb TEXT NOT NULL, sink TEXT NOT NULL, outcome TEXT NOT NULL,
  size INTEGER NOT NULL, payload TEXT NOT NULL, detail TEXT
) STRICT;
CREATE INDEX events_trajectory ON events (trajectory, seq);
CREATE INDEX events_at ON events (at);
CREATE TABLE trajectories (
  id TEXT PRIMARY KEY CHECK (id <> ''), first INTEGER NOT NULL, last INTEGER NOT NULL, last_seq INTEGER NOT NULL,
  events INTEGER NOT NULL, answers INTEGER NOT NULL, findings INTEGER NOT NULL, denied INTEGER NOT NULL, asked INTEGER NOT NULL,
  edited INTEGER NOT NULL, sink TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX trajectories_last ON trajectories (last_seq);
CREATE TABLE tallies (
  minute INTEGER NOT NULL, verb TEXT NOT NULL, outcome TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (minute, verb, outcome)
) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE ledger (
  arrival INTEGER PRIMARY KEY, family TEXT NOT NULL CHECK (family <> ''), seq INTEGER NOT NULL CHECK (seq > 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32), entry BLOB NOT NULL,
  UNIQUE (family, seq)
) STRICT;
CREATE TABLE rubrics (hash BLOB PRIMARY KEY CHECK (length(hash) = 32), canonical BLOB NOT NULL) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE hits (
  fingerprint BLOB PRIMARY KEY CHECK (length(fingerprint) = 16), n INTEGER NOT NULL, last INTEGER NOT NULL, seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hits_seq ON hits (seq);
`}

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
		// Who made the file was killed before it was made. Reading takes back
		// what is half written, whoever's it is, and needs to write for that.
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
	// Most often there is nothing to do, and then no lock is taken.
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
