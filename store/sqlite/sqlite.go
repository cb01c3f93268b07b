// Package sqlite is the embedded store: one file, no server, no cgo. Its
// format is specified in docs/format/store.md.
//
// A change is durable when the method that made it returns. Several processes
// may use one file at the same time; writes are serialised by SQLite's lock,
// for which a method waits as long as Options.Busy.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/margaydev/margay/mediator"
)

// Defaults of Options.
const (
	DefaultBusy         = 2 * time.Second
	DefaultMaxDecisions = 1_000_000
	DefaultMaxEvents    = 1_000_000
	// DefaultMaxEventBytes are bytes of payloads and details.
	DefaultMaxEventBytes = 1 << 30
)

// readers is the size of the pool for reads. An iteration over Secrets holds
// one of them until it ends.
const readers = 8

// Options tune a store. The zero value has the defaults.
type Options struct {
	// Busy is how long a locked database is waited for; DefaultBusy if it is
	// not positive. The engine counts in milliseconds.
	Busy time.Duration
	// MaxDecisions bounds the log; DefaultMaxDecisions if it is not positive.
	// Once there are more, those with the lowest ids go, in batches: up to an
	// eighth of MaxDecisions, at most 1,024, below the bound.
	MaxDecisions int
	// MaxEvents and MaxEventBytes bound what is kept for those who look on;
	// DefaultMaxEvents and DefaultMaxEventBytes if they are not positive. The
	// oldest go first, in batches.
	MaxEvents     int
	MaxEventBytes int64
}

// Store implements mediator.Store. It is safe for concurrent use, by several
// processes too. Two goroutines of its own write the log and the ledger; Close
// ends them.
type Store struct {
	path string
	opt  Options
	w    *sql.DB // one connection: writes are serialised here, not by retries
	r    *sql.DB
	e    *sql.DB // one connection for Epoch, so that it never waits for an iteration

	epoch                                       *sql.Stmt // on e
	decision, finding, page, arrived, last      *sql.Stmt // on r
	putSecret, bump                             *sql.Stmt // on w, as the following
	newEntry, setEntry, unlink, link, n, oldest *sql.Stmt
	newEvent, sumEvent, tally, hit              *sql.Stmt
	book                                        book

	log    *batches[*decided]
	quit   chan struct{} // closed by Close
	closed sync.Once
	end    error
}

var _ mediator.Store = (*Store)(nil)

// Open opens or makes the database at path. The folder is made with mode 0700
// and the file with 0600. A file that is not a sound database of a known
// version is refused and left as it is; so is one that others may read or
// that a link shows in another user's hands. Errors wrap those of this package
// where they fit, and say what to do.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	if opt.Busy <= 0 {
		opt.Busy = DefaultBusy
	}
	if opt.MaxDecisions <= 0 {
		opt.MaxDecisions = DefaultMaxDecisions
	}
	if opt.MaxEvents <= 0 {
		opt.MaxEvents = DefaultMaxEvents
	}
	if opt.MaxEventBytes <= 0 {
		opt.MaxEventBytes = DefaultMaxEventBytes
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target, err := prepare(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: target, opt: opt, quit: make(chan struct{})}
	s.log, s.book.log = newBatches(s.quit, s.writeDecisions), newBatches(s.quit, s.writeEntries)
	if err := s.patiently(ctx, s.open); err != nil {
		return nil, errors.Join(s.explain(ctx, err), s.closeAll())
	}
	go s.log.run()
	go s.book.log.run()
	return s, nil
}

