package document

import (
	"errors"
	"fmt"
	"regexp"
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

// ErrPath says that a text is not a path.
var ErrPath = errors.New("not a path")

// maxSteps bounds a path.
const maxSteps = 16

// stepText is the text form of a step at the start of a text. Its groups are a
// name in quotes, an index, the dot before a name, and a name.
var stepText = regexp.MustCompile(`\A(?:\["((?s:.+?))"\]|\[(\*|[0-9]+)\]|(\.?)(\*|~|[^\].\["*$~ \t\n]+))`)

// ParsePath reads a path's text form.
func ParsePath(s string) (Path, error) {
	if s == "$" {
		return Path{}, nil
	}
	rest := strings.TrimPrefix(s, "$")
	var p Path
	for first := true; first || rest != ""; first = false {
		m := stepText.FindStringSubmatch(rest)
		if m == nil || strings.HasPrefix(rest, `[""]`) || !first && m[4] != "" && m[3] == "" {
			return Path{}, fmt.Errorf("%w: %q can't be read from %q on", ErrPath, s, rest)
		}
		rest = rest[len(m[0]):]
		st := step{name: m[1] + m[4]}
		switch {
		case m[2] == "*":
			st.kind = stepEach
		case m[2] != "":
			i, err := strconv.ParseUint(m[2], 10, 31)
			if err != nil {
				return Path{}, fmt.Errorf("%w: %w in %q", ErrPath, err, s)
			}
			st = step{kind: stepIndex, index: int(i)}
		case m[4] == "*":
			st = step{kind: stepAny}
		case m[4] == "~":
			st = step{kind: stepKeys}
		}
		if p.steps = append(p.steps, st); len(p.steps) > maxSteps {
			return Path{}, fmt.Errorf("%w: more than %d steps in %q", ErrPath, maxSteps, s)
		}
	}
	return p, nil
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

// IsRoot reports whether a path leads nowhere but to the root.
func (p Path) IsRoot() bool { return len(p.steps) == 0 }

// Named reports whether a step of a path, from 0, is a name, and every whether
// it is every value of an object.
func (p Path) Named(step int) bool { return p.steps[step].kind == stepName }

// Every reports whether a step of a path, from 0, is to every value of an
// object.
func (p Path) Every(step int) bool { return p.steps[step].kind == stepAny }

// Keys reports whether a path is of keys.
func (p Path) Keys() bool { return len(p.steps) > 0 && p.steps[len(p.steps)-1].kind == stepKeys }

// Head is the first name of a path, empty where it starts otherwise.
func (p Path) Head() string {
	if len(p.steps) == 0 || p.steps[0].kind != stepName {
		return ""
	}
	return p.steps[0].name
}

// Walk calls visit for every node on the way of the path from node at, with
// the number of steps taken, and found for those where it ends. It reports
// whether the path leads on from every value on the way.
func (t *Tree) Walk(p Path, at int, visit, found func(node, taken int)) (whole bool) {
	return t.follow(p.steps, 0, at, visit, found)
}

func (t *Tree) follow(steps []step, taken, at int, visit, found func(node, taken int)) (whole bool) {
	if visit != nil {
		visit(at, taken)
	}
	if taken == len(steps) {
		found(at, taken)
		return true
	}
	s := steps[taken]
	n := &t.Nodes[at]
	i := 0
	whole = n.Kind == List && s.kind == stepEach || n.Kind == Dict && s.kind == stepAny
	for c := at + 1; c < n.Next; c = t.Nodes[c].Next {
		child := &t.Nodes[c]
		var is bool
		switch s.kind {
		case stepName:
			is = n.Kind == Dict && child.Key == s.name
		case stepIndex:
			is = n.Kind == List && i == s.index
		case stepEach:
			is = n.Kind == List
		case stepAny, stepKeys:
			is = n.Kind == Dict
		}
		if is {
			on := t.follow(steps, taken+1, c, visit, found)
			whole = on && (whole || s.kind == stepName || s.kind == stepIndex)
		}
		i++
	}
	return whole
}
