package world

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVaried(t *testing.T) {
	for _, r := range []*Repository{Healthcare(1), Payments(1)} {
		tasks, err := r.Tasks(1000)
		if err != nil {
			t.Fatal(err)
		}
		styles, long, asks := map[string]int{}, 0, 0
		for i := range tasks {
			task := &tasks[i]
			m := task.Manner()
			styles[m.Style]++
			long += bit(m.Long)
			before := ""
			for agent := range Agents {
				b := task.Varied(agent, before)
				if again := task.Varied(agent, before); again.System != b.System || again.User != b.User {
					t.Fatalf("%s: not the same twice", task.ID)
				}
				asks += bit(b.Asks)
				if n := len(b.System); n > longBytes+shortBytes || !m.Long && n > 2*shortBytes+relayed {
					t.Errorf("%s: %d bytes", task.ID, n)
				}
				if !utf8.ValidString(b.System) || strings.Contains(b.User+b.System, "||") {
					t.Errorf("%s: %q, %q", task.ID, b.System, b.User)
				}
				for _, p := range b.Parts {
					part := string([]rune(b.System)[p.Start:p.End])
					if want := before; b.Tool && part != b.Private[0] || !b.Tool && part != want {
						t.Errorf("%s: part %q", task.ID, part)
					}
				}
				before = "They said é " + strings.Repeat("x", agent)
			}
		}
		for _, s := range Styles {
			if styles[s] < 70 {
				t.Errorf("%s: %d tasks of style %s", r.Name, styles[s], s)
			}
		}
		if long == 0 || long > len(tasks)/10 || asks < len(tasks) {
			t.Errorf("%s: %d long, %d questions for values", r.Name, long, asks)
		}
	}
}

// What is fitted and what is tested on share no sentence and no format.
func TestVariedIsDisjoint(t *testing.T) {
	a, b := manners["healthcare"], manners["payments"]
	for _, f := range a.formats {
		if slices.Contains(b.formats, f) {
			t.Errorf("both have the format %s", f)
		}
	}
	for head, lines := range a.templates {
		if len(b.templates[head]) == 0 {
			t.Errorf("no %s", head)
		}
		if head == "code.ask" {
			continue
		}
		for _, l := range lines {
			if slices.Contains(b.templates[head], l) {
				t.Errorf("both say %q", l)
			}
		}
	}
}
