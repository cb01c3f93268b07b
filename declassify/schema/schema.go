// Package schema says what configuration knows of a tool: where its calls go, and
// what their arguments are.
package schema

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
)

// Tool describes where a release goes. It comes from configuration and schemas,
// never from the model or from text.
type Tool struct {
	Name    string
	Action  string // category of what it does, as rubrics name it
	Sink    string
	Class   flow.Class
	Channel flow.Channel
	Args    []Arg
}

// Arg is one argument of a tool. An argument that is neither free nor of a secret
// field is typed and passes, except for what predicates or a defender find in
// it. An argument that is not declared is free text.
type Arg struct {
	// Path is keys and indices joined by dots, as in "passengers.0.name"; "*"
	// stands for any one of them.
	Path  string
	Field string // of the ontology; empty for none
	Free  bool   // free text
	// Keep: a call without it as it is makes no sense, such as one without its
	// recipient. It is not made then.
	Keep bool
	// To: it says who gets the call. The recipient's own address is no disclosure
	// to the sink that delivers it.
	To bool
}

// contact are the fields that say who somebody is, to a sink that delivers to them.
var contact = []string{"email", "legal-name", "phone"}

var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[#@]?[\p{L}\p{N}._+-]{1,64}(?:@[\p{L}\p{N}.-]{1,255})?|\+?[\d ()./-]{5,24}|\p{L}[\p{L}.'’-]{0,40}(?: \p{L}[\p{L}.'’-]{0,40}){0,4})$`)
})

// Names reports whether an argument of a text says with a field who gets the call: the
// text is an address, a number, a handle or a name, and nothing else. For an adversarial
// sink none does.
func (a *Arg) Names(field, text string, class flow.Class) bool {
	return a.To && class <= flow.SemiTrusted && slices.Contains(contact, field) && address().MatchString(text)
}

// Arg returns the argument that a path belongs to.
func (t *Tool) Arg(path string) Arg {
	names := strings.Split(path, ".")
	for _, a := range t.Args {
		if match(strings.Split(a.Path, "."), names) {
			return a
		}
	}
	return Arg{Path: path, Free: true}
}

// Declares reports whether a path names an argument, or an object or array that
// holds one, by names of the schema alone.
func (t *Tool) Declares(path string) bool { return t.within(path, false) }

// Holds reports the same, where a last name that the schema leaves open (*)
// counts too.
func (t *Tool) Holds(path string) bool { return t.within(path, true) }

func (t *Tool) within(path string, open bool) bool {
	names := strings.Split(path, ".")
	n := len(names)
	return slices.ContainsFunc(t.Args, func(a Arg) bool {
		pattern := strings.Split(a.Path, ".")
		return n <= len(pattern) && match(pattern[:n], names) && (open || pattern[n-1] != "*")
	})
}

// match reports whether the segments of a pattern match those of a path.
func match(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, name string) bool { return p == "*" || p == name })
}

// MadeOf reports whether values of a field are made of those of another one.
func MadeOf(field, other string) bool {
	return field == "email" && other == "legal-name" || field == "address" && other == "location"
}
