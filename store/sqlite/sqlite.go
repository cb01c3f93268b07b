// Package sqlite is the embedded store: one file, no server, no cgo. Its
// format is specified in docs/format/store.md.
//
// A change is durable when the method that made it returns. Several processes
// may use one file at the same time; writes are serialised by SQLite's lock,
// for which a method waits as long as Options.Busy.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
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
	// Busy is how long a call waits for a locked database; DefaultBusy if it is
	// not positive. The engine counts in milliseconds.
	Busy time.Duration
	// MaxDecisions bounds the log; DefaultMaxDecisions if it is not positive.
	// Once there are more, those with the lowest ids are discarded, in batches:
	// up to an eighth of MaxDecisions, at most 1,024, below the bound.
	MaxDecisions int
	// MaxEvents and MaxEventBytes bound what is kept for observers;
	// DefaultMaxEvents and DefaultMaxEventBytes if they are not positive. The
	// oldest are discarded first, in batches.
	MaxEvents     int
	MaxEventBytes int64
}

// Store is the state of one engine. It is safe for concurrent use, by several
// processes too. Two goroutines of its own write the log and the ledger; Close
// ends them.
type Store struct {
	path string
	opt  Options
	w    *sql.DB // one connection: writes are serialised here, not by retries
	r    *sql.DB
	e    *sql.DB // one connection for Epoch, so that it never waits for an iteration

	prepared map[string]*sql.Stmt // by query: what runs often

	log    *batches[*decided]
	book   *batches[*spent] // of the ledger
	quit   chan struct{}    // closed by Close
	closed sync.Once
	end    error
}

// Open opens or makes the database at path. It makes the folder with mode 0700
// and the file with 0600. It refuses, and does not change, a file that is not a
// sound database of a known version, that other users may read, or that a link
// of another user leads to. Errors wrap those of this package where they fit,
// and say what to do.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	opt.Busy = cmp.Or(max(opt.Busy, 0), DefaultBusy)
	opt.MaxDecisions = cmp.Or(max(opt.MaxDecisions, 0), DefaultMaxDecisions)
	opt.MaxEvents = cmp.Or(max(opt.MaxEvents, 0), DefaultMaxEvents)
	opt.MaxEventBytes = cmp.Or(max(opt.MaxEventBytes, 0), DefaultMaxEventBytes)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target, err := prepare(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: target, opt: opt, quit: make(chan struct{})}
	s.log, s.book = newBatches(s.quit, s.writeDecisions), newBatches(s.quit, s.writeEntries)
	if err := s.patiently(ctx, s.open); err != nil {
		return nil, errors.Join(s.explain(ctx, err), s.closeAll())
	}
	go s.log.run()
	go s.book.run()
	return s, nil
}

// patiently tries to open for as long as Options.Busy while another process locks
// the file: the engine itself does not wait when it changes the journal's mode,
// or restores or removes a log.
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
	s.prepared = map[string]*sql.Stmt{}
	for db, queries := range map[*sql.DB][]string{
		s.e: {epoch},
		s.r: {entryByID, decisionOf, entriesAfter, entriesArrived, ledgerPage, rubricByHash},
		s.w: {putSecret, bump, newEntry, setEntry, unlink, link, countEntries, dropOldest, newEvents.one, newEvents.some, addSums.one, addSums.some, addTally, addHit, addMeta, appendEntry},
	} {
		for _, q := range queries {
			if s.prepared[q], err = db.PrepareContext(ctx, q); err != nil {
				return err
			}
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

// Close ends the store: it finishes the appends that it has taken, and later
// calls return ErrClosed. Closing again does nothing. The last process that
// closes the database removes the files beside it.
func (s *Store) Close() error {
	s.closed.Do(func() {
		close(s.quit)
		<-s.log.done
		<-s.book.done
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

// Writable writes the version of the format once more: a page and a commit,
// which fail where nothing can be written, and change nothing.
func (s *Store) Writable(ctx context.Context) error {
	return s.transact(ctx, func(t *tx) error {
		t.exec("PRAGMA user_version = " + strconv.Itoa(len(migrations)))
		return nil
	})
}
