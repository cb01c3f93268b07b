package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// model does any sequence of changes to a store and to plain maps, and
// compares the two after each step.
func (u *suite) model(t *testing.T, open func(t *testing.T) Store) {
	ctx := context.Background()
	small := rapid.IntRange(0, 5)
	rapid.Check(t, func(r *rapid.T) {
		s := open(t)
		defer func() { _ = s.Close() }()
		secrets, allows, log := map[string]secret.Record{}, map[string]secret.Allow{}, map[string]audit.Entry{}
		last, changed := epochOf(r, s), false
		ok := func(err error) {
			r.Helper()
			if err != nil {
				r.Fatalf("%v", err)
			}
		}
		gone := func(err error, was bool) {
			r.Helper()
			if was && err != nil || !was && !errors.Is(err, secret.ErrNotFound) {
				r.Fatalf("was there: %v; error: %v", was, err)
			}
			changed = was
		}
		drawRecord := rapid.Custom(func(r *rapid.T) secret.Record {
			rec := record(small.Draw(r, "id"))
			rec.Name, rec.Fingerprint = fmt.Sprint(small.Draw(r, "name")%2), secret.Fingerprint{byte(1 + small.Draw(r, "fingerprint")%2)}
			rec.Length = rapid.IntRange(0, 1<<20).Draw(r, "length")
			return rec
		})
		actions := map[string]func(*rapid.T){
			"put secrets": func(r *rapid.T) {
				recs := rapid.SliceOfN(drawRecord, 0, 4).Draw(r, "records")
				ok(s.PutSecrets(ctx, recs))
				for _, rec := range recs {
					maps.DeleteFunc(secrets, func(_ string, o secret.Record) bool { return o.Name == rec.Name && o.Fingerprint == rec.Fingerprint })
					secrets[rec.ID] = rec
				}
				changed = len(recs) > 0
			},
			"put bad secrets": func(r *rapid.T) {
				if s.PutSecrets(ctx, []secret.Record{drawRecord.Draw(r, "record"), {}}) == nil {
					r.Fatalf("an empty record was taken")
				}
			},
			"delete secret": func(r *rapid.T) {
				id := record(small.Draw(r, "id")).ID
				_, was := secrets[id]
				gone(s.DeleteSecret(ctx, id), was)
				delete(secrets, id)
			},
			"put allow": func(r *rapid.T) {
				a := secret.Allow{ID: fmt.Sprint(small.Draw(r, "id")), Rule: fmt.Sprint(small.Draw(r, "rule")), Created: at}
				ok(s.PutAllow(ctx, a))
				allows[a.ID], changed = a, true
			},
			"delete allow": func(r *rapid.T) {
				id := fmt.Sprint(small.Draw(r, "id"))
				_, was := allows[id]
				gone(s.DeleteAllow(ctx, id), was)
				delete(allows, id)
			},
			"append": func(r *rapid.T) {
				var es []audit.Entry
				for _, i := range rapid.SliceOfN(small, 0, 4).Draw(r, "entries") {
					e := entry(i)
					e.Findings = entry(small.Draw(r, "finding")).Findings
					es = append(es, e)
					log[e.ID] = e
				}
				ok(s.AppendDecisions(ctx, es))
			},
			"": func(r *rapid.T) {
				e := epochOf(r, s)
				if e < last || (e > last) != changed {
					r.Fatalf("epoch went from %d to %d; changed: %v", last, e, changed)
				}
				last, changed = e, false
				if got, want := all(r, s), sorted(secrets); !equal(got, want) {
					r.Fatalf("secrets are %v, want %v", ids(got), ids(want))
				}
				got, err := s.Allows(ctx)
				ok(err)
				if want := sorted(allows); !equal(got, want) {
					r.Fatalf("allowances are %v, want %v", got, want)
				}
				entries, err := s.Decisions(ctx, "", 100)
				ok(err)
				want := sorted(log)
				if !equal(entries, want) {
					r.Fatalf("decisions are %v, want %v", entries, want)
				}
				found := map[string]string{}
				for _, e := range want {
					found[e.Findings[0].ID] = e.ID
				}
				for f, d := range found {
					if _, id, err := s.FindingByID(ctx, f); err != nil || id != d {
						r.Fatalf("finding %s is one of %s, want %s; %v", f, id, d, err)
					}
				}
			},
		}
		if u.reopen != nil {
			actions["reopen"] = func(r *rapid.T) {
				if small.Draw(r, "reopen") == 0 { // it is slow
					s = u.reopen(t, s)
				}
			}
		}
		r.Repeat(actions)
	})
}

func sorted[T any](m map[string]T) (out []T) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// equal takes nil and empty as the same.
func equal[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || same(a, b) }
