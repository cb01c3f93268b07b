package tagger_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/store/memory"
)

// What the library's rubrics let pass as residual text is redacted where the
// network sees something private, also if it is of no field that a rubric has.
func TestRelease(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := library.Rubric("messaging-scheduling")
	must(err)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}})
	_, err = reg.Add("messaging-scheduling", rubric.Sign(r, key))
	must(err)
	m, err := tagger.Default()
	must(err)
	query := func(d declassify.Defender, text string) string {
		store := memory.New()
		book, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
		must(err)
		_, err = book.KeepRubric(t.Context(), r.Canonical())
		must(err)
		v, err := declassify.New(declassify.Config{
			Resolve: func(q rubric.Query) (declassify.Rules, error) { return reg.Resolve(q) },
			Ledger:  book, History: store, Defender: d, Challenges: 4, Key: [32]byte{1},
		})
		must(err)
		rel, parts, err := v.Try(t.Context(), declassify.Candidate{
			Trajectory: "t", Decision: "d",
			Tool: schema.Tool{
				Name: "search", Action: "messaging-scheduling", Sink: "search", Class: flow.SemiTrusted, Channel: flow.ChannelTool,
				Args: []schema.Arg{{Path: "query", Free: true}},
			},
			Parts: []declassify.Part{{Path: "query", Text: text}},
		})
		must(err)
		if len(parts) != 1 {
			t.Fatalf("%q: %+v", text, rel)
		}
		return parts[0].Text
	}
	const private = "My sister is going through a divorce and was arrested for drunk driving"
	if got := query(rules.Defender{}, private); got != private {
		t.Fatalf("the rubric's clauses alone make %q of it: the test tests nothing", got)
	}
	if got := query(tagger.New(m), private); strings.Contains(got, "divorce") || strings.Contains(got, "arrested") || !strings.Contains(got, "[REDACTED]") {
		t.Errorf("%q is released as %q", private, got)
	}
	const plain = "Is there a room for ten people on the second floor?"
	if got := query(tagger.New(m), plain); got != plain {
		t.Errorf("%q is released as %q", plain, got)
	}
}
