// Package pack loads packs: files that say what the tools of a harness, a
// server or a suite return, and what their calls need. It makes a
// taint.Policy, and is not trusted beyond that.
//
// The format is in docs/format/pack.md; schema.json is its JSON Schema. Every
// mistake is an *Error with a position. The packs that come with Margay are
// in packs/.
package pack

//go:generate go test -run ^TestReviewIsUpToDate$ . -update

import (
	_ "embed"
	"encoding/json"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
)

// Version is the only format version that this program reads.
const Version = 1

// maxBytes bounds a pack's file.
const maxBytes = 1 << 20

// Schema is the JSON Schema of packs.
//
//go:embed schema.json
var Schema []byte

// Pack is a loaded pack.
type Pack struct {
	Name    string
	Title   string
	Kind    Kind
	For     string // the harness, server or suite
	Schemas string // where names and parameters of the tools were read
	Scheme  *observe.Scheme
	Tools   []Tool
	File    string

	doc *yamldoc.Document
}

// Kind is what a pack is for.
type Kind string

// Kinds. Tools of a server have its name before theirs where a harness offers
// them: mcp__github__create_issue.
const (
	Harness Kind = "harness"
	Server  Kind = "server"
	Suite   Kind = "suite"
)

// Tool is a tool of a pack.
type Tool struct {
	taint.Tool
	Worst   string // the worst that it can do
	Why     string // why its policy is as it is
	Samples []Sample
	Policy  []string // its rules in words
}

// Sample is an input with what is expected of it.
type Sample struct {
	Args   arguments           `json:"args"`
	User   []string            `json:"user"`
	Lists  map[string][]string `json:"lists"`
	Result *string             `json:"result"` // a result, or nil for a call
	Format *string             `json:"format"` // that the result is read as; "none" for none of the pack's
	Labels map[string]string   `json:"labels"` // of a result, by field: words
	Sets   map[string]string   `json:"sets"`   // the same as labels of the sets lattice
	Admit  string              `json:"admit"`  // of a call: words
	Effect string              `json:"effect"` // of a call: the effect that decides
	Ask    bool                `json:"ask"`
	Deny   bool                `json:"deny"`
	// Elsewhere: of a server of which nobody said that it works on this machine.
	Elsewhere bool `json:"elsewhere"`
	at        []string
}

// arguments are the JSON of a call's arguments. A text stands for them as they
// are, however malformed.
type arguments string

// UnmarshalJSON takes both forms.
func (a *arguments) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(a))
	}
	*a = arguments(b)
	return nil
}

// Error is a mistake in a pack.
type Error = yamldoc.Error

// schema is the JSON Schema, compiled once.
var schema = yamldoc.NewSchema(Schema)

// Load reads a pack. Errors are of type *Error.
func Load(file string, b []byte) (*Pack, error) {
	doc, err := yamldoc.Read(file, b, maxBytes, "a pack", Version)
	if err != nil {
		return nil, err
	}
	if err := doc.Check(schema); err != nil {
		if old := celOf(doc); old != nil {
			return nil, old
		}
		return nil, err
	}
	var d packFile
	if err := doc.Decode(&d); err != nil {
		return nil, err
	}
	p := &Pack{File: file, doc: doc}
	if err := d.compile(p); err != nil {
		return nil, doc.Place(err)
	}
	return p, nil
}
