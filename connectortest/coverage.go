package connectortest

import (
	"fmt"
	"strings"
)

// APIs are all that the suite knows.
func APIs() []*API {
	return []*API{Chat(), Responses(), Messages(), MCP(false), Hooks("claude-code"), Hooks("codex"), Hooks("cursor")}
}

// everywhere is what no connector sees.
var everywhere = []string{
	"calls that bypass the proxy: a program that ignores its base URL, or speaks to another host",
	"what a child process does by itself: files, sockets, its own environment",
	"APIs without a codec (Gemini's own, Bedrock, Vertex, …) and WebSocket connections: they are refused, not looked at",
	"content other than text: images, audio, video, PDFs; it is reported and passes",
	"secrets of fewer than eight characters, and unknown ones whose shape says nothing (a password in the midst of prose)",
	"what a model says about a secret in other words than the secret's own",
}

// Coverage is docs/coverage.md: the matrix as tables.
func Coverage() string {
	var b strings.Builder
	b.WriteString(`<!-- Written by go generate ./connectortest; do not edit. -->

# What is covered

Every connector runs one suite, [connectortest](../connectortest/connectortest.go) (` + "`TestConformance`" + `). <!-- test: gateway.TestConformance, mcpproxy.TestConformance, hook.TestConformance --> These tables are the data that it runs on, so that a line here is a line that is tested: each field with a registered secret, with an unknown one (a GitHub token made up anew), with a private key, with a pseudonym, and with ordinary text; where it streams, split at every place of the value, one character an event, and at random, the events arriving apart, together, and cut anywhere; for every choice. <!-- test: gateway.TestConformance, mcpproxy.TestConformance, hook.TestConformance, TestEveryFieldIsGuarded, TestCoverageIsUpToDate -->

What must hold in all of them: no eight characters of a secret pass, in any plain encoding; everything else arrives byte for byte; streams stay valid; a stream says what the whole answer says. <!-- test: gateway.TestConformance, mcpproxy.TestConformance, hook.TestConformance, TestSuiteNoticesFaults --> Ordinary text and pseudonyms pass unchanged unless a table says otherwise.

- *replaced*: by a pseudonym on the way to a model or tool, by ` + "`[REDACTED:kind]`" + ` on the way back (over MCP one or the other)
- *refused*: nothing goes on; the client gets an error in the API's own terms
- *stopped*: the answer ends before it, in the API's own terms
- *left out*: the header, event or part of a request that holds it is missing
- *call withheld*: the tool call is not made, and the answer says so
- *reported*: it has happened, or can't be kept back there, and passes; the user gets a report, and the log records it
- *passes*: it is not looked for
- –: not tried, or it can't occur
`)
	for _, a := range APIs() {
		a.coverage(&b)
	}
	b.WriteString("\n## Covered by no connector\n\n")
	for _, u := range everywhere {
		fmt.Fprintf(&b, "- %s\n", u)
	}
	return b.String()
}

func (a *API) coverage(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n", a.Title)
	for _, to := range []bool{true, false} {
		far := a.Far
		if far == "" {
			far = "the model"
		}
		head := "\nFrom " + far + ":\n\n| field | streams | choices | known secret | unknown secret | private key | pseudonym |\n|---|---|---|---|---|---|---|\n"
		if to {
			head = "\nTo " + far + ":\n\n| field | known secret | unknown secret | private key |\n|---|---|---|---|\n"
		}
		first := true
		for i := range a.Fields {
			f := &a.Fields[i]
			if f.To != to {
				continue
			}
			if first {
				b.WriteString(head)
				first = false
			}
			a.row(b, f)
		}
	}
	if len(a.Uncovered) > 0 {
		b.WriteString("\nNot covered:\n\n")
		for _, u := range a.Uncovered {
			fmt.Fprintf(b, "- %s\n", u)
		}
	}
}

func (a *API) row(b *strings.Builder, f *Field) {
	name := f.Name
	if f.Note != "" {
		name += " (" + f.Note + ")"
	}
	if f.To {
		fmt.Fprintf(b, "| %s | %v | %v | %v |\n", name, f.fate(known, false), f.fate(unknown, false), f.fate(privateKey, false))
		return
	}
	streams := "both"
	switch {
	case f.Stream == nil:
		streams = "no"
	case f.Whole == nil:
		streams = "alone"
	}
	names := "–"
	if a.Ask.Body != "" {
		names = f.both(pseudonym)
	}
	fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s |\n", name, streams, max(f.Most, 1), f.both(known), f.both(unknown), f.both(privateKey), names)
}

// both says what becomes of a kind in streams and in whole answers.
func (f *Field) both(k kind) string {
	s, w := f.fate(k, true), f.fate(k, false)
	if k == pseudonym && s == Passes {
		return "unchanged"
	}
	if s == w || f.Whole == nil {
		return s.String()
	}
	if f.Stream == nil {
		return w.String()
	}
	return fmt.Sprintf("%v; %v if not streamed", s, w)
}
