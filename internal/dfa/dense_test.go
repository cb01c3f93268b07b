package dfa_test

import (
	"math/rand/v2"
	"regexp/syntax"
	"testing"

	"github.com/margaydev/margay/internal/dfa"
)

// A table says what the automaton's states do, and gives up where it is full.
func TestDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, expr := range expressions {
		prog, _, _ := compile(t, expr)
		for _, rows := range []int{0, 1, 3, 1000} {
			d := dfa.New(prog, dfa.Bytes, dfa.Config{All: true, MaxSize: 1 << 14})
			table := dfa.NewDense(d, rows, nil)
			full := 0
			for range 50 {
				s := d.Start(dfa.Nothing)
				row := table.Row(s)
				for _, b := range []byte(text(rng, 20)) {
					s = d.Step(s, b)
					var n dfa.Next
					if row != 0 {
						n = table.Step(row, b)
					}
					if row = n.Row(); row == 0 {
						full++
						break
					}
					if n.Dead() != s.Dead() || n.Matched() != s.Matched() || n.Entered() != s.Entered() || !table.State(row).Same(s) {
						t.Fatalf("%s: the table is elsewhere than the automaton", expr)
					}
					if again := table.Known(table.Row(s), b); again != 0 && again != table.Step(row, b) && table.Row(s) != row {
						t.Fatalf("%s: two rows of one state", expr)
					}
				}
			}
			if rows == 0 && full < 30 || rows == 1000 && full > 0 {
				t.Errorf("%s: %d of 50 texts met a full table of %d", expr, full, rows)
			}
		}
	}
}

// Where matches begin at words, a step says whether one begins, and leads to it if none
// goes on.
func TestDenseAtWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	begun, both := 0, 0
	for _, expr := range expressions {
		prog, _, _ := compile(t, expr)
		d := dfa.New(prog, dfa.Bytes, dfa.Config{All: true, MaxSize: 1 << 14})
		var first [256]bool
		for b := range first {
			for before := dfa.Nothing; before <= dfa.Other; before++ {
				first[b] = first[b] || !d.Step(d.Start(before), byte(b)).Dead()
			}
		}
		table := dfa.NewDense(d, 1000, &first)
		for range 50 {
			before, row := dfa.Other, table.Idle(dfa.Other)
			var s *dfa.State // of the match under way
			for _, b := range []byte(text(rng, 20)) {
				if row == 0 {
					break // whatever comes, something matches
				}
				fresh := d.Step(d.Start(before), b)
				begins := first[b] && (before != dfa.Word || dfa.After(rune(b)) != dfa.Word) && !fresh.Dead()
				if s != nil {
					s = d.Step(s, b)
				}
				n := table.Step(row, b)
				if n == 0 && begins && fresh.Matched() {
					break
				}
				matched, dead := s != nil && s.Matched(), s == nil || s.Dead()
				if n&dfa.IsCalm == 0 != matched || n.Dead() != dead {
					t.Fatalf("%s: %b at %q, want matched: %t, dead: %t", expr, n, b, matched, dead)
				}
				if matched {
					break
				}
				if n&dfa.IsNew != 0 != (dead && begins) || n&dfa.IsTwo != 0 != (!dead && begins) {
					t.Fatalf("%s: %b at %q, want begins: %t, dead: %t", expr, n, b, begins, dead)
				}
				switch before = dfa.After(rune(b)); {
				case !dead:
					both += int(n & dfa.IsTwo)
				case begins:
					s = fresh
					begun++
				default:
					if s = nil; n.Row() != table.Idle(before) {
						t.Fatalf("%s: nothing is under way, but the row is %d", expr, n.Row())
					}
				}
				if row = n.Row(); s != nil && (!table.State(row).Same(s) || n.Entered() != s.Entered()) {
					t.Fatalf("%s: the table is elsewhere than the automaton", expr)
				}
			}
		}
	}
	if begun < 100 || both == 0 {
		t.Errorf("%d matches begin, and others in them: %d", begun, both)
	}
}

// Tags tell which alternatives go on and which have ended.
func TestTags(t *testing.T) {
	alternatives := []string{`a+b`, `(a)b|ac`, `[ab]{2,4}`, `b`}
	re := &syntax.Regexp{Op: syntax.OpAlternate}
	var alone []*dfa.DFA
	for i, expr := range alternatives {
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, dfa.New(prog, dfa.Bytes, dfa.Config{All: true, MaxSize: 1 << 20}))
		re.Sub = append(re.Sub, &syntax.Regexp{Op: syntax.OpCapture, Cap: 2 + i, Sub: []*syntax.Regexp{tree}})
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	all := dfa.New(prog, dfa.Bytes, dfa.Config{All: true, Tags: 2, MaxSize: 1 << 20})
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		s := all.Start(dfa.Nothing)
		var one []*dfa.State
		for _, d := range alone {
			one = append(one, d.Start(dfa.Nothing))
		}
		in := make([]byte, rng.IntN(6))
		for k := range in {
			in[k] = "abc"[rng.IntN(3)]
			s = all.Step(s, in[k])
			for i, d := range alone {
				one[i] = d.Step(one[i], in[k])
				if s.Ended()>>i&1 == 1 != one[i].Matched() || s.Alive()>>i&1 == 1 == one[i].Dead() {
					t.Fatalf("%q: tags of %s are %t and %t, but it matched: %t, is dead: %t", in[:k+1], alternatives[i],
						s.Ended()>>i&1 == 1, s.Alive()>>i&1 == 1, one[i].Matched(), one[i].Dead())
				}
			}
		}
	}
}
