package config

import (
	"cmp"
	"maps"
	"net/url"
	"path"
	"slices"

	"github.com/margaydev/margay/internal/address"
)

// Declassify says how releases are checked by rubrics and charged in bits.
type Declassify struct {
	Mode string `yaml:"mode" is:"one off report on"` // "off", "report" or "on"
	// Rubrics is the folder of signed rubrics and of public keys that are
	// trusted; empty: rubrics in the state folder.
	Rubrics    string `yaml:"rubrics"`
	Defender   string `yaml:"defender" is:"one rules tagger llm none"` // "rules", "tagger", "llm" or "none"
	LLM        LLM    `yaml:"llm"`                                     // the endpoint of the defender llm
	Validator  string `yaml:"validator" is:"one native z3 both"`       // "native", "z3" or "both"
	Challenges int    `yaml:"challenges" is:"between 0 and 64"`        // clauses of a second pass
	// Task is the category of the agent's task: its rubric fixes the budget of a
	// trajectory. Empty: the rubrics of the first release.
	Task string `yaml:"task"`
	// Ask is how long to wait for a person to agree to a call without a value that
	// its sink needs and may not learn, and for the call to be repeated; empty:
	// nobody is asked.
	Ask Duration `yaml:"ask" is:"duration 10m" or:"empty"`
	// Model is the model endpoint as a sink; without a class neither prompts nor
	// results of tools are checked.
	Model Sink `yaml:"model"`
	// Profile is a YAML file of values that are known in advance, in lists by
	// field: {legal-name: [Maria Silva], dob: [1990-03-14]}.
	Profile string `yaml:"profile"`
	// Tools are the tools whose calls are checked, by name; "*" is every other
	// tool.
	Tools map[string]ReleaseTool `yaml:"tools"`
}

// LLM is an OpenAI-compatible endpoint that an adviser asks.
type LLM struct {
	URL   string `yaml:"url"`
	Model string `yaml:"model"`
	Key   string `yaml:"key"`
	// Remote: it is not on this machine, and may read everything.
	Remote bool     `yaml:"remote"`
	Wait   Duration `yaml:"wait"` // longest wait for an answer
}

// check checks the endpoint at a key, which reads something.
func (l *LLM) check(key, reads string) error {
	u, err := url.Parse(l.URL)
	if err != nil {
		u = &url.URL{}
	}
	return first(
		mistake{u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil, key, key + " needs the url of an endpoint, without credentials", "such as url: http://127.0.0.1:8080/v1"},
		mistake{l.Model == "", key, key + " needs a model", "the name that the endpoint has for it"},
		mistake{address.Odd(u.Hostname()), key + ".url", key + ".url has a host that programs read differently", plainHost},
		mistake{!l.Remote && !address.Here(u.Hostname()), key + ".url", key + ".url is not on this machine, and " + reads, "set " + key + ".remote if it may"},
		mistake{l.Wait.Value() <= 0, key + ".wait", key + ".wait must be a duration such as 20s", ""},
	)
}

// Sink is where releases go.
type Sink struct {
	Action string `yaml:"action"`                                                              // category, as rubrics name it
	Sink   string `yaml:"sink"`                                                                // its name; empty: the tool's or the upstream's
	Class  string `yaml:"class" is:"one required-service semi-trusted adversarial" or:"empty"` // "required-service", "semi-trusted" or "adversarial"
}

// ReleaseTool is a tool as a sink, with what its arguments are.
type ReleaseTool struct {
	Action string `yaml:"action"`
	Sink   string `yaml:"sink"`
	Class  string `yaml:"class" is:"one required-service semi-trusted adversarial" or:"empty"`
	// Args are the fields of arguments by path: keys and indices joined by dots,
	// "*" for any. "text" is free text, "plain" is not secret, "recipient" says who
	// gets the call.
	Args map[string]string `yaml:"args"`
	// Memory: the tool keeps its arguments beyond the trajectory; its class is that
	// of the least trusted reader.
	Memory bool `yaml:"memory"`
	// Files are patterns of paths by argument, for a tool that writes to many
	// files: calls that name no such file are not checked.
	Files map[string][]string `yaml:"files"`
	// Trusted: nobody else writes what the tool returns.
	Trusted bool `yaml:"trusted"`
	// Results are the fields of what the tool returns as JSON, by path, as in Args.
	// Those values are known from then on, wherever they leave.
	Results map[string]string `yaml:"results"`
}

func (d *Declassify) check() (err error) {
	if d.Defender == "llm" {
		err = d.LLM.check("declassify.llm", "the defender reads everything that is about to leave")
	}
	bad := func(pattern string) bool {
		_, err := path.Match(pattern, "")
		return pattern == "" || err != nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.Tools)) {
		t, key := d.Tools[name], "declassify.tools."+name
		for at, field := range t.Args {
			err = cmp.Or(err, first(mistake{at == "" || field == "", key, key + ".args must have a field for each path", `such as passengers.*.name: legal-name, or note: text`}))
		}
		for arg, files := range t.Files {
			err = cmp.Or(err, first(mistake{
				arg == "" || len(files) == 0 || slices.ContainsFunc(files, bad), key, key + ".files must have patterns of paths for each argument",
				`such as file_path: [CLAUDE.md, "memories/**"]`,
			}))
		}
	}
	return err
}
