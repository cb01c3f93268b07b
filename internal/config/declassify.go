package config

import (
	"maps"
	"slices"
	"strings"
)

// Declassify says how releases are held to rubrics and charged in bits.
type Declassify struct {
	Mode string `yaml:"mode"` // "off", "report" or "on"
	// Rubrics is the folder of signed rubrics and of public keys that are
	// trusted; empty: rubrics in the state folder.
	Rubrics    string `yaml:"rubrics"`
	Defender   string `yaml:"defender"`   // "rules" or "none"
	Validator  string `yaml:"validator"`  // "native", "z3" or "both"
	Challenges int    `yaml:"challenges"` // clauses of a second pass
	// Task is the category of what is done here: its rubric fixes the budget
	// of a trajectory. Empty: the rubrics of the first release.
	Task string `yaml:"task"`
	// Model is the model endpoint as a sink; without a class neither prompts
	// nor what tools tell are looked at.
	Model Sink `yaml:"model"`
	// Tools are the tools whose calls are looked at, by name.
	Tools map[string]ReleaseTool `yaml:"tools"`
}

// Sink is where releases go.
type Sink struct {
	Action string `yaml:"action"` // category, as rubrics name it
	Sink   string `yaml:"sink"`   // its name; empty: the tool's or the upstream's
	Class  string `yaml:"class"`  // "required-service", "semi-trusted" or "adversarial"
}

// ReleaseTool is a tool as a sink, with what its arguments are.
type ReleaseTool struct {
	Action string `yaml:"action"`
	Sink   string `yaml:"sink"`
	Class  string `yaml:"class"`
	// Args are the fields of arguments by path: keys and indices joined by
	// dots, "*" for any; "text" is free text, "plain" no secret.
	Args map[string]string `yaml:"args"`
	// Memory: the tool keeps what it is given; its class is that of the worst
	// who may read it later.
	Memory bool `yaml:"memory"`
	// Trusted: nobody else writes what the tool tells.
	Trusted bool `yaml:"trusted"`
}

// Classes of sinks by their names.
var classes = []string{"required-service", "semi-trusted", "adversarial"}

func (d *Declassify) check() error {
	for _, one := range [][3]string{
		{"declassify.mode", d.Mode, "off report on"},
		{"declassify.defender", d.Defender, "rules none"},
		{"declassify.validator", d.Validator, "native z3 both"},
	} {
		if err := oneOf(one[0], one[1], strings.Fields(one[2])); err != nil {
			return err
		}
	}
	if d.Challenges < 0 || d.Challenges > 64 {
		return &Error{key: "declassify.challenges", Detail: "declassify.challenges must be between 0 and 64"}
	}
	if d.Model.Class != "" {
		if err := oneOf("declassify.model.class", d.Model.Class, classes); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Tools)) {
		t := d.Tools[name]
		key := "declassify.tools." + name
		if err := oneOf(key+".class", t.Class, append([]string{""}, classes...)); err != nil {
			return err
		}
		for path, field := range t.Args {
			if path == "" || field == "" {
				return &Error{key: key, Detail: key + ".args: a path and a field are expected", Hint: `such as passengers.*.name: legal-name, or note: text`}
			}
		}
	}
	return nil
}
