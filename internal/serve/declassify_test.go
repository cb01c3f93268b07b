package serve

import (
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
)

// How a model writes a tool's name does not choose whether its call is looked
// at, and a configuration may have a word on all tools that it does not name.
func TestToolsByName(t *testing.T) {
	c := &config.Declassify{Tools: map[string]config.ReleaseTool{
		"book_flight": {Action: "travel", Sink: "airline", Class: "required-service"},
		"bookFlight2": {Action: "travel", Class: "semi-trusted"},
		"read_mail":   {Trusted: true},
	}}
	tools := toolsOf(c)
	for name, sink := range map[string]string{
		"book_flight": "airline", "Book_Flight": "airline", "book-flight ": "airline", "bookFlight": "airline", "ｂook_flight": "airline",
		"bookflight2": "bookFlight2", "bookFlight2": "bookFlight2", "read_mail": "", "other": "", "": "", "*": "",
	} {
		if got, ok := tools(name); ok != (sink != "") || got.Sink != sink && ok {
			t.Errorf("%q is the sink %q (%v)", name, got.Sink, ok)
		}
	}
	c.Tools["*"] = config.ReleaseTool{Class: "adversarial"}
	tools = toolsOf(c)
	for name, want := range map[string]flow.Class{"book_flight": flow.RequiredService, "Bookflight": flow.RequiredService, "other": flow.Adversarial, "read_mail": flow.Adversarial} {
		if got, ok := tools(name); !ok || got.Class != want || got.Sink == "" {
			t.Errorf("%q: %+v %v", name, got, ok)
		}
	}
}
