package differ

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// texts have findings of every kind, in plain and in disguise.
var texts = []string{
	"",
	"The review went on until the evening, and nobody objected.",
	"DB_PASSWORD=k4Qz!mfp9Lw and the token is ghp_q7Zt4mWc9LxB2nVk8RfD3hJs6YpG1aQe09Xz.",
	"see https://app:hunter2hunter2@host.example/x?y=9b1f03c7a2e45d68b7c01f29d3e45a61&z=1 (again)",
	"q7Zt 4mWc 9LxB 2nVk 8RfD 3hJs 6YpG 1aQe, and lotus-41; 71 65 82 116 52 109 87 99 57 76 120 66 50 110",
	"cTdadDRtV2M5THhCMm5WazhSZkQzaEpzNllwRzFhUWU= then %71%37%5A%74%34%6D%57%63%39%4C%78%42%32%6E%56%6B%38%52%66%44%33%68%4A%73%36",
	"-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEAq7Zt4mWc9LxB2nVk8RfD3hJs6YpG1aQe09XzMIIEpAIB\n", 9) + "-----END RSA PRIVATE KEY-----\nthat was it",
	"mail jane.doe@harbor.example or call +49 30 901820; card 4242 4242 4242 4242, id f81d4fae-7dec-41d0-a765-00a0c91e6bf6 from 203.0.113.77",
	"#!kX4$rv92Lm%&qP0z {[<!+?>]}==~^$%!! hbr_k4xq9mfp2lwz Vn5xQ2kT8wLr4MzB7cHp Ws3dGm8uKq1yNb6fXe0z " + strings.Repeat("Long4And7Winding-", 40) + "End9",
	"velvet lantern cobalt harbor tangerine walnut, nearly: lantern cobalt harbor tangerine; 9b1f03c7a2e45d68b7c0",
	"a token=" + strings.Repeat("x9Qv", 1500) + " ends",
}

func pairs(t testing.TB) map[string]*Pair {
	t.Helper()
	rules, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*Pair{}
	for _, m := range Modes(rules) {
		if out[m.Name], err = m.Config.Pair(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestAgree: both engines find the same, under every split, in every mode.
func TestAgree(t *testing.T) {
	found := map[string]int{}
	for name, p := range pairs(t) {
		var h Holds
		for i, s := range texts {
			text := p.Read([]byte(s), stream.Finding{Start: 20, End: 25, Rule: stream.RuleRisk, Kind: "risk", Name: "red", Risk: 0.5})
			for _, f := range text.Found() {
				found[f.Rule]++
			}
			step := max(1, len(s)/60)
			for at := 0; at <= len(s); at += step {
				if d := text.Under([]int{at}); d != nil {
					t.Fatalf("text %d, %s: %v", i, name, d)
				}
			}
			for _, size := range []int{1, 3, 16, 700} {
				if d := text.Holds(every(len(s), size), &h); d != nil {
					t.Fatalf("text %d, %s, in pieces of %d: %v", i, name, size, d)
				}
			}
		}
		if err := h.Check(); err != nil || h.Product.N() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, rule := range []string{stream.RuleVault, stream.RuleRisk, "named-password", "github-pat", "url-password", recognise.PrivateKeyID, "email", "card", "harbor-pass"} {
		if found[rule] == 0 {
			t.Errorf("nothing of %s is found, so nothing of it is compared: %v", rule, found)
		}
	}
}

func every(n, size int) (cuts []int) {
	for at := size; at < n; at += size {
		cuts = append(cuts, at)
	}
	return cuts
}

// TestSeesDifferences: engines that look for other things do not agree, and what is
// said about it has none of the text.
func TestSeesDifferences(t *testing.T) {
	rules, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	const text = "password: k4Qz!mfp9Lw and q7Zt4mWc9LxB2nVk8RfD3hJs6YpG1aQe, jane.doe@harbor.example"
	all := func() *Pair {
		p, err := (&Config{Rules: rules, Vaults: [][]Known{Ten()}}).Pair()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for what, change := range map[string]func(*stream.Config){
		"findings": func(c *stream.Config) { c.Vaults = nil },
		"edits": func(c *stream.Config) {
			c.Replace = func(dst []byte, _ *stream.Finding, _ []byte) []byte { return dst }
		},
	} {
		p := all()
		c := *p.product
		change(&c)
		p.product = &c
		d := p.Read([]byte(text)).Under(nil)
		if d == nil || d.What != what {
			t.Fatalf("%s: %v", what, d)
		}
		for _, word := range strings.Fields(text) {
			if len(word) > 8 && strings.Contains(d.Error(), word) {
				t.Errorf("%v has %q", d, word)
			}
		}
	}
	for _, r := range []*reading{{broken: "x"}, {out: []byte("abd")}} {
		if d := (&reading{out: []byte("abc")}).compare(r, nil); d == nil {
			t.Errorf("%+v is like the reference", r)
		}
	}
}

// TestComparesAllOfAFinding: no exported field is left out.
func TestComparesAllOfAFinding(t *testing.T) {
	f := stream.Finding{
		Start: 1, End: 2, Kind: "k", Rule: "r", Class: 1, Source: "s", ID: "i", Name: "n", View: "v",
		Fingerprint: secret.Fingerprint{1}, Action: "a", Capped: true, Fragment: true, Risk: 0.5,
	}
	got := reflect.ValueOf(public(&f))
	for i := range got.NumField() {
		if name := got.Type().Field(i); name.IsExported() && got.Field(i).IsZero() {
			t.Errorf("%s is not compared", name.Name)
		}
	}
}

// TestQuantile: holds are counted.
func TestQuantile(t *testing.T) {
	var c Counts
	c.add([]int{0, 0, 0, 5, 9})
	for q, want := range map[float64]int{0.5: 0, 0.6: 0, 0.7: 5, 0.99: 9, 1: 9} {
		if got := c.Quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := fmt.Sprint(c.Mean()); got != "2.8" {
		t.Error(got)
	}
	var h, o Holds
	h.Product.add([]int{1, 20})
	o.Product.add([]int{7})
	h.Merge(&o)
	if h.Product.N() != 3 || h.Product.Quantile(0.5) != 7 || h.Check() != nil {
		t.Errorf("%+v", h)
	}
	h.Product.add(slices.Repeat([]int{20}, judged))
	if h.Check() == nil {
		t.Error("more is held, after enough writes to tell")
	}
}

// TestShrink: what is left of a text still differs, and no byte of it is needless.
func TestShrink(t *testing.T) {
	text := []byte(strings.Repeat("x", 90) + "ab" + strings.Repeat("y", 60))
	got, cuts := Shrink(text, []int{3, 50, 91, 92, 120}, func(s []byte, cuts []int) bool {
		for _, c := range cuts {
			if strings.HasSuffix(string(s[:c]), "a") && strings.HasPrefix(string(s[c:]), "b") {
				return true
			}
		}
		return false
	})
	if string(got) != "ab" || len(cuts) != 1 || cuts[0] != 1 {
		t.Errorf("%q cut at %v", got, cuts)
	}
}
