//go:build !unix

package sqlite

// open maps nothing: the database is asked each time.
func (c *walIndex) open(string) {}

func (c *walIndex) close() {}
