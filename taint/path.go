package taint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path leads from the root of a document to values in it. Its text form is
// made of names, [index], [*] for every element of a list and .* for every
// value of an object: emails[*].from, shared_with.*, ["odd name"].x; $ alone
// is the root. A record's people may also be the keys of an object: .~ is for
// them.
type Path struct{ steps []step }

type step struct {
	kind  stepKind
	name  string
	index int
}

type stepKind uint8

const (
	stepName  stepKind = iota
	stepIndex          // [3]
	stepEach           // [*]
	stepAny            // .*
	stepKeys           // .~
)

// ErrPath says that a text is no path.
var ErrPath = errors.New("not a path")

// maxSteps bounds a path.
const maxSteps = 16

// ParsePath reads a path's text form.
func ParsePath(s string) (Path, error) {
	bad := func(why string) (Path, error) { return Path{}, fmt.Errorf("%w: %s in %q", ErrPath, why, s) }
	rest := s
	if rest == "$" {
		return Path{}, nil
	}
	rest = strings.TrimPrefix(rest, "$")
	if rest == "" {
		return bad("nothing")
	}
	var p Path
	for first := true; rest != ""; first = false {
		if len(p.steps) == maxSteps {
			return bad("too many steps")
		}
		if rest[0] == '[' {
			st, n, ok := bracket(rest)
			if !ok {
				return bad("brackets")
			}
			p.steps, rest = append(p.steps, st), rest[n:]
			continue
		}
		if rest[0] == '.' {
			rest = rest[1:]
		} else if !first {
			return bad("a name without a dot")
		}
		n := strings.IndexAny(rest, ".[")
		if n < 0 {
			n = len(rest)
		}
		name := rest[:n]
		switch {
		case name == "*":
			p.steps = append(p.steps, step{kind: stepAny})
		case name == "~":
			p.steps = append(p.steps, step{kind: stepKeys})
		case name == "" || strings.ContainsAny(name, "]\"*$~ \t\n"):
			return bad("a name that needs quotes")
		default:
			p.steps = append(p.steps, step{name: name})
		}
		rest = rest[n:]
	}
	return p, nil
}

func bracket(s string) (step, int, bool) {
	if strings.HasPrefix(s, `["`) {
		n := strings.Index(s[2:], `"]`)
		if n <= 0 {
			return step{}, 0, false
		}
		return step{name: s[2 : 2+n]}, n + 4, true
	}
	n := strings.IndexByte(s, ']')
	if n < 2 {
		return step{}, 0, false
	}
	if s[1:n] == "*" {
		return step{kind: stepEach}, n + 1, true
	}
	i, err := strconv.ParseUint(s[1:n], 10, 31)
	return step{kind: stepIndex, index: int(i)}, n + 1, err == nil
}

// String returns the text form.
func (p Path) String() string {
	if len(p.steps) == 0 {
		return "$"
	}
	var b strings.Builder
	for i, s := range p.steps {
		switch s.kind {
		case stepIndex:
			fmt.Fprintf(&b, "[%d]", s.index)
		case stepEach:
			b.WriteString("[*]")
		case stepAny, stepKeys:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteByte(map[stepKind]byte{stepAny: '*', stepKeys: '~'}[s.kind])
		default:
			if strings.ContainsAny(s.name, ".[]\"*$~ \t\n") {
				b.WriteString(`["` + s.name + `"]`)
				continue
			}
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// keys reports whether a path is of keys.
func (p Path) keys() bool { return len(p.steps) > 0 && p.steps[len(p.steps)-1].kind == stepKeys }

// Head is the first name of a path, empty where it begins otherwise.
func (p Path) Head() string {
	if len(p.steps) == 0 || p.steps[0].kind != stepName {
		return ""
	}
	return p.steps[0].name
}

// walk calls visit for every node on the way of the path from node at, with
// the number of steps taken, and found for those where it ends.
func (t *tree) walk(p Path, at int, visit, found func(node, taken int)) {
	t.follow(p.steps, 0, at, visit, found)
}

func (t *tree) follow(steps []step, taken, at int, visit, found func(node, taken int)) {
	if visit != nil {
		visit(at, taken)
	}
	if taken == len(steps) {
		found(at, taken)
		return
	}
	s := steps[taken]
	n := &t.nodes[at]
	i := 0
	for c := at + 1; c < n.next; c = t.nodes[c].next {
		child := &t.nodes[c]
		var is bool
		switch s.kind {
		case stepName:
			is = n.kind == dict && child.key == s.name
		case stepIndex:
			is = n.kind == list && i == s.index
		case stepEach:
			is = n.kind == list
		case stepAny, stepKeys:
			is = n.kind == dict
		}
		if is {
			t.follow(steps, taken+1, c, visit, found)
		}
		i++
	}
}
