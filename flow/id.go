package flow

import (
	"errors"

	"github.com/oklog/ulid/v2"
)

// NewID returns a fresh ULID. IDs made by one process sort by the time they
// were made. It is safe for concurrent use.
func NewID() string { return ulid.Make().String() }

// ErrTrajectoryID says that a trajectory id is not a ULID in canonical form.
var ErrTrajectoryID = errors.New("not a trajectory id: 26 characters of a ULID are expected")

// ParseTrajectoryID checks an id that came from outside. Only the canonical
// upper-case form is taken, so that one trajectory has one name.
func ParseTrajectoryID(s string) (TrajectoryID, error) {
	id, err := ulid.ParseStrict(s)
	if err != nil || id.String() != s {
		return "", ErrTrajectoryID
	}
	return TrajectoryID(s), nil
}
