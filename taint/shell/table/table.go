// Package table is the table of programs: what each of them does, as far as its
// name, its subcommand and its flags tell. The table is a text that a person can
// read, programs.txt, which says how it is written.
package table

import (
	_ "embed" // the table
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/taint/effect"
)

//go:embed programs.txt
var programs string

// Entry is what the table says of a program or a subcommand.
type Entry struct {
	Effects []effect.Effect
	Does    string // what the operands are: files, writes, removes, to, or registry and cluster
	Set     bool
	With    []Flags
	Taking  []string
	Subs    map[string]*Entry
}

// Flags is an effect that some flags have.
type Flags struct {
	Flags  []string
	Effect effect.Effect
}

// tableOf is the table, read once.
var tableOf = sync.OnceValues(func() (map[string]*Entry, error) { return parseTable(programs) })

// Lookup returns a program's Entry; nil where the table does not know it.
func Lookup(program string) *Entry {
	return Programs()[program]
}

// Programs are all entries by their names; none where the table can't be read,
// which a test rules out.
func Programs() map[string]*Entry {
	t, err := tableOf()
	if err != nil {
		return nil
	}
	return t
}

// operands are what a line may say of them.
var operands = []string{"files", "writes", "removes", "to", "registry", "cluster", "command", "foreign"}

// parseTable reads the table's text. A later line adds to an earlier one, and
// replaces its effects.
func parseTable(text string) (map[string]*Entry, error) {
	root := &Entry{Subs: map[string]*Entry{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		head, tail, colon := cutLast(line)
		head, taking, takes := strings.Cut(head, " taking ")
		head, flags, with := strings.Cut(head, " with ")
		if colon == takes {
			return nil, fmt.Errorf("line %d: want NAMES: EFFECT, or NAMES taking FLAGS", n)
		}
		var effects []effect.Effect
		does := ""
		for _, w := range strings.Fields(tail) {
			if e, err := effect.Parse(w); err == nil {
				effects = append(effects, e)
			} else if does = w; !slices.Contains(operands, w) {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if colon && len(effects) == 0 || with && len(effects) != 1 {
			return nil, fmt.Errorf("line %d: how many effects?", n)
		}
		for _, name := range strings.Split(head, ", ") {
			e := root
			for _, w := range strings.Fields(name) {
				if e.Subs == nil {
					e.Subs = map[string]*Entry{}
				}
				if e.Subs[w] == nil {
					e.Subs[w] = &Entry{}
				}
				e = e.Subs[w]
			}
			switch {
			case takes:
				e.Taking = append(e.Taking, strings.Fields(taking)...)
			case with:
				e.With = append(e.With, Flags{strings.Fields(flags), effects[0]})
			default:
				e.Effects, e.Does, e.Set = effects, does, true
			}
		}
	}
	return root.Subs, nil
}

// cutLast cuts a line at the colon before its effects.
func cutLast(line string) (head, tail string, ok bool) {
	i := strings.LastIndex(line, ": ")
	if i < 0 {
		return line, "", false
	}
	return line[:i], line[i+2:], true
}
