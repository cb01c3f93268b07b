package sqlite

import (
	"context"
	"database/sql"
)

// Pinned implements mcpproxy.Pins.
func (s *Store) Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error) {
	rows, err := s.r.QueryContext(ctx, "SELECT tool, looks FROM pins WHERE server = ?", server[:])
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer rows.Close()
	out := map[[32]byte][32]byte{}
	for rows.Next() {
		var tool, looks []byte
		if err := rows.Scan(&tool, &looks); err != nil {
			return nil, s.explain(ctx, err)
		}
		out[[32]byte(tool)] = [32]byte(looks) // the table checks their lengths
	}
	return out, s.explain(ctx, rows.Err())
}

// Pin implements mcpproxy.Pins.
func (s *Store) Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error {
	if len(tools) == 0 {
		return ctx.Err()
	}
	return s.transact(ctx, func(tx *sql.Tx) error {
		for tool, looks := range tools {
			if _, err := tx.ExecContext(ctx, `INSERT INTO pins (server, tool, looks) VALUES (?,?,?)
				ON CONFLICT (server, tool) DO UPDATE SET looks = excluded.looks`, server[:], tool[:], looks[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Unpin implements mcpproxy.Pins.
func (s *Store) Unpin(ctx context.Context, server [32]byte) (int, error) {
	var n int64
	err := s.transact(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM pins WHERE server = ?", server[:])
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return int(n), err
}
