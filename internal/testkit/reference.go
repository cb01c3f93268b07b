package testkit

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Reference writes what a command line can do, as Markdown: the flags of every
// command, then each command below the one it belongs to.
func Reference(b *strings.Builder, root *cobra.Command) {
	b.WriteString("Flags of all commands:\n\n" + flags(root.PersistentFlags()) + "\n")
	for _, c := range root.Commands() {
		section(b, c, 2)
	}
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
		b.WriteString("Write a completion script for bash, zsh, fish or powershell: `source <(" + c.Root().Name() + " completion bash)`.\n\n")
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
