package scenario

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/margaydev/margay/e2e/upstream"
)

func named(t *testing.T, name string) *Scenario {
	t.Helper()
	for _, s := range All() {
		if s.Name == name {
			return &s
		}
	}
	t.Fatalf("no scenario is called %s", name)
	return nil
}

// answered is what a library gives for a text, and what the upstream got.
func answered(prompt, text string) (*Result, []upstream.Exchange) {
	r := &Result{
		Choices: []Choice{{Text: text, Finish: "stop"}}, Usage: upstream.Usage,
		Dump: []string{`{"text":` + quote(text) + `,"x_vendor":` + upstream.Vendor + `}`},
	}
	return r, []upstream.Exchange{{Header: http.Header{}, Body: []byte(`{"messages":[{"role":"user","content":` + quote(prompt) + `}]}`)}}
}

func quote(s string) string {
	return `"` + strings.NewReplacer("\\", `\\`, "\"", `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

const (
	nameA = "margay-api-key-abcdefghij2345"
	nameB = "margay-token-klmnopqrst6722"
)

func TestJudgePrompt(t *testing.T) {
	s, secrets := named(t, "chat"), NewSecrets()
	put := func(known, unknown, again string) string {
		return strings.NewReplacer("{unknown}", unknown).Replace(strings.Replace(strings.Replace(asked, "{known}", known, 1), "{known}", again, 1))
	}
	for name, c := range map[string]struct {
		prompt   string
		mediated bool
		ok       bool
	}{
		"pseudonyms":                    {put(nameA, nameB, nameA), true, true},
		"the secrets themselves":        {secrets.fill(asked), true, false},
		"two names for one secret":      {put(nameA, nameB, nameB), true, false},
		"one name for two secrets":      {put(nameA, nameA, nameA), true, false},
		"the text around it is another": {put(nameA, nameB, nameA) + " ", true, false},
		"direct":                        {secrets.fill(asked), false, true},
		"direct, nothing leaks":         {put(nameA, nameB, nameA), false, false},
	} {
		r, got := answered(c.prompt, prose)
		if v := s.Judge(secrets, c.mediated, r, got, ""); (len(v.Problems) == 0) != c.ok {
			t.Errorf("%s: %d problems: %q", name, len(v.Problems), v.Problems)
		}
	}
}

func TestJudgeAnswer(t *testing.T) {
	s, secrets := named(t, "chat-leak"), NewSecrets()
	said := s.texts[0]
	redacted := strings.NewReplacer("{known}", "[REDACTED:api-key]", "{unknown}", "[REDACTED:token]").Replace(said)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"redacted":      {redacted, true},
		"as it was":     {secrets.fill(said), false},
		"partly":        {strings.Replace(redacted, "[REDACTED:token]", secrets.Unknown[:9]+"[REDACTED:token]", 1), false},
		"one character": {strings.Replace(redacted, "[REDACTED:token]", secrets.Unknown[:1]+"[REDACTED:token]", 1), false},
		"text is lost":  {strings.Replace(redacted, "Again: ", "", 1), false},
	} {
		r, got := answered("What are the keys?", c.text)
		if v := s.Judge(secrets, true, r, got, ""); (len(v.Problems) == 0) != c.ok {
			t.Errorf("%s: %d problems: %q", name, len(v.Problems), v.Problems)
		}
	}
	r, got := answered("What are the keys?", redacted)
	r.Dump[0] = strings.Replace(r.Dump[0], "x-7/1", "x-7/2", 1)
	if v := s.Judge(secrets, true, r, got, ""); len(v.Problems) == 0 {
		t.Error("a changed unknown field is not noticed")
	}
	r, got = answered("What are the keys?", redacted)
	r.Dump = append(r.Dump, `{"p":[{"t":"`+secrets.Known[:5]+`"},{"t":"`+secrets.Known[5:10]+`"}],"x_vendor":`+upstream.Vendor+`}`)
	if v := s.Judge(secrets, true, r, got, ""); !v.Leaked {
		t.Error("a secret in pieces is not noticed")
	}
}

func TestStrings(t *testing.T) {
	got := Strings([]byte(`[{"c":[{"index":0,"d":"ab"},{"index":1,"d":"xy"}]},{"c":[{"index":1,"d":"z"},{"index":0,"d":"c"}]}]`))
	if want := []string{"abc", "xyz"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
