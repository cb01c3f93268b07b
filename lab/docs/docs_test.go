package docs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/lab/results"
)

func some() map[string]*results.Result {
	r := &results.Result{Suite: "vectors", N: 6368, Seed: 1, Source: "here", Environment: results.Environment{Go: "go1.26", CPU: "X", Cores: 2}}
	r.Add("margay", "encoding=raw,known=yes", map[string]float64{"recall": 1, "ns": 1234567.6})
	r.Add("margay", "encoding=raw,known=no", map[string]float64{"recall": 0.99921})
	r.Add("margay", "encoding=hex,known=yes", map[string]float64{"recall": 0.5})
	r.Add("margay", "encoding=hex,known=no", map[string]float64{"recall": 0.25})
	r.Rows[1].CI = map[string][2]float64{"recall": {0.99, 1}}
	return map[string]*results.Result{"vectors": r}
}

func TestFigures(t *testing.T) {
	const raw = "vectors margay encoding=raw,known=no recall "
	for spec, want := range map[string]string{
		raw + ".4": "0.9992", raw + "%2": "99.92 %", raw + ">=0.97": "yes", raw + "<=0.97": "**no**", raw + ">=0.9993": "**no**", raw + "[.2": "0.99 to 1.00",
		"vectors margay encoding=raw,known=yes ns ,": "1,234,568", "vectors n": "6,368", "vectors environment": "X, 2 cores, go1.26",
	} {
		in := "so **<!--= " + spec + " -->old 1.2<!--/-->** it is"
		got, err := Fill(in, some())
		if want := "so **<!--= " + spec + " -->" + want + "<!--/-->** it is"; err != nil || got != want {
			t.Errorf("%s: %q, %v", spec, got, err)
		}
	}
}

func TestTables(t *testing.T) {
	const head = "<!--table vectors margay encoding=*,known=yes recall|registered .1 encoding=*,known=no:recall|recall,_unknown .2 ns , -->\n"
	got, err := Fill("a\n\n"+head+"| old |\n<!--/-->\nb\n", some())
	want := "a\n\n" + head + "| encoding | registered | recall, unknown | ns |\n|---|---:|---:|---:|\n| raw | 1.0 | 1.00 | 1,234,568 |\n| hex | 0.5 | 0.25 |  |\n<!--/-->\nb\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	got, err = Fill("<!--table vectors * encoding=raw,known=* recall .1 -->\n<!--/-->", some())
	if err != nil || !strings.Contains(got, "| defence | known | recall |\n") || !strings.Contains(got, "| margay | no | 1.0 |") {
		t.Errorf("got %q, %v", got, err)
	}
}

// What is missing or misspelt is an error, not a blank.
func TestMistakes(t *testing.T) {
	for _, text := range []string{
		"<!--= other n -->1<!--/-->", "<!--= vectors m -->1<!--/-->", "<!--= vectors margay none recall .1 -->1<!--/-->",
		"<!--= vectors margay encoding=raw,known=no fpr .1 -->1<!--/-->", "<!--= vectors margay encoding=raw,known=no recall 1 -->1<!--/-->",
		"<!--= vectors margay encoding=raw,known=yes recall [.1 -->1<!--/-->", "<!--= vectors n -->6368", "<!--= vectors n -->\n<!--= vectors n --><!--/-->",
		"<!--table vectors margay none recall .1 -->\n<!--/-->", "<!--table vectors margay encoding=*,known=no ns , -->\n<!--/-->",
		"<!--table vectors margay encoding=*,known=no recall -->\n<!--/-->", "<!--table vectors margay encoding=*,known=no recall .1 -->\n| no end |\n",
		"<!--= vectors margay encoding=raw,known=no recall >=x -->1<!--/-->",
	} {
		if got, err := Fill(text, some()); err == nil {
			t.Errorf("%q: no error, but %q", text, got)
		}
	}
}

// A second time changes nothing, whatever else the document says.
func TestIdempotent(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		"words ", "\n", "**<!--= vectors n -->0<!--/-->**", "<!--= vectors margay encoding=raw,known=no recall >=0.97 -->?<!--/-->",
		"\n<!--table vectors margay encoding=*,known=no recall .1 -->\n<!--/-->\n", "<!-- a comment -->", "| a | b |",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(parts).Draw(t, "parts"), "")
		once, err := Fill(text, some())
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := Fill(once, some()); err != nil || twice != once {
			t.Fatalf("again: %q, %v", twice, err)
		}
	})
}

func TestThousands(t *testing.T) {
	for in, want := range map[string]string{"0": "0", "999": "999", "1000": "1,000", "-1234567": "-1,234,567"} {
		if got := thousands(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
