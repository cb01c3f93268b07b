package app

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/console"
	"github.com/margaydev/margay/internal/console/schema"
)

//go:generate go run ../../cmd/margay docs --out ../../docs/cli.md
//go:generate go run ../../cmd/margay docs --api ../../docs/api/openapi.json ../../internal/console ../../internal/console/access ../../internal/console/results ../../mediator ../../confirm ../../flow ../../bench
//go:generate go run ../../cmd/margay bench docs --results ../../docs/bench ../../docs/benchmarks.md ../../README.md

// docsCommand writes docs/cli.md. It is for those who work on Margay.
func (a *app) docsCommand() *cobra.Command {
	var out, api string
	c := &cobra.Command{
		Use: "docs", Short: "Write the reference of the command line, or of the console's API", Hidden: true, Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if api != "" {
				return writeAPI(api, args)
			}
			text := reference((&app{}).root()) // one that has not run, which adds flags
			if out == "" {
				_, err := io.WriteString(a.out, text)
				return err
			}
			return writeFile(out, []byte(text))
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` to write (default standard output)")
	c.Flags().StringVar(&api, "api", "", "`file` to write the API of the console to; arguments are the folders of its types")
	return c
}

// writeAPI writes the console's API, with the comments of its types.
func writeAPI(file string, dirs []string) error {
	said := schema.Description{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				d, ok := n.(*ast.GenDecl)
				if !ok {
					return true
				}
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						describeType(said, t, d.Doc.Text())
					}
				}
				return false
			})
		}
	}
	b, err := json.MarshalIndent(console.Describe(said), "", " ")
	if err != nil {
		return err
	}
	return writeFile(file, append(b, '\n'))
}

func describeType(said schema.Description, t *ast.TypeSpec, doc string) {
	fields, ok := t.Type.(*ast.StructType)
	if !ok || !t.Name.IsExported() {
		return
	}
	said[t.Name.Name] = strings.Join(strings.Fields(doc), " ")
	for _, f := range fields.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		for _, name := range f.Names {
			said[t.Name.Name+"."+name.Name] = text
		}
	}
}

// reference is docs/cli.md.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("<!-- Written by go generate ./internal/app; do not edit. -->\n\n# The command line\n\n" + root.Long + "\n\n")
	b.WriteString("Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 findings (`scan`, and where `lint`, `verify`, `list` and `test` say so); `margay run` returns its command's code, `margay hook` 0 or 2. " +
		"An error is one line, `margay: what is wrong`, and one more, `hint: what to do next`; with `--json` it is a document on standard error. " +
		"Results go to standard output, progress and logs to standard error. No command prints the value of a secret.\n\n")
	b.WriteString("Flags of every command:\n\n" + flags(root.PersistentFlags()) + "\n")
	for _, c := range root.Commands() {
		section(&b, c, 2)
	}
	b.WriteString("## Environment\n\n| variable | meaning |\n|---|---|\n" +
		"| `MARGAY_CONFIG` | the configuration file, where `--config` names none |\n" +
		"| `MARGAY_KEYS` | the three keys as 96 bytes in base64, instead of key files |\n" +
		"| `MARGAY_LEDGER_KEY` | the key that signs the ledger as 32 bytes in base64, instead of a key file |\n" +
		"| `MARGAY_TRAJECTORY` | the trajectory that `margay run` gives to its child, for `margay mcp` |\n" +
		"| `MARGAY_<KEY>` | any key of the configuration: `limits.held` is `MARGAY_LIMITS_HELD` |\n" +
		"| `OPENAI_BASE_URL`, `OPENAI_API_BASE` | the upstream, where nothing else names one |\n" +
		"| `HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE` | on the way to upstreams |\n" +
		"| `NO_COLOR` | no colour on a terminal |\n\n" +
		"## Configuration\n\n`margay config example`:\n\n```yaml\n" + config.Example + "```\n")
	return b.String()
}

func section(b *strings.Builder, c *cobra.Command, level int) {
	if !c.IsAvailableCommand() || c.Name() == "help" {
		return
	}
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(b, "%s %s\n\n", strings.Repeat("#", level), c.CommandPath())
	if c.Name() == "completion" {
		b.WriteString("Write a completion script for bash, zsh, fish or powershell: `source <(margay completion bash)`.\n\n")
		return
	}
	if c.Runnable() && !c.HasSubCommands() {
		fmt.Fprintf(b, "    %s\n\n", c.UseLine())
	}
	b.WriteString(long + "\n\n")
	if c.Example != "" {
		b.WriteString("```sh\n" + strings.TrimPrefix(strings.ReplaceAll(c.Example, "\n  ", "\n"), "  ") + "\n```\n\n")
	}
	if f := flags(c.LocalNonPersistentFlags()); f != "" {
		b.WriteString(f + "\n")
	}
	for _, s := range c.Commands() {
		section(b, s, level+1)
	}
}

// flags is a table of flags, or empty.
func flags(fs *pflag.FlagSet) string {
	var b strings.Builder
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name, text := pflag.UnquoteUsage(f)
		flag := "--" + f.Name
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand + ", " + flag
		}
		if name != "" {
			flag += " " + strings.ToUpper(name)
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && !strings.Contains(text, "default") {
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", flag, strings.ReplaceAll(text, "|", `\|`))
	})
	if b.Len() == 0 {
		return ""
	}
	return "| flag | |\n|---|---|\n" + b.String()
}
