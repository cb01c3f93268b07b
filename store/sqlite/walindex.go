package sqlite

import (
	"bytes"
	"encoding/binary"
	"sync"
)

// walIndex tells cheaply whether the database may have changed since it was last
// asked. It looks at the header of the wal-index, which each commit of any process
// changes before it returns (sqlite.org/walformat.html, section 2.1). The header is
// there twice, and a reader believes it where both are alike; so does this. A header
// of another version tells nothing.
//
// It is safe for concurrent use.
type walIndex struct {
	mu     sync.Mutex
	header []byte // the file, mapped; nil where that can't be done
	last   [headerSize]byte
	epoch  uint64 // at last
	known  bool
}

const (
	headerSize    = 2 * 48
	headerVersion = 3007000
)

// since returns the epoch that was kept, unless something may have changed since,
// and else what to keep the next one under.
func (c *walIndex) since() (epoch uint64, now [headerSize]byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.header == nil {
		return 0, now, false
	}
	copy(now[:], c.header)
	half := headerSize / 2
	if binary.NativeEndian.Uint32(now[:]) != headerVersion || !bytes.Equal(now[:half], now[half:]) {
		return 0, [headerSize]byte{}, false
	}
	return c.epoch, now, c.known && now == c.last
}

// keep keeps the epoch that was read after the header.
func (c *walIndex) keep(epoch uint64, header [headerSize]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch, c.last, c.known = epoch, header, header != [headerSize]byte{}
}
