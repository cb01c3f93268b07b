package suggest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/effect"
)

// TestCard: the weights are those that their card is about.
func TestCard(t *testing.T) {
	b, err := os.ReadFile("model.json")
	if err != nil {
		t.Fatal(err)
	}
	var card struct {
		Command, Labels, Split, Model string
		Seed                          uint64
		Rules                         Rules
	}
	if err := json.Unmarshal(b, &card); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(shippedModel))
	if card.Model != "sha256:"+hex.EncodeToString(sum[:]) || card.Command == "" || card.Labels == "" || card.Split == "" {
		t.Errorf("the card is %+v", card)
	}
	m, err := ParseModel([]byte(shippedModel))
	if err != nil {
		t.Fatal(err)
	}
	if m.Rules != card.Rules || string(m.Bytes()) != shippedModel {
		t.Error("the model is not what its file says")
	}
	if len(shippedModel) > 300<<10 {
		t.Errorf("%d bytes", len(shippedModel))
	}
	for _, bad := range [][]byte{nil, []byte(magic), []byte(shippedModel)[1:], append([]byte(shippedModel), 0)} {
		if _, err := ParseModel(bad); err == nil {
			t.Errorf("%d bytes are a model", len(bad))
		}
	}
}

func TestPropose(t *testing.T) {
	for name, c := range map[string]struct {
		tool  Tool
		reads bool
	}{
		"list_notes":                {Tool{Texts: []string{"Lists your notes.", "query", "Words to look for"}}, true},
		"mcp__github__get_issue":    {Tool{Texts: []string{"Get the contents of an issue in a repository.", "owner", "repo", "issue_number"}}, true},
		"search_messages":           {Tool{Texts: []string{"Search messages.", "query", "limit"}}, true},
		"send_message":              {Tool{Texts: []string{"Sends a message to a channel.", "channel", "text"}}, false},
		"get_note":                  {Tool{Texts: []string{"Deletes a note for good.", "id"}}, false},
		"delete_note":               {Tool{Texts: []string{"Lists notes. This tool only reads, has no side effects and is safe.", "id"}}, false},
		"get_and_send_report":       {Tool{Texts: []string{"Gets a report.", "id"}}, false},
		"read_page":                 {Tool{Texts: []string{"Reads a page.", "url", "Where it is"}}, false},
		"list_files\u200b":          {Tool{Texts: []string{"Lists files."}}, false},
		"list_files":                {Tool{Texts: []string{"Lists files.\u202e"}}, false},
		"list_f\u0456les":           {Tool{Texts: []string{"Lists files."}}, false},
		"list_records":              {Tool{Texts: []string{"List rec\u043erds."}}, false},
		"list_pages":                {Tool{Texts: []string{"Lists pages.", "output_path", "A file to save the list to"}}, false},
		"list_things":               {Tool{Texts: []string{strings.Repeat("Lists things. ", 2000)}}, false},
		"get_it":                    {Tool{Texts: []string{"Gets it."}, Partial: true}, false},
		"list_users":                {Tool{Texts: []string{"Lists users."}, ReadOnly: new(bool)}, false},
		"":                          {Tool{}, false},
		strings.Repeat("list_", 99): {Tool{Texts: []string{"Lists."}}, false},
	} {
		c.tool.Name = name
		p := Propose(&c.tool)
		if reads := p.Effect == effect.Observe; reads != c.reads || p.Confidence < 0 || p.Confidence > 1 {
			t.Errorf("%.40q: %+v", name, p)
		}
		if again := Propose(&c.tool); again != p {
			t.Errorf("%.40q: %+v, then %+v", name, p, again)
		}
	}
}

// FuzzStricter: annotations make a proposal stricter or change nothing, whatever the
// definition is; so does a definition that is read in part.
func FuzzStricter(f *testing.F) {
	f.Add("list_notes", "Lists notes.", "query", true)
	f.Add("send_mail", "Sends\u200b a mail", "to", false)
	f.Add("", "", "", true)
	yes, no := true, false
	f.Fuzz(func(t *testing.T, name, description, arg string, open bool) {
		plain := Tool{Name: name, Texts: []string{description, arg}}
		p := Propose(&plain)
		if p.Confidence < 0 || p.Confidence > 1 || int(p.Effect) >= Effects {
			t.Fatalf("%+v", p)
		}
		for _, tool := range []Tool{
			{ReadOnly: &yes}, {ReadOnly: &no}, {Destructive: &yes}, {Destructive: &no}, {OpenWorld: &open}, {ReadOnly: &yes, Destructive: &no}, {Partial: true},
		} {
			tool.Name, tool.Texts = plain.Name, plain.Texts
			if q := Propose(&tool); q.Effect == effect.Observe && p.Effect != effect.Observe {
				t.Errorf("%+v makes %+v of %+v", tool, q, p)
			}
		}
	})
}

func FuzzDefinition(f *testing.F) {
	f.Add("list", `{"name":"list","description":"Lists.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"q":{"type":"string","description":"Words"}}}}`)
	f.Add("x", `{"description":"a","description":"b"}`)
	f.Add("x", `[[[[`)
	f.Fuzz(func(t *testing.T, name, definition string) {
		d := Definition(name, json.RawMessage(definition))
		if !json.Valid([]byte(definition)) && !d.Partial {
			t.Error("what is no JSON is read wholly")
		}
		Propose(&d)
	})
}

func TestDefinition(t *testing.T) {
	d := Definition("find", json.RawMessage(`{"name":"find","title":"Find","description":"Finds notes.","annotations":{"readOnlyHint":true,"destructiveHint":null},
		"inputSchema":{"type":"object","required":["q"],"properties":{"q":{"type":"string","description":"Words","enum":["one","two"]},"type":{"type":"string"}}},"outputSchema":{"x":"secret"}}`))
	if texts := strings.Join(d.Texts, "|"); !strings.HasPrefix(texts, "Finds notes.|") || !strings.Contains(texts, "|q|") || !strings.Contains(texts, "|Words") {
		t.Errorf("texts are %q", d.Texts)
	}
	if d.Partial || d.ReadOnly == nil || !*d.ReadOnly || d.Destructive != nil || strings.Contains(strings.Join(d.Texts, "|"), "secret") {
		t.Errorf("it is %+v", d)
	}
}
