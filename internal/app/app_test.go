package app

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/problem"
)

// The commands that take ids, files and keys have examples.
func TestEveryCommandHasAnExample(t *testing.T) {
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if !strings.Contains(c.Example, "margay") && !c.HasSubCommands() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, s := range c.Commands() {
			if !s.Hidden && s.Name() != "help" && s.Name() != "completion" {
				look(s)
			}
		}
	}
	for _, c := range newApp().root().Commands() {
		if slices.Contains([]string{"approve", "budget", "console", "ledger", "policy", "report", "rubric", "run", "serve"}, c.Name()) {
			look(c)
		}
	}
}

// What is broken off is said to be, and nothing is said to be wrong.
func TestInterrupted(t *testing.T) {
	var errs strings.Builder
	a := newApp()
	a.Err = &errs
	if code := a.Fail(problem.Failure("see the ledger", "store: %w", context.Canceled)); code != problem.Failed || errs.String() != "margay: interrupted\n" {
		t.Errorf("%d: %q", code, errs.String())
	}
}

// Hooks start margay for each call: nothing is built for commands that are not
// run. A set of recognisers alone takes some hundred thousand allocations.
func TestStartsLight(t *testing.T) {
	n := testing.AllocsPerRun(1, func() {
		if Main([]string{"version"}, strings.NewReader(""), io.Discard, io.Discard) != 0 {
			t.Error("version fails")
		}
	})
	if n > 10_000 {
		t.Errorf("%.0f allocations to start", n)
	}
}
