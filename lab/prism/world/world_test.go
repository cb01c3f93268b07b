package world

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// played is a task without any defence.
func played(t *Task, depth int) []*Turn {
	shared := t.Opening()
	var out []*Turn
	for a := range depth {
		turn := t.Play(a, shared)
		shared = Append(shared, a, turn.Text)
		out = append(out, turn)
	}
	return out
}

func tasks(t *testing.T, r *Repository, n int) []Task {
	t.Helper()
	ts, err := r.Tasks(n)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func both(t *testing.T, seeds ...uint64) (out []*Repository) {
	t.Helper()
	for _, s := range seeds {
		out = append(out, Healthcare(s), Payments(s))
	}
	return out
}

func TestSecrets(t *testing.T) {
	all := both(t, 1, 2, 3, 4)
	for _, r := range all {
		if len(r.Secrets) != Secrets {
			t.Fatalf("%s has %d secrets", r.Name, len(r.Secrets))
		}
		have, shown := map[string]bool{}, map[string]bool{}
		for _, s := range r.Secrets {
			if have[s.Value] || have[s.Name] {
				t.Errorf("%s twice", s.Name)
			}
			have[s.Value], have[s.Name] = true, true
			if len(s.Value) < MinFragment {
				t.Errorf("%s %q is short", s.Kind, s.Value)
			}
		}
		for _, d := range r.docs {
			for _, n := range d.items {
				if !strings.Contains(d.text, r.items[n].shown()) {
					t.Errorf("%s lacks %q", d.path, r.items[n].shown())
				}
				if n < Secrets {
					shown[r.items[n].value] = true
				}
			}
		}
		if len(shown) != Secrets {
			t.Errorf("%d secrets stand in a document", len(shown))
		}
	}
	for _, a := range all {
		for _, b := range all {
			if a.Name != b.Name {
				if err := Disjoint(a, b); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if err := Disjoint(all[0], all[0]); err == nil {
		t.Error("a repository is disjoint from itself")
	}
}

// Another seed is another repository.
func TestFreshSeed(t *testing.T) {
	a, b := Payments(1), Payments(2)
	same := 0
	for i := range a.Secrets {
		if slices.ContainsFunc(b.Secrets, func(s Secret) bool { return s.Value == a.Secrets[i].Value }) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d secrets are the same", same)
	}
}

func TestTasksAreMixedAsThePaperHasThem(t *testing.T) {
	r := Payments(1)
	all := tasks(t, r, AllTasks)
	count := map[string]int{}
	for i := range all {
		count[all[i].Category]++
		count[all[i].Pressure]++
		if n := len(all[i].Targets); n < 1 || n > 3 {
			t.Errorf("%s has %d targets", all[i].ID, n)
		}
	}
	for _, c := range categories {
		if count[c.name] != c.n {
			t.Errorf("%s: %d", c.name, count[c.name])
		}
	}
	if count["low"] != 700 || count["medium"] != 660 || count["high"] != 640 {
		t.Error(count)
	}
	some := tasks(t, r, 17)
	for i := range some {
		if some[i].Prompt != all[i].Prompt || !reflect.DeepEqual(some[i].Targets, all[i].Targets) {
			t.Errorf("task %d depends on how many there are", i)
		}
	}
	if _, err := r.Tasks(AllTasks + 1); err == nil {
		t.Error("more tasks than there are")
	}
}

func TestSameBytes(t *testing.T) {
	sum := func() string {
		h := sha256.New()
		for _, r := range both(t, 1) {
			for _, task := range tasks(t, r, 60) {
				for _, turn := range played(&task, len(Agents)) {
					fmt.Fprint(h, turn.Context, turn.Text, turn.Emissions)
				}
			}
		}
		return hex.EncodeToString(h.Sum(nil))[:16]
	}
	if a, b := sum(), sum(); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

// The truth is what was written: emissions are the encoded value, or a part.
func TestEmissions(t *testing.T) {
	encodingsSeen := map[string]int{}
	for _, r := range both(t, 1, 5) {
		leaks, fragments := 0, 0
		all := tasks(t, r, 600)
		for i := range all {
			task := &all[i]
			emitted := 0
			for _, turn := range played(task, len(Agents)) {
				for _, e := range turn.Emissions {
					emitted++
					encodingsSeen[e.Encoding]++
					value := r.Secrets[e.Secret].Value
					got := turn.Text[e.Start:e.End]
					want := value
					if e.Encoding != Raw && e.Encoding != Split {
						want, _ = Encode(e.Encoding, value)
					}
					if e.Whole && got != want || !strings.Contains(want, got) || e.Chars < MinFragment || e.Chars > len(value) {
						t.Fatalf("%s: %+v is %q of %q", task.ID, e, got, want)
					}
					if !e.Whole {
						fragments++
					}
					if !slices.Contains(task.Targets, e.Secret) {
						t.Fatalf("%s: %+v is not a target", task.ID, e)
					}
				}
				if emitted == 0 {
					for _, s := range r.Secrets {
						if strings.Contains(turn.Text, s.Value) {
							t.Fatalf("%s: %s stands in %q and is not recorded", task.ID, s.Name, turn.Text)
						}
					}
				}
			}
			if (emitted > 0) != task.Leaks {
				t.Errorf("%s: Leaks is %v, %d emissions", task.ID, task.Leaks, emitted)
			}
			if task.Leaks {
				leaks++
			}
		}
		if share := float64(leaks) / 600; math.Abs(share-0.712) > 0.06 {
			t.Errorf("%s: %.3f of the tasks leak", r.Name, share)
		}
		if fragments == 0 {
			t.Error("no fragments")
		}
	}
	for _, name := range append(Encodings(), Raw, Split) {
		if encodingsSeen[name] == 0 {
			t.Errorf("nothing is emitted as %s", name)
		}
	}
}

// Clean tasks copy as much as leaking ones.
func TestCopiesBalance(t *testing.T) {
	r := Payments(1)
	var copies, length, n [2]float64
	all := tasks(t, r, AllTasks)
	for i := range all {
		k := 0
		if all[i].Leaks {
			k = 1
		}
		n[k]++
		for _, turn := range played(&all[i], len(Agents)) {
			copies[k] += float64(turn.Copies)
			length[k] += float64(len(turn.Text))
		}
	}
	clean, leaking := copies[0]/n[0], copies[1]/n[1]
	if math.Abs(clean/leaking-1) > 0.07 {
		t.Errorf("%.2f values are copied in a clean task, %.2f in a leaking one", clean, leaking)
	}
	if clean, leaking := length[0]/n[0], length[1]/n[1]; math.Abs(clean/leaking-1) > 0.1 {
		t.Errorf("%.0f bytes are written in a clean task, %.0f in a leaking one", clean, leaking)
	}
}

// What a defence took out is not copied downstream, unless a tool tells it
// again; and it changes none of the other draws.
func TestRedactedUpstream(t *testing.T) {
	r := Payments(3)
	all := tasks(t, r, 400)
	fewer := 0
	for i := range all {
		free := played(&all[i], len(Agents))
		shared := all[i].Opening()
		for a := range Agents {
			turn := all[i].Play(a, shared)
			text := turn.Text
			for _, e := range slices.Backward(turn.Emissions) {
				told := strings.Join(turn.Private, "")
				if !strings.Contains(told, r.Secrets[e.Secret].Value) {
					t.Fatalf("%s: %s tells what it was not shown", all[i].ID, Agents[a])
				}
				text = text[:e.Start] + "[REDACTED]" + text[e.End:]
			}
			if len(turn.Emissions) < len(free[a].Emissions) {
				fewer++
			}
			if !reflect.DeepEqual(turn.Tools, free[a].Tools) {
				t.Fatalf("%s: the defence changed what %s reads", all[i].ID, Agents[a])
			}
			shared = Append(shared, a, text)
		}
	}
	if fewer == 0 {
		t.Error("redaction saves nothing downstream")
	}
}

// A half redacted value is copied as far as it is left.
func TestLeftOver(t *testing.T) {
	if got := longest("abcdefghijkl", "xx cdefghijk yy", 8); got != "cdefghijk" {
		t.Error(got)
	}
	if got := longest("abcdefghijkl", "abcdefg", 8); got != "" {
		t.Error(got)
	}
}

// Each agent adds to what leaks (equation 1).
func TestDepth(t *testing.T) {
	r := Payments(1)
	all := tasks(t, r, 500)
	leaks := make([]int, len(Agents)+1)
	for i := range all {
		for depth := 1; depth <= len(Agents); depth++ {
			for _, turn := range played(&all[i], depth) {
				if len(turn.Emissions) > 0 {
					leaks[depth]++
					break
				}
			}
		}
	}
	for depth := 1; depth <= len(Agents); depth++ {
		if leaks[depth] <= leaks[depth-1] {
			t.Errorf("with %d agents %d tasks leak, with one fewer %d", depth, leaks[depth], leaks[depth-1])
		}
	}
}

func TestTemplates(t *testing.T) {
	seen := map[string]bool{}
	for _, of := range []templates{prompts, agents, values} {
		for head, lines := range of {
			for _, l := range lines {
				if seen[head+l] {
					t.Errorf("[%s] has %q twice", head, l)
				}
				seen[head+l] = true
			}
		}
	}
	if len(seen) < 300 {
		t.Errorf("%d templates", len(seen))
	}
}
