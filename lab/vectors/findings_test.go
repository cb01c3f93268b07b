package vectors

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

var update = flag.Bool("update", false, "rewrite the hashes of findings")

// TestFindingsUnchanged holds the findings on the credential vectors, in every
// encoding, to their hashes: which rule found what, where, and in which view.
// It reads one vector in sixteen; with MARGAY_ALL_VECTORS all of them, which
// takes two minutes. A change that means to change findings rewrites both files
// of hashes with -update and says so; any other change leaves them alone.
func TestFindingsUnchanged(t *testing.T) {
	testkit.Data(t, "gitleaks-vectors.jsonl.gz")
	pos, neg, err := load(os.Getenv("MARGAY_DATA"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pos) == 0 || len(neg) == 0 {
		t.Fatal("no vectors")
	}
	golden := filepath.Join("testdata", "findings.sha256")
	if os.Getenv("MARGAY_ALL_VECTORS") == "" {
		golden = filepath.Join("testdata", "findings-sample.sha256")
		pos, neg = every(16, pos), every(16, neg)
	}
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	indexes := make([]*match.Index, len(pos))
	for i := range pos {
		rec, _, err := match.Prepare(&benchKeys, "00000000000000000000000001", "vector", secret.KindSecret, secret.SourceRegistered, "bench", []byte(pos[i].secret), time.Unix(1, 0))
		if errors.Is(err, match.ErrTooLong) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if indexes[i], err = match.NewIndex(&benchKeys, one(rec), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	var sums strings.Builder
	for _, e := range encodings {
		for _, known := range []bool{true, false} {
			sum := hashOf(len(pos), func(i int) []stream.Finding {
				v := &pos[i]
				cfg := &stream.Config{Rules: rules, Path: v.Path}
				if known {
					if indexes[i] == nil {
						return nil
					}
					cfg.Vaults = []*match.Index{indexes[i]}
				}
				return findings(cfg, before+strings.Replace(v.V, v.secret, e.f(v.secret), 1)+after)
			})
			fmt.Fprintf(&sums, "%x encoding=%s,known=%s\n", sum, e.name, yesNo(known))
		}
		// Where nothing is to be found, the whole text is disguised.
		sum := hashOf(len(neg), func(i int) []stream.Finding {
			return findings(&stream.Config{Rules: rules, Path: neg[i].Path}, before+e.f(neg[i].V)+after)
		})
		fmt.Fprintf(&sums, "%x encoding=%s,negative\n", sum, e.name)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(sums.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wants := strings.Split(string(want), "\n")
	for _, line := range strings.Split(sums.String(), "\n") {
		if !slices.Contains(wants, line) {
			t.Errorf("other findings than before: %s", line)
		}
	}
	if sums.Len() != len(want) {
		t.Error("other slices than before")
	}
}

// every returns one vector in n.
func every(n int, all []vector) []vector {
	var out []vector
	for i := 0; i < len(all); i += n {
		out = append(out, all[i])
	}
	return out
}

// findings are what a scanner finds in a text, in the order of the text.
func findings(cfg *stream.Config, text string) []stream.Finding {
	s := cfg.NewScanner()
	s.Write([]byte(text))
	s.Close()
	out := s.Findings()
	slices.SortFunc(out, func(a, b stream.Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), strings.Compare(a.Rule, b.Rule), strings.Compare(a.View, b.View))
	})
	return out
}

// hashOf is the hash of the findings in n texts.
func hashOf(n int, in func(int) []stream.Finding) [sha256.Size]byte {
	lines := make([]string, n)
	work := make(chan int)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := range work {
				var b strings.Builder
				for _, f := range in(i) {
					fmt.Fprintf(&b, "%d-%d %s %s %s %s %s %s %v %v\n", f.Start, f.End, f.Rule, f.Kind, f.Class, f.Source, f.ID, f.View, f.Capped, f.Fragment)
				}
				lines[i] = b.String()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	h := sha256.New()
	for i, l := range lines {
		fmt.Fprintf(h, "%d %d\n%s", i, len(l), l)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
