package mediator_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
)

// A password that the model made up passes: nothing of it stands in what it was
// shown. One that stands there, in whatever disguise and under whatever name, does
// not, and neither does any where the model is shown what Margay can't read.
func TestMadeUpValuesPass(t *testing.T) {
	const made, format = "Xk9vQ4tR7wZ1", "ghp_jYLaw1kjKq0v8JP5jwkmbn2hwT9yqJFaOO1J"
	text := "DB_PASSWORD=" + made + "\n"
	ask := func(texts ...string) *mediator.Prompt {
		p := &mediator.Prompt{Conversation: true, Closed: func() bool { return true }}
		for i, s := range texts {
			p.Texts = append(p.Texts, flow.Text{ID: i, Text: s, Field: flow.FieldContent, Role: flow.RoleUser, Path: func() string { return "messages[0].content[0].text" }})
			p.Turns = append(p.Turns, flow.Turn{Role: flow.RoleUser, Parts: []int{i}})
		}
		return p
	}
	with := func(change func(*mediator.Prompt)) *mediator.Prompt {
		p := ask("Make me a password.")
		change(p)
		return p
	}
	at := func(path string) *mediator.Prompt {
		return with(func(p *mediator.Prompt) { p.Texts[0].Path = func() string { return path } })
	}
	for name, c := range map[string]struct {
		prompt *mediator.Prompt
		text   string
		passes bool
	}{
		"made up":              {ask("Make me a password.", "Quickly."), text, true},
		"made up, of a format": {ask("Make me a token."), "GITHUB_TOKEN=" + format, false},
		"read":                 {ask("note: " + made), text, false},
		"read in capitals":     {ask("note: " + strings.ToUpper(made)), text, false},
		"read a part":          {ask("note: " + made[:8] + "!"), text, false},
		"read in base64":       {ask("note: " + base64.StdEncoding.EncodeToString([]byte(made))), text, false},
		"said in base64":       {ask("note: " + made), "DB_PASSWORD=" + base64.StdEncoding.EncodeToString([]byte(made)) + "\n", false},
		"kept by the server":   {with(func(p *mediator.Prompt) { p.Elsewhere = true }), text, false},
		"a summary":            {with(func(p *mediator.Prompt) { p.Turns[0].Kept = true }), text, false},
		"a document":           {with(func(p *mediator.Prompt) { p.Turns[0].Foreign = true }), text, false},
		"a search":             {with(func(p *mediator.Prompt) { p.Tools = []flow.OfferedTool{{Name: "web_search", Server: true}} }), text, false},
		"a function":           {with(func(p *mediator.Prompt) { p.Tools = []flow.OfferedTool{{Name: "f"}} }), text, true},
		"a picture":            {with(func(p *mediator.Prompt) { p.Texts[0].Opaque = "image" }), text, false},
		"a picture's address":  {at("messages[0].content[1].image_url.url"), text, false},
		"a file":               {at("input[0].content[2].file_id"), text, false},
		"an unknown member":    {at("messages[1].content[1]{}"), text, false},
		"a string":             {at("messages[0].content"), text, true},
		"a number":             {with(func(p *mediator.Prompt) { p.Raw = []byte(`{"const":48213377}`) }), "DB_PIN=48213377\n", false},
		"another number":       {with(func(p *mediator.Prompt) { p.Raw = []byte(`{"const":11111111}`) }), "DB_PIN=48213377\n", true},
		"open":                 {with(func(p *mediator.Prompt) { p.Closed = func() bool { return false } }), text, false},
		"not known":            {with(func(p *mediator.Prompt) { p.Closed = nil }), text, false},
		"escaped":              {ask("note: " + made), "DB_PASSWORD=&#88;k9vQ4tR7wZ1\n", false},
		"an assistant's image": {with(func(p *mediator.Prompt) {
			p.Texts[0].Role, p.Texts[0].Path = flow.RoleAssistant, func() string { return "messages[0].images[0].image_url.url" }
		}), text, false},
		"a picture's name": {with(func(p *mediator.Prompt) {
			p.Texts[0].Role, p.Texts[0].Path = flow.RoleAssistant, func() string { return "messages[0].content[0].input_image.url" }
		}), text, false},
		"a call's name": {with(func(p *mediator.Prompt) {
			p.Texts[0].Role, p.Texts[0].Path = flow.RoleAssistant, func() string { return "messages[0].content[0].input.deep{}" }
		}), text, true},
		"no conversation": {with(func(p *mediator.Prompt) { p.Conversation = false }), text, false},
	} {
		e, _ := engine(t, nil)
		s := session(t, e, nil)
		if s.Prompt(t.Context(), c.prompt).Denied() {
			t.Errorf("%s: denied", name)
			continue
		}
		key := flow.StreamKey{Field: flow.FieldContent}
		a := play(s, []source{{key, c.text}}, rand.New(rand.NewPCG(1, 2)))
		if a.err != nil || (a.text[key] == c.text) != c.passes {
			t.Errorf("%s: %v %q", name, a.err, a.text[key])
		}
		turn := session(t, e, nil).Prompt(t.Context(), c.prompt)
		_, whole, err := turn.Whole(t.Context(), &answer.Whole{Texts: []flow.Text{{Text: c.text, Field: flow.FieldContent, Path: func() string { return "content" }}}}, nil, nil)
		if edited := len(whole.Edits) > 0; err != nil || edited == c.passes {
			t.Errorf("%s, whole: %v %v", name, err, whole.Edits)
		}
	}
}
