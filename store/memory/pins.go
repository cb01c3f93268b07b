package memory

import (
	"context"
	"maps"
)

// Pinned implements mcpproxy.Pins.
func (s *Store) Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.pins[server]), nil
}

// Pin implements mcpproxy.Pins.
func (s *Store) Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins[server] == nil {
		s.pins[server] = map[[32]byte][32]byte{}
	}
	maps.Copy(s.pins[server], tools)
	return nil
}

// Unpin implements mcpproxy.Pins.
func (s *Store) Unpin(ctx context.Context, server [32]byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.pins[server])
	delete(s.pins, server)
	return n, nil
}
