//go:build !unix

package child

import "errors"

// replace is of no use where there are no shims.
func replace(string, []string, []string) error { return errors.ErrUnsupported }
