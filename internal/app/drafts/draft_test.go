package drafts

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/pack"
)

// folded is a name in one case: an object with names that differ by case alone is no
// list of tools.
func folded(s string) string { return strings.ToLower(strings.ToUpper(s)) }

// A draft of whatever a server says loads and lints, holds its tools to what is
// proposed, and has no line of the server's.
func TestDraft(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\nb", "\u2028- x", "\u0085y", "\u202e", "#", "{}", "'\"", "\r\n  - name: x", "send_mail"}))
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]effect.Effect{}
		list := []any{}
		for i := range rapid.IntRange(1, 4).Draw(t, "tools") {
			properties := map[string]any{}
			for _, a := range rapid.SliceOfNDistinct(text, 0, 4, folded).Draw(t, "args") {
				properties[a] = map[string]any{"description": text.Draw(t, "what")}
			}
			name := fmt.Sprintf("tool_%d", i)
			want[name] = rapid.SampledFrom(effect.All()).Draw(t, "effect")
			list = append(list, map[string]any{"name": name, "description": text.Draw(t, "description"), "inputSchema": map[string]any{"properties": properties}, "annotations": map[string]any{text.Draw(t, "claim") + "Hint": true}})
		}
		b, err := json.Marshal(map[string]any{"tools": list})
		if err != nil {
			t.Fatal(err)
		}
		tools, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		why := text.Draw(t, "why")
		out, err := Draft(tools, Options{Server: text.Draw(t, "server"), Source: text.Draw(t, "source") + " here", Suggest: func(name string, _ json.RawMessage) (effect.Effect, bool, string) { return want[name], false, why }})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		p, err := pack.Load("draft", out)
		if err != nil || len(p.Tools) != len(list) {
			t.Fatal(err)
		}
		for i := range p.Tools {
			if rules := p.Tools[i].Rules; len(rules) != 1 || *rules[0].Spec.Effect != want[p.Tools[i].Name] {
				t.Errorf("%s: %+v", p.Tools[i].Name, rules)
			}
		}
		if strings.ContainsAny(string(out), "\u2028\u2029\u0085\u202e\r") {
			t.Errorf("hidden characters are in the draft:\n%q", out)
		}
	})
}

// What a server claims loosens nothing, and what nobody suggests reaches out.
func TestCautious(t *testing.T) {
	tools, err := Parse([]byte(`[{"name":"get","annotations":{"readOnlyHint":true}}]`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Draft(tools, Options{Server: "x", Source: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Load("draft", out)
	if err != nil || *p.Tools[0].Rules[0].Spec.Effect != effect.Reach || !p.Tools[0].Rules[0].Spec.Strangers {
		t.Errorf("%v\n%s", err, out)
	}
}

// A draft of an OpenAPI document loads and lints. Each operation reaches out, whatever
// its method claims, and no text of the document's is a line of its own.
func TestOperations(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\nb", "\u2028- x", "\u0085y", "\u202e", "#", "{}", "'\"", "\r\n  - name: x", "https://x.example"}))
	rapid.Check(t, func(t *rapid.T) {
		paths := map[string]any{}
		for i := range rapid.IntRange(1, 4).Draw(t, "operations") {
			operation := map[string]any{
				"operationId": fmt.Sprintf("op%d%s", i, strings.ReplaceAll(text.Draw(t, "id"), "x", "")), "summary": text.Draw(t, "summary"), "servers": []any{map[string]any{"url": text.Draw(t, "server")}},
				"parameters":  []any{map[string]any{"name": text.Draw(t, "parameter"), "in": "query"}},
				"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"properties": map[string]any{text.Draw(t, "property"): map[string]any{}}}}}},
				"responses":   map[string]any{"200": map[string]any{"content": map[string]any{text.Draw(t, "form"): map[string]any{"schema": map[string]any{"properties": map[string]any{text.Draw(t, "field"): map[string]any{"type": "integer"}}}}}}},
			}
			paths[fmt.Sprintf("/%d%s", i, text.Draw(t, "path"))] = map[string]any{rapid.SampledFrom([]string{"get", "post", "delete"}).Draw(t, "method"): operation}
		}
		b, err := json.Marshal(map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": text.Draw(t, "title")}, "paths": paths})
		if err != nil {
			t.Fatal(err)
		}
		title, tools, err := Operations("x", b)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Draft(tools, Options{Server: Slug(title), Source: "a test", Suggest: Proposed})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		p, err := pack.Load("draft", out)
		if err != nil || len(p.Tools) != len(paths) || len(pack.Lint(p)) > 0 {
			t.Fatal(err)
		}
		for i := range p.Tools {
			if rules := p.Tools[i].Rules; len(rules) != 1 || *rules[0].Spec.Effect != effect.Reach || !rules[0].Spec.Strangers {
				t.Errorf("%s: %+v", p.Tools[i].Name, rules)
			}
		}
		for l := range strings.Lines(string(out)) {
			if strings.ContainsAny(l, "\u2028\u2029\u0085\u202e\r") || strings.HasPrefix(l, "  - name: x") {
				t.Errorf("a line of the document's is in the draft: %q", l)
			}
		}
	})
	if _, _, err := Operations("x", []byte(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"`+strings.Repeat("x", maxName+1)+`"}}}}`)); err == nil {
		t.Error("a name of any length")
	}
}

func TestParse(t *testing.T) {
	for name, bad := range map[string]string{
		"nothing": ``, "text": `"x"`, "no list": `{"x":[]}`, "twice": `{"tools":[],"tools":[]}`, "no name": `[{"description":"x"}]`,
		"long name": `[{"name":"` + strings.Repeat("x", 129) + `"}]`, "odd": `[{"name":7}]`, "tools of another kind": `{"tools":{}}`,
	} {
		if tools, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s: %v", name, tools)
		}
	}
	twice := []Tool{{Name: "x", Definition: []byte("{}")}, {Name: "x", Definition: []byte("{}")}}
	for name, tools := range map[string][]Tool{"none": nil, "many": make([]Tool, maxTools+1), "one name": twice, "an odd name": {{Name: "a b\n"}}} {
		if _, err := Draft(tools, Options{Server: "x", Source: "a test"}); err == nil {
			t.Errorf("%s: a draft", name)
		}
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{"notes": "notes", "My Tools": "my-tools", "7x": "server-7x", "": "server", "--": "server", "é": "server", strings.Repeat("a", 60): strings.Repeat("a", 48)} {
		if got := Slug(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Whatever a server lists, a draft is refused, or loads with each of its tools.
func FuzzDraft(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"get","description":"Reads.","inputSchema":{"properties":{"id":{},"url":{}}},"annotations":{"readOnlyHint":true}}]}`))
	f.Add([]byte(`[{"name":"a\u200b","description":"x\u2028y"}]`))
	f.Add([]byte(`{"result":{"tools":[{"name":"a","inputSchema":{"properties":{"A":{},"a":{}}}}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tools, err := Parse(b)
		if err != nil {
			return
		}
		out, err := Draft(tools, Options{Server: string(b), Source: "a test"})
		if err != nil {
			return
		}
		p, err := pack.Load("draft", out)
		if err != nil || len(p.Tools) != len(tools) {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}
