package yamldoc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/yamldoc"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["version", "name"],
  "properties": {
    "version": {"const": 1},
    "name": {"$ref": "#/$defs/name"},
    "list": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/item"}},
    "by": {"type": "object", "propertyNames": {"$ref": "#/$defs/name"}, "additionalProperties": {"type": "integer", "minimum": 1}},
    "either": {"oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": false, "properties": {"is": {"$ref": "#/$defs/name"}}}]}
  },
  "$defs": {
    "name": {"type": "string", "pattern": "^[a-z]+$"},
    "item": {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {"name": {"$ref": "#/$defs/name"}, "list": {"type": "array", "items": {"$ref": "#/$defs/item"}}}}
  }
}`

func load(text string) error {
	d, err := yamldoc.Read("x.yaml", []byte(text), 1000, "a thing", 1)
	if err != nil {
		return err
	}
	return d.Check(yamldoc.NewSchema([]byte(schema)))
}

func TestMistakesHavePositions(t *testing.T) {
	const ok = "version: 1\nname: a\n"
	for _, good := range []string{ok, ok + "list: [{name: a, list: [{name: b}]}]\n", ok + "by: {a: 1, b: 2}\n", ok + "either: x\n", ok + "either: {is: x}\n", `{"version": 1, "name": "a"}`} {
		if err := load(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"name: [", "x.yaml:1:7: "},
		{"", "x.yaml: a thing is one YAML document"},
		{ok + "---\n" + ok, "x.yaml: a thing is one YAML document"},
		{"version: 1\nname: &x a\n", "x.yaml:2:7: anchors"},
		{"version: 1\nname: !!str a\n", "x.yaml:2:7: anchors"},
		{ok + "name: b\n", "x.yaml:3:1: "},
		{"version: 2\nname: a\n", "x.yaml:1:10: version: the format version is unknown: it is 2"},
		{"version: {a: 1}\nname: a\n", "x.yaml:1:11: version: the format version is unknown"},
		{"version: 1\n", `x.yaml:1:1: required: missing properties: ["name"]`},
		{"version: 1\nname: A\n", "x.yaml:2:7: name: pattern: "},
		{ok + "other: 1\n", "x.yaml:3:8: other: unknown key; known keys are by, either, list, name, version"},
		{ok + "list:\n  - name: a\n  - name: b\n    list:\n      - nam: c\n", "x.yaml:7:14: list.1.list.0.nam: unknown key; known keys are list, name"},
		{ok + "list: [{name: a}, {name: 5}]\n", `x.yaml:3:26: list.1.name: type: 5 has type "integer", want "string"`},
		{ok + "list: [{name: a}, {name: b}, {name: c}, {name: d}]\n", "x.yaml:3:7: list: maxItems: "},
		{ok + "by:\n  a: 1\n  B: 1\n", "x.yaml:5:6: by.B: pattern: "},
		{ok + "by:\n  a: 1\n  b: 0\n", "x.yaml:5:6: by.b: minimum: "},
		{ok + "either: {is: X}\n", "x.yaml:3:14: either.is: pattern: "},
		{ok + "either: 5\n", "x.yaml:3:9: either: it needs one of these types: string, object"},
		{ok + strings.Repeat("# long\n", 200), "x.yaml: a thing has at most 1000 bytes"},
	} {
		err := load(c.text)
		var e *yamldoc.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n%v, want\n%s", c.text, err, c.want)
		}
	}
	if err := load("version: 2\nname: a\n"); !errors.Is(err, yamldoc.ErrVersion) {
		t.Errorf("%v is not an ErrVersion", err)
	}
}

func TestWhere(t *testing.T) {
	why := errors.New("why")
	d, err := yamldoc.Read("x.yaml", []byte("a:\n  - b: 1\n    c: 2\n"), 100, "a thing", 1)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Place(yamldoc.Where(yamldoc.Where(why, "c"), "a", "0"))
	if !errors.Is(err, why) || err.Error() != "x.yaml:3:8: a.0.c: why" {
		t.Errorf("%v", err)
	}
	if err := d.Place(yamldoc.Where(nil, "a")); err != nil {
		t.Errorf("nothing is %v", err)
	}
	if err := yamldoc.FromJSON("y", []byte(`{"name":"a","version":1,"x":2}`)).Check(yamldoc.NewSchema([]byte(schema))); err == nil || err.Error() != "y: x: unknown key; known keys are by, either, list, name, version" {
		t.Errorf("without positions: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("version: 1\nname: a\nlist: [{name: b}]\n")
	f.Add("by: {a: 1}\neither: {is: X}\n? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		err := load(text)
		var e *yamldoc.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%v has no position", err)
		}
	})
}
