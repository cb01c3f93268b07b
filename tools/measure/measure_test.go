package measure

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCodeLines(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      int
	}{
		{"comments and blanks", "// Package p.\npackage p\n\n/* a\nblock */\nvar x = 1 // one\n", 2},
		{"code beside a block comment", "package p\n/* a */ var x = 1 /* b\n*/\n", 2},
		{"a comment in a string", "package p\nvar s = `\n// not a comment\n\n/* nor this\n`\n", 5},
		{"slashes in a string", "package p\nvar s = \"// s\"\n", 2},
		{"statements on one line", "package p\nfunc f() { g(); g() }\nfunc g() {\n}\n", 4},
		{"no newline at the end", "package p\nvar x = 1", 2},
		{"two raw strings that share a line", "package p\nvar s = `a\nb` + `c\nd`\n", 4},
	} {
		got, err := CodeLines([]byte(c.src))
		if err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.name, got, err, c.want)
		}
	}
	if _, err := CodeLines([]byte("package p\nvar s = `")); err == nil {
		t.Error("a string that does not end is counted")
	}
}

// leastOf tries every order.
func leastOf(w [][]int) int {
	order := make([]int, len(w))
	for i := range order {
		order[i] = i
	}
	least := back(w, order)
	var permute func(int)
	permute = func(k int) {
		if k == len(order) {
			least = min(least, back(w, order))
			return
		}
		for i := k; i < len(order); i++ {
			order[k], order[i] = order[i], order[k]
			permute(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	permute(0)
	return least
}

func TestFewestBackIsLeast(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		n := 1 + r.IntN(7)
		w := make([][]int, n)
		for i := range w {
			w[i] = make([]int, n)
			for j := range w[i] {
				if i != j && r.IntN(3) > 0 {
					w[i][j] = r.IntN(9)
				}
			}
		}
		want := leastOf(w)
		order, exact := fewestBack(w)
		if got := back(w, order); !exact || got != want {
			t.Fatalf("%v: order %v has %d back, the least is %d", w, order, got, want)
		}
		if got := back(w, orderBySearch(w)); got < want || got > want+want/10+1 {
			t.Fatalf("%v: the search ends at %d back, the least is %d", w, got, want)
		}
	}
}

// A circle of more than ten files uses both halves of the tables.
func TestOrderExactlyOfMany(t *testing.T) {
	const n = 14
	w := make([][]int, n)
	for i := range w {
		w[i] = make([]int, n)
		w[i][(i+1)%n] = 5
	}
	w[n-1][0] = 2
	if got := back(w, orderExactly(w)); got != 2 {
		t.Errorf("%d back, want 2", got)
	}
}

func TestArrowsOf(t *testing.T) {
	l := &Loader{Fset: token.NewFileSet(), importer: importer.Default()}
	c := &Checked{Path: "p"}
	for name, src := range map[string]string{
		"top.go":    "package p\nfunc top() { middle(); new(s).do(); _ = new(s).field }\n",   // middle, s twice, do
		"middle.go": "package p\nfunc middle() { var x s; x.do(); local := 1; _ = local }\n", // s, do
		"bottom.go": "package p\ntype s struct { field int }\nfunc (s) do() { top() }\n",     // back: top
	} {
		f, err := parser.ParseFile(l.Fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		c.Files = append(c.Files, f)
	}
	slices.SortFunc(c.Files, func(a, b *ast.File) int { return int(a.Package - b.Package) })
	if err := l.Resolve(c); err != nil {
		t.Fatal(err)
	}
	a := l.ArrowsOf(c)
	if a.Total != 7 || a.Back != 1 || !slices.Equal(a.Order, []string{"top.go", "middle.go", "bottom.go"}) {
		t.Errorf("%+v", a)
	}
}
