package ledger

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// Store keeps a whole ledger. It never removes or changes anything. All methods
// are safe for concurrent use, also by several processes if the engine is.
type Store interface {
	charge.Store
	// Heads yields the heads of all families in the order of their names, as
	// of one point in time.
	Heads(ctx context.Context) iter.Seq2[charge.Head, error]
	// PutRubric keeps a rubric's canonical bytes by their SHA-256.
	PutRubric(ctx context.Context, hash charge.Hash, canonical []byte) error
}

// Config is what a Book needs.
type Config struct {
	Store Store
	// Key signs entries. A Book without one is read-only.
	Key ed25519.PrivateKey
	// Public is the key that entries must be signed with; that of Key if it
	// is nil.
	Public ed25519.PublicKey
	// Now returns the time; time.Now if it is nil. It decides nothing.
	Now func() time.Time
}

// Book is a whole ledger: the charge.Book of its families, the rubrics that
// they name, checkpoints and exports. It is safe for concurrent use.
type Book struct {
	*charge.Book
	cfg Config
}

// NewBook returns a Book.
func NewBook(cfg Config) (*Book, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := charge.Config{Key: cfg.Key, Public: cfg.Public, Now: cfg.Now}
	if cfg.Store != nil {
		c.Store = cfg.Store
	}
	b, err := charge.NewBook(c)
	if err != nil {
		return nil, err
	}
	return &Book{b, cfg}, nil
}

// KeepRubric keeps a rubric's canonical bytes, so that entries may name their
// hash, which it returns.
func (b *Book) KeepRubric(ctx context.Context, canonical []byte) (charge.Hash, error) {
	h := charge.Hash(sha256.Sum256(canonical))
	if len(canonical) > MaxRubric {
		return h, fmt.Errorf("ledger: the rubric has %d bytes; at most %d can be exported", len(canonical), MaxRubric)
	}
	return h, b.cfg.Store.PutRubric(ctx, h, canonical)
}

// Rules of an export as a whole.
const (
	Framing charge.Rule = "framing" // it is cut short, or a record is out of place
	Foreign charge.Rule = "foreign" // it was made under another key
	Ending  charge.Rule = "ending"  // a family does not end at its head
	Arrival charge.Rule = "arrival" // entries did not arrive in the order of their chain
	Rubrics charge.Rule = "rubrics" // a rubric that entries name is missing, or another is present
	Lax     charge.Rule = "lax"     // a family started with more than any rubric of its first entry allows
	Anchor  charge.Rule = "anchor"  // the checkpoint is of other entries
	Seal    charge.Rule = "seal"    // bytes were changed after the export was made
	Older   charge.Rule = "older"   // it is older than a known checkpoint
	Forked  charge.Rule = "forked"  // it does not have the history of a known checkpoint
)

// start is what a family started with.
type start struct {
	limits  charge.Limits
	rubrics charge.Hash // of all that its first entry names
}

// starter is the first family of an export that started so.
type starter struct {
	limits  charge.Limits
	rubrics []charge.Hash
	entry   uint64
	family  flow.TrajectoryID
}

// starts notes what a family started with, until the rubrics are read: they
// follow all entries.
func (v *verifier) starts(e *charge.Entry) {
	if v.check.Limits == nil {
		return
	}
	h := sha256.New()
	for i := range e.Rubrics {
		h.Write(e.Rubrics[i][:])
	}
	s := start{e.Limits, charge.Hash(h.Sum(nil))}
	if v.started[s] {
		return
	}
	if len(v.starters) >= maxRubrics {
		v.breaks(e.Seq, Lax.Errorf("families of the export started in more than %d ways, the most that can be checked", maxRubrics))
		return
	}
	v.started[s] = true
	v.starters = append(v.starters, starter{e.Limits, e.Rubrics, v.report.Entries, e.Family})
	for _, r := range e.Rubrics {
		v.asked[r] = true
	}
}

// lax reports families that started with more than each of their rubrics
// allows. Several rubrics together allow no more than each of them.
func (v *verifier) lax() {
	for i := range v.starters {
		s := &v.starters[i]
		allowed := func(r charge.Hash) bool {
			l, ok := v.allowed[r]
			return ok && within(&s.limits, &l)
		}
		if !slices.ContainsFunc(s.rubrics, allowed) {
			v.found(&Finding{
				Entry: s.entry, Family: s.family, Seq: 1, Rule: Lax,
				Detail: "the family started with a budget of " + s.limits.B.String() + ", and no rubric that its first entry names allows its limits",
			})
		}
	}
}

// within reports whether no limit is above another's.
func within(l, o *charge.Limits) bool {
	ok := l.B <= o.B && l.Screened <= o.Screened
	for k := 1; k < charge.Classes; k++ {
		ok = ok && l.Cap[k] <= o.Cap[k] && l.Lambda[k] >= o.Lambda[k]
	}
	return ok
}
