package printed

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

func parse(t *testing.T, text string) *syntax.Stmt {
	t.Helper()
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return f.Stmts[0]
}

// TestDocument: only a here-document that nothing is expanded in is known.
func TestDocument(t *testing.T) {
	for text, want := range map[string]string{
		"x $(cat <<'E'\na\nb\nE\n)": "a\nb", "x $(cat <<E\na\nE\n)": "a",
		"x $(cat <<E\n$a\nE\n)": "-", "x $(cat <<-'E'\n\ta\nE\n)": "-", "x $(cat 3<<'E'\na\nE\n)": "-", "x $(tac <<'E'\na\nE\n)": "-", "x $(cat f <<'E'\na\nE\n)": "-", "x $(A=1 cat <<'E'\na\nE\n)": "-", "x $(cat <<'E' > f\na\nE\n)": "-", "x $(ls)": "-",
	} {
		p := parse(t, text).Cmd.(*syntax.CallExpr).Args[1].Parts[0].(*syntax.CmdSubst)
		got, ok := Document(p)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestNothing: which commands print nothing.
func TestNothing(t *testing.T) {
	for text, want := range map[string]bool{"> f": true, ": > f": true, "true > f": true, "true x > f": false, "echo > f": false, "X=1 > f": true} {
		if got := Nothing(parse(t, text).Cmd); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestText: what printing commands print.
func TestText(t *testing.T) {
	for _, c := range []struct {
		program, words, read string
		here                 bool
		want                 string
	}{
		{"echo", "rm -rf src", "", false, "rm -rf src"}, {"printf", `a\nb`, "", false, "a\nb"}, {"cat", "", "x", true, "x"}, {"cat", "", "", false, "-"}, {"cat", "f", "x", true, "-"}, {"ls", "", "x", true, "-"},
	} {
		got, ok := Text(c.program, strings.Fields(c.words), c.read, c.here)
		if !ok {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.program, c.words, got, c.want)
		}
	}
}
