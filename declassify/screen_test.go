package declassify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/flow"
)

// trusting finds nothing private in sentences that do not say "secretly".
type trusting struct {
	asked []string
	err   error
	wild  bool
}

func (s *trusting) Doubt() flow.Bits { return bit / 20 }
func (s *trusting) Clear(_ context.Context, text string) ([]span.Place, error) {
	s.asked = append(s.asked, text)
	if s.wild {
		return []span.Place{{Start: -3, End: len(text) + 9}}, nil
	}
	var out []span.Place
	at := 0
	for one := range strings.SplitAfterSeq(text, ".") {
		if !strings.Contains(one, "secretly") {
			out = append(out, span.Place{Start: at, End: at + len(one)})
		}
		at += len(one)
	}
	return out, s.err
}

// TestScreened: text passes by a model's judgement where the rubrics say so, and is
// charged with its error to an account of its own.
func TestScreened(t *testing.T) {
	w := travel()
	w.residual, w.limits.Screened = false, 60*bit
	model := &trusting{}
	v := verifier(t, w, func(c *declassify.Config) { c.Screener = model })
	// A text costs a tenth, by the rubrics, of 256 bits.
	for i, c := range []struct {
		tool      schema.Tool
		note, out string
		doubt     flow.Bits
	}{
		{broker(), "The build is green. I am secretly ill.", "The build is green.[REDACTED]", 25_600_000},
		{broker(), "Call +49-1555-1234. She moved, secretly. All is well, +49-1555-1234.", "Call +49.[REDACTED] All is well, +49.", 51_200_000},
		{stranger(), "The build is green.", "[REDACTED]", 51_200_000},
		{broker(), "One more.", "[REDACTED]", 51_200_000}, // there is no room
		{airline(), "One more for the airline.", "[REDACTED]", 51_200_000},
	} {
		r := release(t, v, candidate("T1", c.tool, "note", c.note))
		if sent(&r) != c.out || r.Entry.Doubt != c.doubt {
			t.Errorf("%d: sent %q with %v, want %q with %v (%v)", i, sent(&r), r.Entry.Doubt, c.out, c.doubt, r.Reasons)
		}
		if full := i > 2; full != hasRule(&r, rule.Doubt) {
			t.Errorf("%d: %v", i, r.Reasons)
		}
		if r.Entry.Caps[flow.SemiTrusted] > 3*bit {
			t.Errorf("%d: the class is charged %v", i, r.Entry.Caps)
		}
	}
	if want := "Call [private]. She moved, secretly. All is well, [private]."; !slices.Contains(model.asked, want) {
		t.Errorf("the model reads %q, want %q", model.asked, want)
	}
}

// TestScreenedFails: a model that fails, or says what can't be, lets nothing pass; nor
// does one where no rubric asks for it.
func TestScreenedFails(t *testing.T) {
	for name, c := range map[string]struct {
		model *trusting
		cap   flow.Bits
	}{"error": {&trusting{err: errors.New("no")}, 60 * bit}, "places": {&trusting{wild: true}, 60 * bit}, "rubric": {&trusting{}, 0}} {
		w := travel()
		w.residual, w.limits.Screened = false, c.cap
		v := verifier(t, w, func(cfg *declassify.Config) { cfg.Screener = c.model })
		r := release(t, v, candidate("T1", broker(), "note", "The build is green."))
		if sent(&r) != "[REDACTED]" || r.Entry.Screened != 0 {
			t.Errorf("%s: sent %q, %v", name, sent(&r), r.Entry.Screened)
		}
	}
}

// FuzzScreened: whatever places a model names, what is withheld stays withheld.
func FuzzScreened(f *testing.F) {
	f.Add("call +49-1555-1234 or +1-555-1234, now", []byte{0, 40})
	f.Add("é+49-1555-1234é", []byte{1, 5, 7, 12})
	f.Add("call +9-1555-1231-555-1234, or 12+9-1555-1231, no", []byte{0, 60})
	f.Fuzz(func(t *testing.T, text string, at []byte) {
		w := travel()
		w.residual, w.limits.Screened = false, 1000*bit
		v := verifier(t, w, func(c *declassify.Config) { c.Screener = places(at) })
		r, err := v.Release(context.Background(), candidate("T1", broker(), "note", text))
		if err != nil || !r.Released() {
			return
		}
		for _, m := range w.fields["phone"].re.FindAllString(sent(&r), -1) {
			t.Fatalf("%q passed by %v of %q", m, at, text)
		}
	})
}

// places are those that bytes name.
type places []byte

func (p places) Doubt() flow.Bits { return bit / 10 }
func (p places) Clear(_ context.Context, text string) ([]span.Place, error) {
	var out []span.Place
	for i := 0; i+1 < len(p); i += 2 {
		out = append(out, span.Place{Start: int(p[i]), End: min(int(p[i+1]), len(text))})
	}
	return out, nil
}
