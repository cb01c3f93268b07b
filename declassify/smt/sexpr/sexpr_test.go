package sexpr_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify/smt/sexpr"
)

// written is an expression with single spaces.
func written(e sexpr.Expr) string {
	if e.Word != "" {
		return e.Word
	}
	var all []string
	for _, x := range e.List {
		all = append(all, written(x))
	}
	return "(" + strings.Join(all, " ") + ")"
}

func TestReadList(t *testing.T) {
	for in, want := range map[string]string{
		"()": "()", " ( c1\n c22 ) \r\n": "(c1 c22)", "((k0 true)(k1 false))": "((k0 true) (k1 false))", "((f1 a2) A!val!0)": "((f1 a2) A!val!0)",
		strings.Repeat("(", 17) + strings.Repeat(")", 17): strings.Repeat("(", 17) + strings.Repeat(")", 17),
	} {
		list, err := sexpr.ReadList([]byte(in))
		e := sexpr.Expr{List: list}
		if err != nil || written(e) != want {
			t.Errorf("%q is read as %s, %v", in, written(e), err)
		}
	}
	for _, in := range []string{"", " ", "a", "(", ")", "(a", "(a))", "() ()", `("a")`, "(|a|)", "(a;b)", "(é)", strings.Repeat("(", 18) + strings.Repeat(")", 18)} {
		if _, err := sexpr.ReadList([]byte(in)); err == nil {
			t.Errorf("%q is read", in)
		}
	}
}

func TestReadValues(t *testing.T) {
	got, err := sexpr.ReadValues([]byte("((a 1) (b (- 2)))"), []string{"a", "b"})
	if err != nil || got[0].Word != "1" || written(got[1]) != "(- 2)" {
		t.Errorf("%v, %v", got, err)
	}
	for _, in := range []string{
		"", "()", "((a 1))", "((a 1) (b 2) (c 3))", "((a 1) b)", "((a 1) (b 2 3))", "((a 1) (b))", "((b 2) (a 1))", "((a 1) ((b) 2))", "((a 1) (c 2))",
	} {
		if _, err := sexpr.ReadValues([]byte(in), []string{"a", "b"}); err == nil {
			t.Errorf("%q has values of a and b", in)
		}
	}
}

func TestRat(t *testing.T) {
	for in, want := range map[string]*big.Rat{
		"0": big.NewRat(0, 1), "1.50": big.NewRat(3, 2), "(- 2.0)": big.NewRat(-2, 1), "(/ 1.0 3.0)": big.NewRat(1, 3), "(- (/ 1 4))": big.NewRat(-1, 4), "(/ (- 1) 4)": big.NewRat(-1, 4),
	} {
		list, err := sexpr.ReadList([]byte("(" + in + ")"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := list[0].Rat(); err != nil || got.Cmp(want) != 0 {
			t.Errorf("%s is %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"a", "1.", ".5", "-1", "1e9", "1/2", "1.2.3", "()", "(-)", "(- 1 2)", "(/ 1)", "(/ 1 0)", "(+ 1 2)", "(- a)", "(/ 1 2 3)", strings.Repeat("1", 4097), "(- (- (- (- (- (- 1))))))"} {
		list, err := sexpr.ReadList([]byte("(" + in + ")"))
		if err != nil {
			t.Fatal(in, err)
		}
		if got, err := list[0].Rat(); err == nil {
			t.Errorf("%s is %v", in, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("((true true) (k0 false) ((f1 a2) (- (/ 1.0 3.0))))"))
	f.Fuzz(func(t *testing.T, in []byte) {
		list, err := sexpr.ReadList(in)
		if err != nil {
			return
		}
		e := sexpr.Expr{List: list}
		again, err := sexpr.ReadList([]byte(written(e)))
		back := sexpr.Expr{List: again}
		if err != nil || written(back) != written(e) {
			t.Fatalf("%q is read again as %q, %v", written(e), written(back), err)
		}
		for i := range list {
			_, _ = list[i].Rat()
		}
	})
}
