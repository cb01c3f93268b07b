package body

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

func edit(t *testing.T, raw string) *Editor {
	t.Helper()
	e, ok := Edit([]byte(raw))
	if !ok {
		t.Fatalf("no JSON: %s", raw)
	}
	return e
}

func TestEditor(t *testing.T) {
	const raw = ` {"a": [1, {"b":"c"} ,3 ],"d":{ },"e":"f"} `
	for name, c := range map[string]struct {
		do   func(e *Editor, d *strictjson.Doc)
		want string
	}{
		"nothing":   {func(*Editor, *strictjson.Doc) {}, raw},
		"a value":   {func(e *Editor, d *strictjson.Doc) { e.PutString(d.Find(0, "e"), "7") }, ` {"a": [1, {"b":"c"} ,3 ],"d":{ },"e":7} `},
		"the first": {func(e *Editor, d *strictjson.Doc) { e.PutString(d.Find(0, "e"), "7"); e.PutString(d.Find(0, "e"), "8") }, ` {"a": [1, {"b":"c"} ,3 ],"d":{ },"e":7} `},
		"the outer": {func(e *Editor, d *strictjson.Doc) {
			e.PutString(d.Find(3, "b"), "7")
			e.PutString(d.Find(0, "a"), "[]")
		}, ` {"a": [],"d":{ },"e":"f"} `},
		"more elements": {func(e *Editor, d *strictjson.Doc) { e.Extend(d.Find(0, "a"), []byte("4,5")) }, ` {"a": [1, {"b":"c"} ,3 ,4,5],"d":{ },"e":"f"} `},
		"first members": {func(e *Editor, d *strictjson.Doc) { e.Extend(d.Find(0, "d"), []byte(`"x":1`)) }, ` {"a": [1, {"b":"c"} ,3 ],"d":{ "x":1},"e":"f"} `},
		"some stay": {func(e *Editor, d *strictjson.Doc) {
			e.Keep(d.Find(0, "a"), func(c int) bool { return d.Nodes[c].Index > 0 })
		}, ` {"a": [{"b":"c"},3],"d":{ },"e":"f"} `},
		"none stays": {func(e *Editor, d *strictjson.Doc) { e.Keep(d.Find(0, "a"), func(int) bool { return false }) }, ` {"a": [],"d":{ },"e":"f"} `},
		"inside, gone": {func(e *Editor, d *strictjson.Doc) {
			e.PutString(d.Find(3, "b"), "7")
			e.Keep(d.Find(0, "a"), func(c int) bool { return d.Nodes[c].Index != 1 })
		}, ` {"a": [1,3],"d":{ },"e":"f"} `},
		"text as it was": {func(e *Editor, d *strictjson.Doc) {
			e.PutText(d.Find(0, "d"), []byte(`{"y":2}`), wire.Limits{}, "null")
		}, ` {"a": [1, {"b":"c"} ,3 ],"d":{"y":2},"e":"f"} `},
		"JSON no more": {func(e *Editor, d *strictjson.Doc) { e.PutText(d.Find(0, "d"), []byte(`{"y":`), wire.Limits{}, "null") }, ` {"a": [1, {"b":"c"} ,3 ],"d":null,"e":"f"} `},
		"a string":     {func(e *Editor, d *strictjson.Doc) { e.PutText(d.Find(0, "e"), []byte(`{"y":`), wire.Limits{}, "null") }, ` {"a": [1, {"b":"c"} ,3 ],"d":{ },"e":"{\"y\":"} `},
	} {
		e := edit(t, raw)
		c.do(e, e.Doc)
		if got := string(e.Bytes()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := string(e.Value(0)); got != strings.TrimSpace(c.want) {
			t.Errorf("%s: the value is %s", name, got)
		}
	}
}

// Edits of any parts give a document that reads as they say, and in which
// nothing else changed. A value with its edits is what the document has there.
func TestEditsOfParts(t *testing.T) {
	raw := []byte(`{"model":"m","a\u0062cd":["one", {"two":"\u0032"} , ["three"]],"four":{"five":"5","six":null, "seven":[]},"8":"eight"}`)
	v := Table{Lists: map[string]string{"keys": "model four"}}.New()
	read := func(raw []byte) *Document {
		d := &Document{Vocabulary: v}
		if err := d.Doc.ParseObject(raw, wire.Limits{}); err != nil {
			t.Fatal(err)
		}
		d.Walk(0, Outside)
		return d
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		d := read(raw)
		edits := map[int]string{}
		for _, p := range d.Parts() {
			if rng.IntN(2) == 0 {
				edits[p.ID] = []string{"", "x", "a \"longer\" text\n", "ü"}[rng.IntN(4)]
			}
		}
		e := d.Edit(edits)
		out := e.Bytes()
		again := read(out)
		for i, p := range d.Parts() {
			want := p
			if text, ok := edits[i]; ok && !p.Fixed {
				want.Text = text
			}
			if got := again.Parts()[i]; got != want {
				t.Fatalf("part %d is %+v, want %+v", i, got, want)
			}
		}
		for i := range d.Doc.Nodes {
			if !bytes.Equal(e.Value(i), again.Doc.Value(i)) {
				t.Fatalf("value %d is %s, not %s", i, e.Value(i), again.Doc.Value(i))
			}
		}
	}
}

// A table's lists are what they say, and all else is text.
func TestVocabulary(t *testing.T) {
	v := Table{
		Lists:  Lists("typed:\n  type\n# a comment\nwords:\n  word\n  other\nids:\n  id\nkeys:\n  type\nvectors:\n  vector\ncontent:\n  text\n"),
		IsID:   func(raw []byte) bool { return IsName(raw, 8) },
		Sealed: func(d *strictjson.Doc, n int) bool { return d.KeyIs(n, "seal") },
		Opaque: func(d *strictjson.Doc, n int) string { return map[bool]string{true: "image"}[d.KeyIs(n, "image")] },
	}.New()
	vector := strings.Repeat("AAAA", 80)
	raw := `{"type":"word","typo":"word","id":"a_1","long":{"id":"a longer one"},"seal":"x","image":"y","vector":"` + vector + `","text":"t","model":"a/b"}`
	for server, names := range map[bool]string{false: "", true: "a_1 x a/b"} {
		d := Document{Vocabulary: v, Server: server}
		if err := d.Doc.ParseObject([]byte(raw), wire.Limits{}); err != nil {
			t.Fatal(err)
		}
		d.Walk(0, Outside)
		texts := map[string]bool{}
		for _, p := range d.Parts() {
			if !p.Key {
				texts[p.Text+p.Opaque] = true
			}
			if p.Text == "t" && p.Field != flow.FieldContent {
				t.Error("the text has no field")
			}
		}
		for text, is := range map[string]bool{
			"t": true, "image": true, "a longer one": true, "a_1": !server, "a/b": !server, vector: !server, "x": false,
		} {
			if texts[text] != is {
				t.Errorf("server %v: %.20q is a text: %v", server, text, texts[text])
			}
		}
		if !texts["word"] {
			t.Error("a word in a member that has none is no text")
		}
		if got := strings.Join(d.Names(), " "); got != names {
			t.Errorf("server %v: names are %q", server, got)
		}
	}
}
