package vectors

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// TestRegisteredInEveryEncoding: a registered secret of twelve bytes or more
// is found whole in every encoding of the list.
func TestRegisteredInEveryEncoding(t *testing.T) {
	testkit.Data(t, "gitleaks-vectors.jsonl.gz")
	pos, _, err := load(os.Getenv("MARGAY_DATA"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	step := max(1, len(pos)/250)
	if os.Getenv("MARGAY_ALL_VECTORS") != "" {
		step = 1
	}
	n := 0
	for i := 0; i < len(pos); i += step {
		v := &pos[i]
		if len(v.secret) < 12 {
			continue
		}
		rec, _, err := match.Prepare(&benchKeys, "1", "v", secret.KindSecret, secret.SourceRegistered, "test", []byte(v.secret), time.Unix(1, 0))
		if err != nil {
			continue // longer than what can be registered
		}
		n++
		ix, err := match.NewIndex(&benchKeys, one(rec), time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range encodings {
			hidden := e.f(v.secret)
			text := before + strings.Replace(v.V, v.secret, hidden, 1) + after
			cfg := &stream.Config{Rules: rules, Path: v.Path, Vaults: []*match.Index{ix}}
			if !covered(text, hidden, edits(cfg, text)) {
				t.Errorf("vector %d of %s in %s: not found whole (%d bytes)", i, v.Rule, e.name, len(v.secret))
			}
		}
	}
	if n == 0 {
		t.Fatal("no vectors")
	}
}
