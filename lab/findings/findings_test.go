package findings

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/secret/recognise"
)

// record has a tool's result, and a call that writes a part of it elsewhere.
func record(t *testing.T, result, written string) *recorded {
	t.Helper()
	args, err := json.Marshal(map[string]string{"content": "see " + written})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{ID: "s"}
	line, err := json.Marshal(map[string]any{"id": "s", "messages": []map[string]any{
		{"role": "tool", "tool": "Read", "text": result},
		{"role": "assistant", "text": "It says " + written, "calls": []map[string]any{{"name": "Write", "args": json.RawMessage(args)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// A finding in a result is followed into the call that it refuses, and counts as
// false until somebody judges it. The listing has no value.
func TestPlay(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	value := "tangerine_" + "harbor7x"
	var judged map[string]string
	for _, c := range []struct {
		name, result, written string
		judge                 bool
		harmed, falsely       int
	}{
		{"a finding", "MAIL_PASSWORD=" + value + "\n", value, false, 1, 1},
		{"a true one", "MAIL_PASSWORD=" + value + "\n", value, true, 1, 0},
		{"another part", "MAIL_PASSWORD=" + value + "\nok\n", "ok", false, 0, 0},
		{"nothing", "all is well\n", "all", false, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var found []*Finding
			p, err := newPlayer(t.Context(), rules, nil, "set", record(t, c.result, c.written), func(f *Finding) { found = append(found, f) })
			if err != nil {
				t.Fatal(err)
			}
			if c.judge {
				p.judged = judged
			}
			if err := p.play(t.Context()); err != nil {
				t.Fatal(err)
			}
			n := counts{rules: map[string]*tally{}}
			if n.add(p); n.harmed != c.harmed || n.falsely != c.falsely || n.deny != c.harmed {
				t.Errorf("%d calls altered or denied, %d denied, %d by a false finding", n.harmed, n.deny, n.falsely)
			}
			for _, f := range found {
				if b, _ := json.Marshal(f); strings.Contains(string(b), value) {
					t.Errorf("the listing has the value: %s", b)
				}
				judged = map[string]string{f.Key + " " + f.Rule: "true"}
			}
		})
	}
}

func TestJudgements(t *testing.T) {
	if _, err := judgements(judgedFile); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"a b", "a b maybe", "a b true c"} {
		if _, err := judgements(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestRecorded: in recorded sessions no call is altered or denied because of what
// is no secret, and hardly anything else is.
func TestRecorded(t *testing.T) {
	r, err := Run(t.Context(), Options{Data: filepath.Dir(testkit.Data(t, Files[0]))})
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"coding-dev", "toolemu-dev"} {
		m := r.Row("margay", "set="+set).Metrics
		if m["calls_harmed_by_false"] > 0 || m["false_per_100_sessions"] > 1 || m["sessions"] < 100 || m["calls"] < 100 {
			t.Errorf("%s: %v", set, m)
		}
	}
}
