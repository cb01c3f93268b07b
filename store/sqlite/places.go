package sqlite

import (
	"context"

	"github.com/margaydev/margay/store"
)

const (
	placesMoved   = "UPDATE meta SET value = value + 1 WHERE key = 'places'"
	placesVersion = "SELECT p.value, d.value FROM meta p, meta d WHERE p.key = 'places' AND d.key = 'places_dropped'"
)

// PutPlaces implements places.Store.
func (s *Store) PutPlaces(ctx context.Context, rows map[[32]byte][]byte) error {
	return s.transact(ctx, func(t *tx) error {
		t.exec(placesMoved)
		for id, sealed := range rows {
			t.exec(`INSERT INTO places (id, seq, sealed) VALUES (?, (SELECT value FROM meta WHERE key = 'places'), ?)
				ON CONFLICT (id) DO NOTHING`, id[:], sealed)
		}
		n := 0
		if t.row(value(&n), "SELECT count(*) FROM places"); n > store.MaxPlaces {
			return store.ErrFull
		}
		return nil
	})
}

// DropPlaces implements places.Store.
func (s *Store) DropPlaces(ctx context.Context, ids ...[32]byte) error {
	return s.transact(ctx, func(t *tx) error {
		t.exec(placesMoved)
		for _, id := range ids {
			t.exec("DELETE FROM places WHERE id = ?", id[:])
		}
		t.exec("UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'places') WHERE key = 'places_dropped'")
		return nil
	})
}

// Places implements places.Store.
func (s *Store) Places(ctx context.Context, after int64) (rows map[[32]byte][]byte, all bool, version int64, err error) {
	// The version comes first: what is added meanwhile is read again.
	type versions struct{ now, dropped int64 }
	v, err := one(ctx, s, ErrCorrupt, func(v *versions) []any { return []any{&v.now, &v.dropped} }, placesVersion)
	if err != nil || v.now == after {
		return nil, false, after, err
	}
	if all = after < v.dropped || after > v.now; all {
		after = 0
	}
	type place struct {
		id     [32]byte
		sealed []byte
	}
	found, err := list(ctx, s, func(p *place) []any { return []any{fixed(p.id[:]), &p.sealed} }, "SELECT id, sealed FROM places WHERE seq > ?", after)
	if err != nil {
		return nil, false, after, err
	}
	rows = make(map[[32]byte][]byte, len(found))
	for _, p := range found {
		rows[p.id] = p.sealed
	}
	return rows, all, v.now, nil
}
