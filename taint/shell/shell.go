// Package shell says what a shell command does: it parses the command, finds
// every program that it runs, and gives each part an effect by a table of
// programs.
//
// It errs on the strict side. What can't be parsed, hides what it runs, or
// runs a program that the table does not know, is not taken for harmless.
package shell

import (
	"slices"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/workspace"
)

// Machine is where a command runs.
type Machine struct {
	// Dir is the absolute path of the working directory; empty where it is
	// not known, and then relative paths are in no workspace.
	Dir string
	// Home is the user's home folder; empty where it is not known.
	Home string
	// Zone says what an absolute, clean path is.
	Zone func(path string) workspace.Zone
	// Tainted says whether strangers had a part in a file, or in one of a folder;
	// nil: in none.
	Tainted func(path string) bool
	// Mine says whether a scratch file was written by calls in which only the
	// workspace had a part, and Built whether it is a program built from its sources;
	// nil: none was.
	Mine, Built func(path string) bool
	// Above says whether a folder holds Margay's own; nil: none does.
	Above func(path string) bool
}

// Command is what a shell command does, part by part, in the order of its text.
type Command struct {
	Parts []Part
}

// Part is one program that a command runs, or one redirection.
type Part struct {
	// Text is the part as it is written, for people; at most MaxText bytes.
	Text string
	// Program is the program's name without its folder; empty for a
	// redirection.
	Program string
	Effect  effect.Effect
	// Why says in a few words what gives the part its effect.
	Why string
	// To is where Reach and Spend go, as far as it is known: a host, a remote
	// and a branch, a registry and a package.
	To string
	// Unknown: no table knows the program. It has the effect Reach.
	Unknown bool
	// Hidden: what runs can't be told from the text. It has the effect Reach.
	Hidden bool
	// Foreign: what the part prints may hold words of strangers: it used the
	// network, or read files of theirs.
	Foreign bool
	// Private: it reads what the user keeps for himself, such as keys and settings.
	Private bool
	// Plain: what it prints are numbers, states, dates and hashes alone, besides
	// words of its own and of the command.
	Plain bool
	// Writes are the absolute paths of files that the part changes, as far as
	// they are known; Anywhere: it may change others, too.
	Writes   []string
	Anywhere bool
	// Words are the program and its arguments, empty where one is not known; nil
	// where not even their number is. In is the folder that it runs in; empty where
	// that is not known.
	Words []string
	In    string
}

// Unheard is why a part is unknown whose program no table knows.
const Unheard = "nothing is known of this program"

// Reasons that a part is more than it would be in a folder that the user trusts.
const (
	OutsideRepository = "settings of a repository outside the workspace may run code"
	OutsideProgram    = "the program lies outside the workspace"
	OutsideScript     = "the script lies outside the workspace"
	OutsideCode       = "what it runs lies elsewhere"
	OutsideFile       = "the file is in no folder that the user trusts"
)

// Bounds of a command. One beyond them is one hidden part.
const (
	MaxBytes = 64 << 10
	MaxParts = 256
	MaxText  = 200
)

// Effects are the distinct effects of a command's parts, in their order.
func (c *Command) Effects() []effect.Effect {
	var out []effect.Effect
	for i := range c.Parts {
		if e := c.Parts[i].Effect; !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	slices.Sort(out)
	return out
}

// Foreign reports whether what a command prints may hold words of strangers.
func (c *Command) Foreign() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Foreign })
}
