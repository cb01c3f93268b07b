package mediation

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// remembered keeps the values that families saw, sealed, as rows under a keyed hash of
// the family. The store drops the oldest rows beyond its bounds, so the first row says
// that it is the first.
type remembered struct {
	rows mediator.Said
	keys *secret.Keys
}

type seenRow struct {
	First  bool          `json:"first,omitempty"`
	Values []known.Value `json:"values"`
}

func (r *remembered) owner(family flow.TrajectoryID) (owner [32]byte, place string) {
	key := Derive(r.keys.Fingerprint, "margay declassify seen v1")
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(family))
	h.Sum(owner[:0])
	return owner, "declassify seen/" + hex.EncodeToString(owner[:])
}

// Known implements known.Keeper.
func (r *remembered) Known(ctx context.Context, family flow.TrajectoryID, after int64) (values []known.Value, last int64, begun bool, err error) {
	owner, place := r.owner(family)
	rows, last, err := r.rows.Said(ctx, owner, after)
	if err != nil {
		return nil, 0, false, err
	}
	for i, sealed := range rows {
		raw, err := r.keys.OpenValue(sealed, place)
		if err != nil {
			return nil, 0, false, fmt.Errorf("values that %s saw: %w", family, err)
		}
		var row seenRow
		if json.Unmarshal(raw, &row) != nil {
			return nil, 0, false, fmt.Errorf("values that %s saw can't be read", family)
		}
		begun = begun || i == 0 && row.First
		values = append(values, row.Values...)
	}
	return values, last, begun, nil
}

// Learn implements known.Keeper.
func (r *remembered) Learn(ctx context.Context, family flow.TrajectoryID, values []known.Value, first bool) error {
	owner, place := r.owner(family)
	raw, err := json.Marshal(seenRow{first, values})
	if err != nil {
		return err
	}
	sealed, err := r.keys.SealValue(raw, place)
	if err != nil {
		return err
	}
	return r.rows.PutSaid(ctx, owner, [][]byte{sealed})
}

const maxProfile = 1 << 20 // bytes

// profileOf reads the values that are known in advance.
func profileOf(path string) ([]known.Value, error) {
	if path == "" {
		return nil, nil
	}
	const hint = "write lists of values by field, as in legal-name: [Maria Silva]"
	b, err := os.ReadFile(path) //nolint:gosec // the user's own file
	if err != nil {
		return nil, problem.Usage(hint, "declassify.profile: %w", err)
	}
	byField := map[string][]string{}
	if len(b) > maxProfile || yaml.UnmarshalWithOptions(b, &byField, yaml.Strict()) != nil {
		return nil, problem.Usage(hint, "declassify.profile: %s must hold lists of values by field, in at most 1 MiB", path) // no value in an error
	}
	var out []known.Value
	var set known.Set
	for field, values := range byField {
		for _, text := range values {
			v := known.Value{Field: field, Text: text}
			if err := set.Add(v); err != nil {
				return nil, problem.Usage(hint, "declassify.profile: %s: %w", path, err)
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// resultsOf are the fields of what tools return.
func resultsOf(cfg *config.Declassify) func(string) []schema.Arg {
	out := map[string][]schema.Arg{}
	for name, t := range cfg.Tools {
		for path, field := range t.Results {
			out[plainName(name)] = append(out[plainName(name)], Argument(path, field))
		}
	}
	return func(tool string) []schema.Arg { return out[plainName(tool)] }
}
