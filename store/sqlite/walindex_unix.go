//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

// open maps the header of a database's wal-index. The database must be open until
// close: who has it open keeps others from cutting the file off.
func (c *walIndex) open(database string) {
	f, err := os.Open(database + "-shm")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if fi, err := f.Stat(); err != nil || fi.Size() < headerSize {
		return
	}
	if b, err := syscall.Mmap(int(f.Fd()), 0, headerSize, syscall.PROT_READ, syscall.MAP_SHARED); err == nil {
		c.header = b
	}
}

func (c *walIndex) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.header != nil {
		_ = syscall.Munmap(c.header)
		c.header = nil
	}
}
