// Package ahocorasick finds the words of a fixed list in a text, byte by byte, in
// one pass (Aho and Corasick, 1975).
//
// A state is the longest end of the text that begins a word. What a state means
// is up to the user, who keeps it in slices by state: Add returns the states of a
// word, and Link tells which states share a suffix.
package ahocorasick

// Automaton is a trie of words; once linked, an automaton. After Link it is
// immutable and safe for concurrent use. State 0 is the start.
type Automaton struct {
	class [256]uint8
	width int
	next  []uint16 // state*width+class; 0 for none until it is linked
}

// New returns an automaton without words. Bytes of one class are the same to it;
// there are width classes.
func New(class [256]uint8, width int) *Automaton {
	return &Automaton{class: class, width: width, next: make([]uint16, width)}
}

// Add adds a word and returns the states behind each of its bytes. A word that
// was added before gives the same states.
func (a *Automaton) Add(word string) []uint16 {
	path := make([]uint16, len(word))
	s := uint16(0)
	for i := range len(word) {
		at := a.index(s, word[i])
		if a.next[at] == 0 {
			a.next[at] = uint16(a.Len())
			a.next = append(a.next, make([]uint16, a.width)...)
		}
		s = a.next[at]
		path[i] = s
	}
	return path
}

// Len returns the number of states, at most 65,536.
func (a *Automaton) Len() int { return len(a.next) / a.width }

// Link makes the trie an automaton. It calls join for each state but the start
// with the state of its longest proper suffix, for which join was called before.
func (a *Automaton) Link(join func(state, suffix uint16)) {
	suffix := make([]uint16, a.Len())
	queue := []uint16{0}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if s != 0 {
			join(s, suffix[s])
		}
		for c := range a.width {
			next, other := &a.next[int(s)*a.width+c], a.next[int(suffix[s])*a.width+c]
			switch {
			case *next == 0:
				*next = other
			default:
				if s != 0 {
					suffix[*next] = other
				}
				queue = append(queue, *next)
			}
		}
	}
}

// Row returns the place of a state in Table.
func (a *Automaton) Row(s uint16) uint32 { return uint32(s) * uint32(a.width) }

// State returns the state of a row.
func (a *Automaton) State(row uint32) uint16 { return uint16(row / uint32(a.width)) }

// Table returns the steps for a reader's innermost loop: at a state's Row and the
// class of a byte, the Row of the state that follows, twice, and 1 more if that
// state is marked.
func (a *Automaton) Table(marked []bool) (class *[256]uint8, next []uint32) {
	next = make([]uint32, len(a.next))
	for i, s := range a.next {
		next[i] = 2 * a.Row(s)
		if marked[s] {
			next[i]++
		}
	}
	return &a.class, next
}

// Step returns the state that follows s by a byte.
func (a *Automaton) Step(s uint16, b byte) uint16 { return a.next[a.index(s, b)] }

func (a *Automaton) index(s uint16, b byte) int { return int(s)*a.width + int(a.class[b]) }
