package act

import (
	"regexp"
	"sync"
)

// late compiles an expression when it is first needed. A process that decides one call
// needs few of them.
func late(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
