// Package effect names what a call does, and holds the table that says under
// whose influence it may do so unasked.
//
// A tool's name says little and a shell command can be anything, so policy is
// not written for names. Each call, and each part of a shell command, has an
// effect, and the table turns effects into clearances.
package effect

import (
	"fmt"
	"slices"
	"strings"
)

// Effect is what a call or a part of it does. Later effects are not stronger:
// a call may have several, and each must be admitted.
type Effect uint8

// Effects.
const (
	// Observe reads. It changes nothing and tells nobody.
	Observe Effect = iota
	// Edit changes files of a trusted workspace, or scratch files.
	Edit
	// Run runs code of the workspace: builds, tests, its own programs.
	Run
	// Persist makes something happen later, or outlive the task: hooks, CI,
	// shell start-up files, instructions of agents, scripts of packages, cron,
	// files outside every trusted workspace.
	Persist
	// Reach tells somebody outside the machine, or lets somebody outside
	// answer: the network, a push, a publication, a message.
	Reach
	// Spend uses up money or what stands for it.
	Spend
	// Destroy removes what can't be had back.
	Destroy
	// Administer changes Margay itself: configuration, state, answers.
	Administer
	count
)

var names = [count]string{"observe", "edit", "run", "persist", "reach", "spend", "destroy", "administer"}

// String returns the effect's name.
func (e Effect) String() string {
	if e < count {
		return names[e]
	}
	return "unknown effect"
}

// Parse reads what String wrote.
func Parse(s string) (Effect, error) {
	if i := slices.Index(names[:], s); i >= 0 {
		return Effect(i), nil
	}
	return 0, fmt.Errorf("unknown effect %q; known effects are %s", s, strings.Join(names[:], ", "))
}

// All lists the effects in their order.
func All() []Effect {
	out := make([]Effect, count)
	for i := range out {
		out[i] = Effect(i)
	}
	return out
}

// Acts reports whether an effect changes something or tells somebody.
func (e Effect) Acts() bool { return e != Observe }
