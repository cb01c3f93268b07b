package memory

import (
	"bytes"
	"context"

	"github.com/margaydev/margay/store"
)

// placed are places with the change that added each.
type placed struct {
	rows           map[[32]byte]placeRow
	moved, dropped int64
}

type placeRow struct {
	seq    int64
	sealed []byte
}

// PutPlaces implements places.Store.
func (s *Store) PutPlaces(ctx context.Context, rows map[[32]byte][]byte) error {
	return s.do(ctx, func() error {
		fresh := 0
		for id := range rows {
			if _, ok := s.places.rows[id]; !ok {
				fresh++
			}
		}
		if len(s.places.rows)+fresh > store.MaxPlaces {
			return store.ErrFull
		}
		s.places.moved++
		for id, sealed := range rows {
			if _, ok := s.places.rows[id]; !ok {
				s.places.rows[id] = placeRow{s.places.moved, bytes.Clone(sealed)}
			}
		}
		return nil
	})
}

// DropPlaces implements places.Store.
func (s *Store) DropPlaces(ctx context.Context, ids ...[32]byte) error {
	return s.do(ctx, func() error {
		s.places.moved++
		s.places.dropped = s.places.moved
		for _, id := range ids {
			delete(s.places.rows, id)
		}
		return nil
	})
}

// Places implements places.Store.
func (s *Store) Places(ctx context.Context, after int64) (rows map[[32]byte][]byte, all bool, version int64, err error) {
	version = after
	err = s.do(ctx, func() error {
		if version = s.places.moved; version == after {
			return nil
		}
		if all = after < s.places.dropped || after > version; all {
			after = 0
		}
		rows = map[[32]byte][]byte{}
		for id, r := range s.places.rows {
			if r.seq > after {
				rows[id] = bytes.Clone(r.sealed)
			}
		}
		return nil
	})
	return rows, all, version, err
}
