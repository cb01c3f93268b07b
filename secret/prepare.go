package secret

import (
	"fmt"
	"time"
)

// Prepare makes the record of a value for a store or an index. The id is the
// caller's (a ULID); now is its time of creation. The value is not kept.
// Errors are ErrTooShort and ErrTooLong, wrapped.
func Prepare(keys *Keys, id, name string, kind Kind, src Source, origin string, value []byte, now time.Time) (Record, Strength, error) {
	prints, st, err := Print(keys, value)
	if err != nil {
		return Record{}, st, fmt.Errorf("%s: %w", name, err)
	}
	return Record{
		ID: id, Name: name, Kind: kind, Source: src, Origin: origin,
		Fingerprint: keys.FingerprintOf(value), Print: prints, Length: len(value),
		Created: now.UTC().Truncate(time.Millisecond),
	}, st, nil
}