// patiently opens again as long as Options.Busy where another process locks the
// file: the engine does not wait where it changes the journal's mode, restores
// a log, or removes one.
func (s *Store) patiently(ctx context.Context, open func(context.Context) error) error {
	until := time.Now().Add(s.opt.Busy)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := open(ctx)
		if err == nil || !locked(err) || time.Now().After(until) {
			return err
		}
		if err := s.closeAll(); err != nil {
			return err
		}
		s.r, s.e, s.w = nil, nil, nil
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) open(ctx context.Context) (err error) {
	if err := s.inspect(ctx); err != nil {
		return err
	}
	if s.w, err = s.connect(1, "_txlock=immediate", "journal_mode(WAL)", "journal_size_limit(67108864)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)"); err != nil {
		return err
	}
	if err := s.upgrade(ctx, migrations); err != nil {
		return err
	}
	if s.r, err = s.connect(readers, "", "query_only(1)"); err != nil {
		return err
	}
	if s.e, err = s.connect(1, "", "query_only(1)"); err != nil {
		return err
	}
	for _, p := range []struct {
		stmt  **sql.Stmt
		db    *sql.DB
		query string
	}{
		{&s.epoch, s.e, "SELECT value FROM meta WHERE key = 'epoch'"},
		{&s.decision, s.r, "SELECT entry FROM decisions WHERE id = ?"},
		{&s.finding, s.r, "SELECT decision FROM findings WHERE id = ? ORDER BY decision DESC LIMIT 1"},
		{&s.page, s.r, "SELECT entry FROM decisions WHERE id > ? ORDER BY id LIMIT ?"},
		{&s.arrived, s.r, "SELECT rowid, entry FROM decisions WHERE rowid > ? ORDER BY rowid LIMIT ?"},
		{&s.last, s.r, "SELECT coalesce(max(rowid), 0) FROM decisions"},
		{&s.putSecret, s.w, `INSERT OR REPLACE INTO secrets
			(id, name, kind, source, origin, fingerprint, print, length, sealed, created, expires) VALUES (?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.bump, s.w, "UPDATE meta SET value = value + 1 WHERE key = 'epoch'"},
		{&s.newEntry, s.w, "INSERT INTO decisions (id, entry) VALUES (?,?) ON CONFLICT (id) DO NOTHING"},
		{&s.setEntry, s.w, "UPDATE decisions SET entry = ? WHERE id = ?"},
		{&s.unlink, s.w, "DELETE FROM findings WHERE decision = ?"},
		{&s.link, s.w, "INSERT INTO findings (id, decision) VALUES (?,?) ON CONFLICT DO NOTHING"},
		{&s.n, s.w, "UPDATE meta SET value = value + ? WHERE key = 'decisions' RETURNING value"},
		{&s.newEvent, s.w, "INSERT INTO events (id, trajectory, at, kind, verb, sink, outcome, size, payload, detail) VALUES (?,?,?,?,?,?,?,?,?,?)"},
		{&s.sumEvent, s.w, sumEvent},
		{&s.tally, s.w, "INSERT INTO tallies (minute, verb, outcome, n) VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"},
		{&s.book.append, s.w, appendEntry},
		{&s.book.page, s.r, "SELECT arrival, entry FROM ledger WHERE family = ? AND seq > ? ORDER BY seq LIMIT ?"},
		{&s.book.rubric, s.r, "SELECT canonical FROM rubrics WHERE hash = ?"},
		{&s.hit, s.w, "INSERT INTO hits (fingerprint, n, last, seq) VALUES (?,1,?,?) ON CONFLICT DO UPDATE SET n = n + 1, last = excluded.last, seq = excluded.seq"},
		{&s.oldest, s.w, "DELETE FROM decisions WHERE id IN (SELECT id FROM decisions ORDER BY id LIMIT ?)"},
	} {
		if *p.stmt, err = p.db.PrepareContext(ctx, p.query); err != nil {
			return err
		}
	}
	return nil
}

// connect returns a pool of connections with the given pragmas.
func (s *Store) connect(conns int, extra string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_defensive": {"1"}, "_dqs": {"0"}}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(max(1, s.opt.Busy.Milliseconds()), 10)+")")
	q.Add("_pragma", "trusted_schema(0)")
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	dsn := "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?" + q.Encode()
	if extra != "" {
		dsn += "&" + extra
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Close ends the store: appends that were taken are finished, later calls
// return ErrClosed. Closing again does nothing. The files beside the database
// go away with the last process that closes it.
func (s *Store) Close() error {
	s.closed.Do(func() {
		close(s.quit)
		<-s.log.done
		<-s.book.log.done
		s.end = s.closeAll()
	})
	return s.end
}

// closeAll closes the writer last: it moves the log of writes into the file.
func (s *Store) closeAll() error {
	var errs []error
	for _, db := range []*sql.DB{s.r, s.e, s.w} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func (s *Store) isClosed() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}
