package prism

import (
	"os"
	"testing"

	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/train"
)

func TestExportTraces(t *testing.T) {
	export := func() []byte {
		path, err := ExportTraces(t.Context(), TraceOptions{Dir: t.TempDir(), Seed: 3, N: 12})
		if err != nil {
			t.Fatal(err)
		}
		n, spans := 0, 0
		r := world.Healthcare(3)
		_, err = train.ReadTraces(path, func(tr *train.Trace) error {
			n++
			text := tr.Text()
			for _, s := range tr.Spans {
				spans++
				for _, secret := range r.Secrets {
					if world.Digest(secret.Value) == s.Secret && s.Whole && s.Encoding == world.Raw && text[s.Start:s.End] != secret.Value {
						t.Errorf("%s: %q is not the secret", tr.ID, text[s.Start:s.End])
					}
				}
			}
			return nil
		})
		if err != nil || n != 12*len(world.Agents) || spans == 0 {
			t.Fatalf("%d traces, %d spans: %v", n, spans, err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if a, b := export(), export(); string(a) != string(b) {
		t.Error("the same seed gives other bytes")
	}
	if _, err := ExportTraces(t.Context(), TraceOptions{Dir: t.TempDir(), Repository: "elsewhere"}); err == nil {
		t.Error("an unknown repository")
	}
}
