package config

import (
	"time"
)

// Taint says how tool calls are held to what they may follow from.
type Taint struct {
	Mode string `yaml:"mode"` // "off", "report" or "on"
	// Packs are the names of built-in packs and files of others; empty: the
	// built-in ones of harnesses and servers.
	Packs []string `yaml:"packs"`
	// Servers are MCP servers that the harness has by another name than their
	// pack: the name there, and the pack's.
	Servers map[string]string `yaml:"servers"`
	Lattice string            `yaml:"lattice"` // "four-point" or "sets"
	Self    string            `yaml:"self"`    // the user's name, in sets
	// Lists are what the packs' conditions refer to by name.
	Lists  map[string][]string `yaml:"lists"`
	Screen string              `yaml:"screen"` // "replay", "all", "none" or "lexical"
	Wait   string              `yaml:"wait"`   // longest wait for a person's answer
	// GoOn is how often, in one turn, a model whose calls were all refused is
	// told so and goes on at once.
	GoOn int `yaml:"go_on"`
}

func (t *Taint) check() error {
	if err := oneOf("taint.mode", t.Mode, []string{"off", "report", "on"}); err != nil {
		return err
	}
	if err := oneOf("taint.lattice", t.Lattice, []string{"four-point", "sets"}); err != nil {
		return err
	}
	if err := oneOf("taint.screen", t.Screen, []string{"replay", "all", "none", "lexical"}); err != nil {
		return err
	}
	if t.GoOn < 0 || t.GoOn > 8 {
		return &Error{key: "taint.go_on", Detail: "taint.go_on must be between 0 and 8"}
	}
	if t.Lattice == "sets" && t.Self == "" {
		return &Error{key: "taint.self", Detail: "taint.self is missing", Hint: "in the lattice of sets, name the user: usually the mail address"}
	}
	if d, err := time.ParseDuration(t.Wait); err != nil || d <= 0 {
		return &Error{key: "taint.wait", Detail: "taint.wait must be a duration such as 2m"}
	}
	return nil
}

// Patience returns taint.wait.
func (t *Taint) Patience() time.Duration {
	d, _ := time.ParseDuration(t.Wait) // checked by check
	return d
}
