// Package method holds the defences that the benchmark prism compares: one
// file each, every one in its usual configuration and tuned on nothing that
// evaluates.
//
// A defence sees one agent's output at a time, with what the agent was shown,
// and decides what the next agent gets. Defences that work on complete output
// (all but the monitors) get the text alone and may look at all of it; the
// monitors read it token by token and let nothing go that they have not
// decided.
//
// Which baselines there are follows the PRISM paper (section 5, Appendix C.5);
// where the paper names a product that may not be linked here, the method does
// what the product's public documentation says it does by default, and the
// product itself runs beside it as an external peer where it is installed
// (Peer).
//
// Every Method of this package keeps the contract that Suite tests: Removed is
// ordered, disjoint and in range, all text outside Removed is in Output.Text
// unchanged, the same input gives the same output, and Filter is safe for
// concurrent use.
package method

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/margaydev/margay/monitor"
)

// Secret is a value that was registered before the task began.
type Secret struct{ Name, Value string }

// Input is one agent's complete output and what it was made from. Methods
// must not change it.
type Input struct {
	// Task and Agent name the output. Outputs of one task share a
	// trajectory.
	Task, Agent string
	// Context is all that the agent was shown.
	Context string
	// Private are the tool results among it.
	Private []string
	// Registered are the secrets known beforehand; methods that have no
	// vault ignore them.
	Registered []Secret
	// Tool: the output follows or proposes a tool call.
	Tool bool
	// Vocabulary is the number of tokens of the model that wrote; 0 for 128,000.
	Vocabulary int
	// Tokens are the output token by token. Their texts, put together, are
	// Text. Top may be empty.
	Tokens []monitor.Token
	Text   string
}

// Removed are the bytes [Start, End) of Input.Text that did not go on.
type Removed struct{ Start, End int }

// Output is what a method did.
type Output struct {
	// Text goes on to the next agent.
	Text string
	// Removed are ordered, disjoint, not empty and in range.
	Removed []Removed
	// Risk is the greatest risk or score seen, in [0, 1], or NaN where the
	// method has none.
	Risk float64
	// Halted: the generation was ended; the last of Removed goes to the end.
	Halted bool
	// Reading is how long the method took to read what the agent was shown,
	// before the output began: part of Filter's time and no delay of a token.
	Reading time.Duration
}

// Method is one defence. Filter is safe for concurrent use. An error means
// that nothing was decided; the caller must not count the task.
type Method interface {
	Name() string
	Filter(ctx context.Context, in *Input) (Output, error)
}

// ErrUnavailable says that a method can't run here (no endpoint, not
// installed, not meaningful for this source): it is left out of the table with
// the error's text as a note.
var ErrUnavailable = errors.New("left out")

func unavailable(name, why string) error { return fmt.Errorf("%s: %w: %s", name, ErrUnavailable, why) }

// Redaction stands for what was removed from a text.
const Redaction = "[REDACTED]"

// span is a candidate for removal. Spans of one text may overlap.
type span struct{ start, end int }

// redact takes spans out of a text. Overlapping and touching spans become one.
func redact(text string, spans []span) (string, []Removed) {
	removed := join(text, spans)
	if len(removed) == 0 {
		return text, nil
	}
	var b strings.Builder
	at := 0
	for _, r := range removed {
		b.WriteString(text[at:r.Start])
		b.WriteString(Redaction)
		at = r.End
	}
	b.WriteString(text[at:])
	return b.String(), removed
}

// pass lets a text go as it is.
func pass(in *Input) Output { return Output{Text: in.Text, Risk: math.NaN()} }

// removing is the output of a method without a score.
func removing(in *Input, spans []span) Output {
	out := pass(in)
	out.Text, out.Removed = redact(in.Text, spans)
	return out
}
