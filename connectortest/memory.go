package connectortest

import (
	"regexp"
	"strings"
	"testing"
)

// Agent is an agent with a memory, at the connector that carries what it does.
// Its mediator releases by rubrics: the tool "client" tells what nobody else
// writes, "note" keeps the argument "notes" in a memory that shows names alone,
// "book" needs the name of a person as "who", and of "post" nothing is known.
type Agent struct {
	// Tells brings what a tool tells to the model in a trajectory, of which there
	// are two, and returns what the model is shown.
	Tells func(t testing.TB, trajectory int, tool, text string) string
	// Calls brings a call to its tool, and returns the arguments that arrive
	// there; empty where the call is not made.
	Calls func(t testing.TB, trajectory int, tool, args string) string
	// Kept returns all that the connector wrote besides, and Entries how many
	// entries of a channel the ledger has.
	Kept    func() []byte
	Entries func(channel string) int
}

var nameShape = regexp.MustCompile(`margay-[a-z-]+-[a-z2-7]{14}`)

// Memory holds a connector to what is said of memories: what one trajectory
// keeps under a name, a later one can use, nobody reads the value in it, and a
// value in clear is held to the rubrics of who reads it.
func Memory(t *testing.T, a Agent) {
	const value = "Maria Silva"
	args := func(key, text string) string { return `{"` + key + `":"` + text + `"}` }
	told := a.Tells(t, 0, "client", "the client is "+value)
	mine := nameShape.FindString(told)
	if mine == "" || strings.Contains(told, value) {
		t.Fatalf("the model is told %q", told)
	}
	kept := a.Calls(t, 0, "note", args("notes", mine+" likes aisles"))
	name := nameShape.FindString(kept)
	if name == "" || name == mine || kept != args("notes", name+" likes aisles") {
		t.Fatalf("the memory is told %q", veil(kept, value))
	}
	if got := a.Calls(t, 0, "note", args("notes", "for "+value+", "+mine)); strings.Contains(got, value) || strings.Count(got, name) != 1 || len(nameShape.FindAllString(got, -1)) != 1 {
		t.Errorf("a value and its name are kept as %q", veil(got, value))
	}
	if got := a.Tells(t, 1, "recall", name+" likes aisles"); got != name+" likes aisles" {
		t.Errorf("the name is read back as %q", veil(got, value))
	}
	if got := a.Tells(t, 1, "recall", "it was "+value); strings.Contains(got, value) || nameShape.MatchString(got) {
		t.Errorf("a value is read back as %q", veil(got, value))
	}
	if got := a.Calls(t, 1, "book", args("who", name)); got != args("who", value) {
		t.Errorf("the tool that needs it gets %q", veil(got, value))
	}
	for _, n := range []string{name, mine} {
		if got := a.Calls(t, 1, "post", args("notes", n)); strings.Contains(got, value) || got != "" && n == name {
			t.Errorf("another tool gets %q", veil(got, value))
		}
	}
	if got := a.Calls(t, 1, "note", `{"`+name+`":"x","notes":"x","notes":"y"}`); got != "" {
		t.Errorf("what can be read in two ways is kept as %q", veil(got, value))
	}
	if got := a.Calls(t, 1, "note", args("extra", "who knows")); got != "" {
		t.Errorf("an argument that nobody knows is kept as %q", veil(got, value))
	}
	for channel, least := range map[string]int{"memory": 2, "model": 3, "tool": 1} {
		if n := a.Entries(channel); n < least {
			t.Errorf("the ledger has %d entries of the channel %s, and not %d", n, channel, least)
		}
	}
	log := string(a.Kept())
	if strings.Contains(log, value) || !strings.Contains(log, `"remember"`) {
		t.Error("what the connector wrote besides has a value, or lacks the verb")
	}
}
