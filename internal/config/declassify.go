package config

import (
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Declassify says how releases are held to rubrics and charged in bits.
type Declassify struct {
	Mode string `yaml:"mode"` // "off", "report" or "on"
	// Rubrics is the folder of signed rubrics and of public keys that are
	// trusted; empty: rubrics in the state folder.
	Rubrics    string `yaml:"rubrics"`
	Defender   string `yaml:"defender"`   // "rules", "llm" or "none"
	LLM        LLM    `yaml:"llm"`        // whom the defender asks
	Validator  string `yaml:"validator"`  // "native", "z3" or "both"
	Challenges int    `yaml:"challenges"` // clauses of a second pass
	// Task is the category of what is done here: its rubric fixes the budget
	// of a trajectory. Empty: the rubrics of the first release.
	Task string `yaml:"task"`
	// Ask is how long a person has to agree that a call is made without what its
	// sink needs and may not be shown, and the call to be made again; empty:
	// nobody is asked.
	Ask string `yaml:"ask"`
	// Model is the model endpoint as a sink; without a class neither prompts
	// nor what tools tell are looked at.
	Model Sink `yaml:"model"`
	// Tools are the tools whose calls are looked at, by name; "*" is all that
	// are not named.
	Tools map[string]ReleaseTool `yaml:"tools"`
}

// LLM is an OpenAI-compatible endpoint that reads what is about to leave.
type LLM struct {
	URL   string `yaml:"url"`
	Model string `yaml:"model"`
	Key   string `yaml:"key"`
	// Remote: it is not on this machine, and may read everything.
	Remote bool   `yaml:"remote"`
	Wait   string `yaml:"wait"` // longest wait for an answer
}

// Patience returns declassify.llm.wait.
func (l *LLM) Patience() time.Duration {
	d, _ := time.ParseDuration(l.Wait) // checked by check
	return d
}

// Asking returns declassify.ask; 0: nobody is asked.
func (d *Declassify) Asking() time.Duration {
	wait, _ := time.ParseDuration(d.Ask) // checked by check
	return wait
}

func (l *LLM) check() error {
	u, err := url.Parse(l.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || l.Model == "" {
		return &Error{key: "declassify.llm", Detail: "declassify.llm needs the url of an endpoint, without credentials, and a model", Hint: "such as url: http://127.0.0.1:8080/v1"}
	}
	ip := net.ParseIP(u.Hostname())
	if !l.Remote && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return &Error{key: "declassify.llm.url", Detail: "declassify.llm.url is not on this machine, and the defender reads everything that is about to leave", Hint: "set declassify.llm.remote if it may"}
	}
	if d, err := time.ParseDuration(l.Wait); err != nil || d <= 0 {
		return &Error{key: "declassify.llm.wait", Detail: "declassify.llm.wait must be a duration such as 20s"}
	}
	return nil
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
	// Memory: the tool keeps what it is given beyond the trajectory; its class
	// is that of the worst who may read it later.
	Memory bool `yaml:"memory"`
	// Files are patterns of paths by the argument that has them, for a tool
	// that writes to many: calls that name no such file are not looked at.
	Files map[string][]string `yaml:"files"`
	// Trusted: nobody else writes what the tool tells.
	Trusted bool `yaml:"trusted"`
}

// Classes of sinks by their names.
var classes = []string{"required-service", "semi-trusted", "adversarial"}

func (d *Declassify) check() error {
	for _, one := range [][3]string{
		{"declassify.mode", d.Mode, "off report on"},
		{"declassify.defender", d.Defender, "rules llm none"},
		{"declassify.validator", d.Validator, "native z3 both"},
	} {
		if err := oneOf(one[0], one[1], strings.Fields(one[2])); err != nil {
			return err
		}
	}
	if d.Defender == "llm" {
		if err := d.LLM.check(); err != nil {
			return err
		}
	}
	if wait, err := time.ParseDuration(d.Ask); d.Ask != "" && (err != nil || wait <= 0) {
		return &Error{key: "declassify.ask", Detail: "declassify.ask must be a duration such as 10m, or empty"}
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
		for at, field := range t.Args {
			if at == "" || field == "" {
				return &Error{key: key, Detail: key + ".args: a path and a field are expected", Hint: `such as passengers.*.name: legal-name, or note: text`}
			}
		}
		for arg, patterns := range t.Files {
			if arg == "" || len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { _, err := path.Match(p, ""); return p == "" || err != nil }) {
				return &Error{key: key, Detail: key + ".files: an argument and patterns of paths are expected", Hint: `such as file_path: [CLAUDE.md, "memories/**"]`}
			}
		}
	}
	return nil
}
