// Package problem has errors with a next step for a person.
//
// An *Error is one line about what is wrong, one about the next step, and the
// exit code of the command that it ends. Everything above the libraries makes
// its errors here, so that all commands report errors alike.
package problem

import (
	"fmt"
	"regexp"
	"strings"
)

// Exit codes of every command but `margay run`, which returns its child's,
// and `margay hook`, whose caller knows 0 and 2 alone.
const (
	Done     = 0
	Failed   = 1
	BadUsage = 2 // or configuration
	Findings = 3
)

// Doctor is the next step if one of Margay's own files is damaged or missing.
const Doctor = "margay doctor looks at all files"

// Error is what went wrong, with the next step and an exit code.
type Error struct {
	Code int
	Err  error
	Hint string // what to do next, in a line; may be empty
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what the error wraps.
func (e *Error) Unwrap() error { return e.Err }

// Usage returns an *Error about how a command was called; %w wraps.
func Usage(hint, format string, args ...any) error {
	return &Error{Code: BadUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Failure returns an *Error about something that did not work; %w wraps.
func Failure(hint, format string, args ...any) error {
	return &Error{Code: Failed, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Unexpected returns a Failure of one of Margay's own files; nil for nil.
func Unexpected(err error) error {
	if err == nil {
		return nil
	}
	return Failure(Doctor, "%w", err)
}

// quotedArgument is a whole argument in an error. It may hold a value that was
// meant for a flag.
var quotedArgument = regexp.MustCompile(` in -\S+`)

// OneLine joins the lines of a message, and removes arguments that flag parsers
// repeat.
func OneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' }), "; ")
	if strings.HasPrefix(s, "unknown shorthand flag") || strings.HasPrefix(s, "bad flag syntax") {
		s = quotedArgument.ReplaceAllString(s, "")
	}
	return s
}
