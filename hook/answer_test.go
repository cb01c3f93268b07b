package hook

import (
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/stream/cut"
)

// Every form is of a known outcome and event, and is strict JSON with and
// without the values that may be missing.
func TestForms(t *testing.T) {
	for _, h := range harnesses {
		for key, form := range h.answers {
			o, name, _ := strings.Cut(key, " ")
			if !slices.Contains([]outcome{allow, note, edit, ask, block}, outcome(o)) {
				t.Errorf("%s: unknown outcome in %q", h.name, key)
			}
			if _, ok := h.events[name]; name != "" && !ok {
				t.Errorf("%s: unknown event in %q", h.name, key)
			}
			for _, event := range []string{`{}`, `{"action":"a\"b"}`} {
				for _, tool := range []string{"x", h.servers + "x"} {
					in := &input{harness: h, name: name, tool: tool}
					if err := in.doc.Parse([]byte(event), strictjson.Limits{}); err != nil {
						t.Fatal(err)
					}
					d := decision{reason: "a \"reason\"\n", value: cut.Own([]byte(`{"a":"b"}`))}
					values := []*cut.Released{d.value, nil}
					if o == string(edit) {
						values = values[:1]
					}
					for _, d.value = range values {
						out := in.fill(form, &d).Out.Bytes()
						var doc strictjson.Doc
						if err := doc.Parse(out, strictjson.Limits{}); form != "" && err != nil {
							t.Errorf("%s, %s: %s: %v", h.name, key, out, err)
						}
						if strings.Contains(string(out), "$") {
							t.Errorf("%s, %s: %s", h.name, key, out)
						}
					}
				}
			}
		}
	}
}
