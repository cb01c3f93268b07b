package drafts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

// schema is what a draft reads of the JSON Schema of arguments.
type schema struct {
	Type       any               `json:"type"`
	Format     string            `json:"format"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
}

// maxDepth bounds how deep arguments are read. What is deeper is text.
const maxDepth = 6

// UnmarshalJSON takes schemas of other forms (true, lists) for ones that say nothing.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	return json.Unmarshal(b, (*plain)(s))
}

// formats are those of JSON Schema, and names of arguments, that say a field.
// Most names are known by the clauses of the library.
var formats = map[string]string{
	"email": "email", "idn-email": "email", "e_mail": "email", "email_address": "email", "phone": "phone", "tel": "phone", "password": "password",
}

// humps are where one word of a name ends and the next starts.
var humps = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// RubricDraft is a rubric for tools, and how the configuration mediates them.
type RubricDraft struct {
	Rubric string   `json:"rubric"` // YAML
	Config string   `json:"config"` // YAML
	Fields []string `json:"fields"` // that arguments have by their names or formats
}

// DraftRubric drafts a rubric for tools. Names and formats of arguments say which
// fields they may have. Closed sets of values are plain, and everything else is
// text. Nothing is admitted but pseudonyms.
func DraftRubric(name string, tools []Tool, now time.Time) (*RubricDraft, error) {
	text, err := library.Starter("all", library.StarterFields(), now)
	if err != nil {
		return nil, err
	}
	all, err := rubric.Parse("all", []byte(text))
	if err != nil {
		return nil, err
	}
	d := rubricDrafter{all: rubric.Combine(all), fields: map[string]bool{}}
	fmt.Fprintf(&d.config, "# DRAFT, NOT REVIEWED: say who each recipient is, and correct the arguments.\ndeclassify:\n  mode: report\n  task: %[1]s\n  model: {action: %[1]s, class: semi-trusted}\n  tools:\n", name)
	for i := range tools {
		var s schema
		if err := json.Unmarshal(tools[i].schema, &s); err != nil && tools[i].schema != nil {
			return nil, fmt.Errorf("the schema of %s can't be read: %w", quoted(tools[i].Name), err)
		}
		d.args = map[string]string{}
		d.walk("", &s, 0)
		fmt.Fprintf(&d.config, "    %s:\n      action: %s\n      class: adversarial           # or semi-trusted, or required-service\n      args: {", quoted(tools[i].Name), name)
		for j, path := range slices.Sorted(maps.Keys(d.args)) {
			fmt.Fprintf(&d.config, "%s%s: %s", map[bool]string{true: ", "}[j > 0], quoted(path), d.args[path])
		}
		d.config.WriteString("}\n")
	}
	out := &RubricDraft{Config: d.config.String(), Fields: slices.AppendSeq([]string{}, maps.Keys(d.fields))}
	slices.Sort(out.Fields)
	fields := out.Fields
	if len(fields) == 0 {
		fields = []string{"email", "legal-name"} // a rubric has some
	}
	if text, err = library.Starter(name, fields, now); err != nil {
		return nil, err
	}
	const residual = "# residual:\n#   required-service: ['^notes$']\n"
	text = strings.Replace(text, residual, "residual:                   # prompts and what tools return\n  required-service: ['^content$']\n  semi-trusted: ['^content$']\n", 1)
	out.Rubric = "# DRAFT, NOT REVIEWED. Margay wrote it from names and formats of arguments; correct the\n# populations, say who needs a field, and what may be shown. docs/rubrics.md says how.\n" + text
	_, err = rubric.Parse(name, []byte(out.Rubric))
	return out, err
}

type rubricDrafter struct {
	all    *rubric.Resolved // knows all fields
	config strings.Builder
	fields map[string]bool
	args   map[string]string // of one tool
}

// walk notes the arguments below a path.
func (d *rubricDrafter) walk(path string, s *schema, depth int) {
	if depth > maxDepth || len(d.args) >= maxArgs {
		return // an argument that is not listed is text
	}
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if sub := s.Properties[key]; key != "*" && key != "" { // or it would mean others, too
			d.walk(strings.TrimPrefix(path+"."+strings.ReplaceAll(key, ".", "_"), "."), &sub, depth+1)
		}
	}
	switch {
	case s.Items != nil:
		d.walk(strings.TrimPrefix(path+".*", "."), s.Items, depth+1)
	case len(s.Properties) == 0 && path != "":
		d.args[path] = d.field(path, s)
	}
}

// field says what an argument is, by its format and its name.
func (d *rubricDrafter) field(path string, s *schema) string {
	words := strings.ToLower(humps.ReplaceAllString(strings.TrimSuffix(path, ".*"), "${1}_$2"))
	field := cmp.Or(formats[s.Format], formats[words[strings.LastIndexByte(words, '.')+1:]])
	if found := d.all.Match(words, "x"); field == "" && len(found) > 0 {
		field = found[0].Field
	}
	switch {
	case field != "" && s.Type != "boolean":
		d.fields[field] = true
		return field
	case len(s.Enum) > 0, s.Type == "boolean":
		return "plain"
	default:
		return "text"
	}
}

// RubricCommand is margay rubric draft.
func RubricCommand(of *invocation.App) *cobra.Command {
	a := &app{of}
	var tools, name, out string
	c := &cobra.Command{
		Use: "draft --tools FILE --name NAME", Short: "Write a rubric for review from a list of tools", Args: cobra.NoArgs,
		Long: `Write a rubric for review from a list of tools, and the configuration that mediates
their calls. The list is JSON in the form of the Model Context Protocol, OpenAI or
Anthropic.

Names and formats of arguments say which fields they may have. The draft is cautious:
recipients are adversarial, and get pseudonyms at most. It passes lint
and has samples. Say who needs which field, then: margay rubric lint FILE. With --out,
only the configuration is printed.`,
		Example: "  margay rubric draft --tools tools.json --name vet-clinic --out vet-clinic.yaml",
		RunE: func(*cobra.Command, []string) error {
			const how = "margay rubric draft --tools tools.json --name vet-clinic"
			if tools == "" || Slug(name) != name || name == "" {
				return problem.Usage(how, "a draft needs --tools and a --name of up to 48 lower-case letters, digits and dashes")
			}
			list, err := a.saved(tools, "it is a list of tools, as JSON", Parse)
			if err != nil {
				return err
			}
			d, err := DraftRubric(name, list, time.Now())
			if err != nil {
				return problem.Failure("docs/format/rubric.md has the format", "%w", err)
			}
			text := d.Rubric + "\n# The configuration:\n#\n# " + strings.ReplaceAll(strings.TrimSuffix(d.Config, "\n"), "\n", "\n# ") + "\n"
			if out != "" && out != "-" {
				if err := cli.WriteFile(out, []byte(d.Rubric)); err != nil {
					return err
				}
				a.Note("wrote %s, a draft for %s; review it, then: margay rubric lint %s", out, invocation.Count(len(list), "tool"), out)
				text = d.Config
			}
			return a.Print(d, func(w io.Writer) { _, _ = io.WriteString(w, text) })
		},
	}
	c.Flags().StringVar(&tools, "tools", "", "`file` with the list of tools; - is standard input")
	c.Flags().StringVar(&name, "name", "", "`name` of the rubric and its category")
	c.Flags().StringVar(&out, "out", "", "`file` to write; - for standard output (the default)")
	return c
}

// fromAny reads a tool as OpenAI or Anthropic list it: its definition in the
// form of the Model Context Protocol.
func fromAny(raw json.RawMessage) (json.RawMessage, json.RawMessage) {
	var d struct {
		Function   json.RawMessage `json:"function"`
		Parameters json.RawMessage `json:"parameters"`
		Anthropic  json.RawMessage `json:"input_schema"`
		MCP        json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(raw, &d) == nil && len(d.Function) > 0 && d.Function[0] == '{' {
		return fromAny(d.Function)
	}
	for _, s := range []json.RawMessage{d.MCP, d.Anthropic, d.Parameters} {
		if cmp.Or(string(s), "null") != "null" {
			return raw, s
		}
	}
	return raw, nil
}
