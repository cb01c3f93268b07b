//go:build !unix

package mediation

import "time"

// changed is not known here.
func changed(string) (at time.Time, known bool) { return at, false }
