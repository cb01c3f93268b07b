package document

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

func at(t interface{ Fatal(...any) }, s string) Path {
	p, err := ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestYAMLRefuses: what a dumper does not write is not read.
func TestYAMLRefuses(t *testing.T) {
	for _, s := range []string{
		"", "a: b\na: c", "a: &x b", "a: *x", "a: !!str b", "a: b # c", "# c\na: b", "a: [b, c]", "a: {b: c}", "a: b: c", "a: 'b", "a: b\n c: d",
		"a: b\n  c: d", "- a\nb: c", "a: b\n- c", "\ta: b", "a:\n\tb: c", "a: \"b\" c", "? a\n: b", "<<: x", "a: |2\n  b", "a: 'b\nc'", "a: b\r\nc: d",
		"a: b\n---\nc: d", "a: @b", "a: %b", "a: - b", "- - : b", "a: b\n...\nc: d", "a: 'x\n\nfrom: me'",
	} {
		if tr, ok := readYAML(s); ok && tr.Nodes[0].Kind != Text {
			t.Errorf("%q is read as %v", s, tr.Nodes)
		}
	}
	for _, s := range []string{"a: b", "- a\n- b", "a:\n- b\n- c: d\n  e: f\ng: |-\n  h: i\n\n  j\nk: >\n  l\nm: n", "a: []\nb: {}\nc:\nd: ''", "---\na: b\n", "a\n...", "a@b.c: r\n'x y': \"z\\n\\\n  w\""} {
		if tr, ok := readYAML(s); !ok {
			t.Errorf("%q is not read", s)
		} else {
			checkTree(t, tr)
		}
	}
}

// checkTree holds a document to its form: values stand in order and inside
// their containers.
func checkTree(t interface{ Fatalf(string, ...any) }, tr *Tree) {
	end := 0
	for i, n := range tr.Nodes {
		if n.Next <= i || n.Next > len(tr.Nodes) || n.Start > n.End || n.End > len(tr.Text) || n.KeyStart > n.KeyEnd || n.KeyEnd > n.Start && n.KeyEnd != 0 {
			t.Fatalf("node %d of %q: %+v", i, tr.Text, n)
		}
		if n.Parent >= 0 {
			if q := tr.Nodes[n.Parent]; n.Start < q.Start || n.End > q.End || i >= q.Next {
				t.Fatalf("node %d of %q is outside its container: %+v in %+v", i, tr.Text, n, q)
			}
		}
		if n.KeyEnd > 0 && n.KeyStart < end {
			t.Fatalf("node %d of %q overlaps", i, tr.Text)
		}
		if tr.Leaf(i) {
			if n.Start < end {
				t.Fatalf("node %d of %q overlaps", i, tr.Text)
			}
			end = n.End
		}
	}
}

// TestYAMLIsOneReading: whatever a text says, what a dumper writes of a record
// with it is read as that record, or not at all.
func TestYAMLIsOneReading(t *testing.T) {
	nasty := rapid.SampledFrom([]string{"\n", "\n  ", "from: ", "'", "\"", "- ", ": ", " #", "|", ">", "\\", "...", "---", "\t", "{", "&a", "\u2028", "x", "word "})
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(nasty, 0, 8), func(p []string) string { return strings.Join(p, "") }))
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		var recs []map[string]any
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			recs = append(recs, map[string]any{"body": text.Draw(t, "body"), "from": "bob@x.example", "to": []string{text.Draw(t, "to"), "a"}, "zzz": text.Draw(t, "last")})
		}
		for _, opts := range [][]yaml.EncodeOption{nil, {yaml.UseSingleQuote(true)}, {yaml.UseLiteralStyleIfMultiline(true)}, {yaml.IndentSequence(true)}} {
			b, err := yaml.MarshalWithOptions(recs, opts...)
			if err != nil {
				continue
			}
			tr, ok := readYAML(string(b))
			if !ok {
				continue
			}
			read++
			checkTree(t, tr)
			var back []map[string]any
			if yaml.Unmarshal(b, &back) != nil || len(back) != len(recs) {
				continue // the dumper's own mistake
			}
			n := 0
			tr.Walk(at(t, "[*].from"), 0, nil, func(i, _ int) {
				n++
				if tr.Nodes[i].Value != "bob@x.example" {
					t.Fatalf("another from in %q", b)
				}
			})
			keys := 0
			for _, d := range tr.Nodes {
				if d.KeyEnd > 0 {
					keys++
				}
			}
			if n != len(recs) || keys != 4*len(recs) {
				t.Fatalf("%d of %d records and %d keys are read in %q", n, len(recs), keys, b)
			}
		}
	})
	if read == 0 {
		t.Error("nothing was read")
	}
}

// TestPythonRefuses: what str() does not write is not read.
func TestPythonRefuses(t *testing.T) {
	for _, bad := range []string{"{'a': datetime(1)}", "{'a': 1, 'a': 2}", "{a: 1}", "['a' 'b']", "{'a': 1", "['a\nb']", "1 2", `['\N{DASH}']`, "{'a'}"} {
		if _, ok := readPython(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestPath(t *testing.T) {
	for _, s := range []string{"$", "a", "a.b[0].c[*].*", "[*].x", `["odd name"].y`, "*", "a.~"} {
		p, err := ParsePath(s)
		if err != nil || p.String() != s {
			t.Errorf("%q is read as %q, %v", s, p.String(), err)
		}
	}
	for _, s := range []string{"", "a..b", "a.", "a[", "a[x]", "a[-1]", "[*]x", "a b", `[""]`, strings.Repeat("a.", 20) + "a"} {
		if _, err := ParsePath(s); !errors.Is(err, ErrPath) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	line, err := NewLine(`(?P<key>[a-z]+): (?P<value>.*)`)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{`[{"a":"b","c":[1,null,true,{}]}]`, "- from: a@b.example\n  body: |-\n    do it\n  to:\n  - x", "[{'from': 'a@b.example', 'n': (1, None)}]", "key: value\nother"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, format := range []Format{FormatJSON, FormatYAML, FormatPython, FormatLines, FormatText} {
			if tr, ok := Read(format, s, []Line{line}); ok {
				checkTree(t, tr)
			}
		}
		tr := Arguments(s)
		if tr == nil {
			return
		}
		// The canonical form is one of the same call.
		once, ok := Canonical(s, nil)
		again, ok2 := Canonical(string(once), nil)
		if !ok || !ok2 || string(once) != string(again) || len(Arguments(string(once)).Nodes) != len(tr.Nodes) {
			t.Errorf("%q is %q, and then %q", s, once, again)
		}
	})
}
