package vectors

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/secret/recognise"
)

// TestReference compares with the library the rules come from, over its own
// vectors.
func TestReference(t *testing.T) {
	f, err := os.Open(testkit.Data(t, "gitleaks-vectors.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	zerolog.SetGlobalLevel(zerolog.Disabled)
	ref, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	s, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	var truths, hits, negatives, flagged int
	missed, wrong := map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var v struct {
			Rule, V, Path string
			TP            bool
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		found := s.Find([]byte(v.V), recognise.WithPath(v.Path))
		if !v.TP {
			negatives++
			for _, m := range found {
				if m.Rule.ID == v.Rule {
					flagged++
					wrong[v.Rule]++
					break
				}
			}
			continue
		}
		for _, want := range ref.Detect(detect.Fragment{Raw: v.V, FilePath: v.Path}) { //nolint:staticcheck // what replaces it exists in no release
			if want.RuleID != v.Rule {
				continue
			}
			truths++
			at := int64(strings.Index(v.V, want.Secret))
			ok := false
			for _, m := range found {
				ok = ok || m.Rule.Class != recognise.ClassPersonal && m.Start <= at && m.End >= at+int64(len(want.Secret))
			}
			if !ok && v.Rule == recognise.PrivateKeyID {
				end := at
				for _, m := range found {
					if m.Start <= end && m.End > end {
						end = m.End
					}
				}
				ok = end >= at+int64(len(want.Secret))
			}
			if ok {
				hits++
			} else {
				missed[v.Rule]++
			}
		}
	}
	if truths == 0 || negatives == 0 {
		t.Fatal("no vectors read")
	}
	recall, fpr := float64(hits)/float64(truths), float64(flagged)/float64(negatives)
	t.Logf("recall %.4f of %d, flagged %.4f of %d negatives", recall, truths, fpr, negatives)
	t.Logf("missed by rule: %v", missed)
	t.Logf("flagged by rule: %v", wrong)
	if recall < 0.97 {
		t.Errorf("recall %.4f < 0.97", recall)
	}
	if fpr > 0.03 {
		t.Errorf("flagged %.4f > 0.03", fpr)
	}
}
