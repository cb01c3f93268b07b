package declassify_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/flow"
)

// FuzzRelease: whatever the evidence and the text are, the verifier does not
// panic, stays within the limits, and lets nothing out that a predicate
// matches, as the rubrics of the sink admit none of it as it is.
func FuzzRelease(f *testing.F) {
	w := travel()
	var given []byte
	v := verifier(f, w, func(cfg *declassify.Config) {
		cfg.Defender = defender(func(ctx context.Context, r *declassify.Request) ([]byte, error) {
			if given == nil {
				return labeller{}.Evidence(ctx, r)
			}
			ev, err := evidence.Parse(given)
			if err != nil {
				return given, nil
			}
			ev.Context = r.Context // as if it had been made for this release
			if h, err := r.Variant(ev.Atoms, ev.Operators); err == nil {
				ev.Variant = h
			}
			return ev.Marshal()
		})
	})
	const context = `"context":{"action":"","channel":"","sink":"","class":"","rubrics":[],"prev":""}`
	label := func(part, start, end, field, nec string) string {
		return `{"part":` + part + `,"start":` + start + `,"end":` + end + `,"role":"text","field":"` + field + `","relation":"none","necessity":"` + nec + `","clause":"","provenance":"model"}`
	}
	for _, atoms := range [][2]string{
		{"", ""},
		{label("0", "0", "10", "dob", "useful"), `{"atom":0,"op":"identity"}`},
		{label("1", "0", "5", "none", "unnecessary") + "," + label("1", "5", "15", "dob", "useful"), `{"atom":0,"op":"identity"},{"atom":1,"op":"generalize","level":2}`},
		{label("1", "8", "12", "phone", "useful"), `{"atom":0,"op":"identity"}`},
	} {
		f.Add([]byte(`{"version":1,`+context+`,"atoms":[`+atoms[0]+`],"operators":[`+atoms[1]+`],"variant":""}`), "born 1990-05-17, +1-555-1234 Ada Lovelace sk-abcdefgh1234")
	}
	f.Add([]byte("0"), "Ada Lo Ada Lo0")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		given = raw
		c := candidate("T1", broker(), "passengers.0.dob", "1990-05-17", "note", text, "from", text, "other", text)
		r, err := v.Release(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Released() {
			if r.Parts() != nil || len(r.Reasons) == 0 {
				t.Fatalf("a denial with parts or without reasons: %v", r.Reasons)
			}
			return
		}
		l := w.limits
		if r.Entry.Total > l.B || r.Entry.Caps[1] > l.Cap[1] || r.Entry.Caps[2] > l.Cap[2] || r.Entry.Caps[3] > l.Cap[3] {
			t.Fatalf("limits are exceeded: %+v", r.Entry)
		}
		for i, p := range c.Parts {
			// What no predicate matches may repeat what one does, as a part of
			// another word.
			found := w.Match(p.Path, p.Text)
			rest := []byte(p.Text)
			for _, m := range found {
				clear(rest[m.Start:m.End])
			}
			for _, m := range found {
				value := p.Text[m.Start:m.End]
				if strings.Count(r.Parts()[i].Text, value) > bytes.Count(rest, []byte(value)) {
					t.Fatalf("part %d: %q of %q is in %q", i, value, p.Text, r.Parts()[i].Text)
				}
			}
		}
		if r.Outcome == flow.Allow && len(w.Match("", text)) > 0 {
			t.Fatal("nothing was changed")
		}
	})
}
