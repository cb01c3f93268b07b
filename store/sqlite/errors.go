package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that say what the caller must do. Those that come out of a Store are
// wrapped with the file's path and a hint for a person.
var (
	// ErrCorrupt says that the file is not a sound database. Where Open returns
	// it, the file was not changed.
	ErrCorrupt = errors.New("the database is corrupt")
	// ErrForeign says that the file is a database of another program.
	ErrForeign = errors.New("the database belongs to another program")
	// ErrNewer says that a newer version of Margay made the file.
	ErrNewer = errors.New("the database was made by a newer version of margay")
	// ErrLocked says that another process kept the database locked for longer
	// than Options.Busy. Nothing was changed; trying again may help.
	ErrLocked = errors.New("the database is locked by another process")
	// ErrFull says that the disk, a quota or a limit on the file leaves no
	// room. Nothing was changed.
	ErrFull = errors.New("no room to write the database")
	// ErrReadOnly says that the file or its folder can't be written.
	ErrReadOnly = errors.New("the database can't be written")
	// ErrOpen says that the file's mode lets other users read or write it.
	ErrOpen = errors.New("the database may be read by other users")
	// ErrOwner says that the path is a link, and it or its target belongs to
	// another user.
	ErrOwner = errors.New("the database is a link that another user controls")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// explain turns the engine's errors into ours, with the file's path and a
// hint. No message of the engine holds a value: statements have parameters.
func (s *Store) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	code := codeOf(err)
	if ctx.Err() != nil && (code&0xff == sqlite3.SQLITE_INTERRUPT || code < 0) {
		return ctx.Err() // also where the pool reports a consequence of it
	}
	if s.isClosed() && code < 0 {
		return ErrClosed
	}
	p := s.path
	switch {
	case errors.Is(err, ErrCorrupt), code >= 0 && (code&0xff == sqlite3.SQLITE_CORRUPT || code&0xff == sqlite3.SQLITE_NOTADB):
		return wrap(ErrCorrupt, err, "move %s away, with %[1]s-wal and %[1]s-shm if they are there, and restore it from a backup", p)
	case code < 0:
		return fmt.Errorf("%s: %w", p, err)
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return wrap(ErrLocked, err, "try again, or stop the process that holds %s; waited %v", p, s.opt.Busy)
	case sqlite3.SQLITE_FULL:
		return wrap(ErrFull, err, "free some disk space for %s", p)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return wrap(ErrReadOnly, err, "make %s and its folder writable for you", p)
	case sqlite3.SQLITE_CANTOPEN:
		return wrap(ErrReadOnly, err, "make sure that %s and its folder are there and writable for you", p)
	case sqlite3.SQLITE_IOERR:
		switch code {
		// What the engine can't tell from a broken disk: a quota, or a limit on
		// the size of files (ulimit -f).
		case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE:
			return wrap(ErrFull, err, "free some disk space for %s, or raise the quota or the limit on file size; else check the disk", p)
		}
		return fmt.Errorf("%s: the disk failed: check it and the system's log: %w", p, err)
	}
	return fmt.Errorf("%s: %w", p, err)
}

// codeOf returns the engine's code of an error, -1 for any other error.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return -1
}

// locked reports whether another process had the file locked.
func locked(err error) bool {
	class := codeOf(err) & 0xff
	return class == sqlite3.SQLITE_BUSY || class == sqlite3.SQLITE_LOCKED
}

// unfinished reports whether a file must be written before it can be read: a
// transaction was started in it and never ended.
func unfinished(err error) bool {
	return slices.Contains([]int{sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY, sqlite3.SQLITE_READONLY_CANTINIT}, codeOf(err))
}

// wrap puts a hint behind what, and keeps the cause where it says more.
func wrap(what, cause error, hint string, args ...any) error {
	if errors.Is(cause, what) {
		return fmt.Errorf("%w: %s", cause, fmt.Sprintf(hint, args...))
	}
	return fmt.Errorf("%w: %s (%w)", what, fmt.Sprintf(hint, args...), cause)
}
