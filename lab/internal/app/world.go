package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/cli"
	trajworld "github.com/margaydev/margay/lab/traj/world"
)

// openWorld reads the world of a run, dev where none is named.
func openWorld(o *options) error {
	o.traj.setting = trajworld.Dev()
	if o.traj.world == "" {
		return nil
	}
	s, err := trajworld.Open(os.DirFS(o.traj.world))
	if err != nil {
		return failure("margay-lab world lint "+o.traj.world+" lists every mistake", "%s: %w", o.traj.world, err)
	}
	o.traj.setting = s
	return listRuns(o)
}

// listRuns lists a run where runs on its world are listed. Nothing runs on a
// test world that can't be listed.
func listRuns(o *options) error {
	if o.traj.setting.Name == trajworld.Dev().Name {
		return nil
	}
	list := filepath.Join(o.traj.world, "..", runsFile)
	if _, err := os.Stat(list); err != nil {
		o.traj.note = "this run is listed nowhere: there is no " + runsFile + " beside the world"
		return nil
	}
	if err := listRun(list, time.Now(), o.command, o.traj.setting); err != nil {
		return failure("runs on a test world are listed before they start; make the file writable", "%s can't be extended: %w", list, cli.Reason(err))
	}
	return nil
}

// runsFile lists the runs on the worlds that stand beside it.
const runsFile = "RUNS.md"

// typed is a command line without the folders of this machine.
func typed(name string, args []string) string {
	out := []string{name}
	for _, a := range args {
		flag, value, ok := strings.Cut(a, "=")
		switch {
		case filepath.IsAbs(a):
			a = filepath.Base(a)
		case ok && filepath.IsAbs(value):
			a = flag + "=" + filepath.Base(value)
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

// listRun appends a run to the list.
func listRun(file string, on time.Time, command string, s *trajworld.Setting) error {
	revision := cli.Version()["revision"]
	if revision == "" {
		revision = "unknown"
	}
	f, err := os.OpenFile(filepath.Clean(file), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	cell := strings.NewReplacer("|", "\\|", "\n", " ", "`", "'").Replace
	_, err = fmt.Fprintf(f, "| %s | %s | `%s` | %s | %s |\n", on.UTC().Format(time.DateOnly), cell(revision), cell(command), s.Name, s.Hash)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func (a *app) worldCommand() *cobra.Command {
	c := &cobra.Command{Use: "world", Short: "Check and read worlds of the suites traj and robust"}
	c.AddCommand(a.worldLintCommand(), a.worldDrawCommand())
	return c
}

func (a *app) worldLintCommand() *cobra.Command {
	least := trajworld.LeastCategories
	c := &cobra.Command{
		Use: "lint FOLDER", Short: "Find the mistakes of a world, and measure its shares", Args: cobra.ExactArgs(1),
		Long: "Find all mistakes in the files of a world, with file and line, and measure how much of its free text tasks need " +
			"and how many of its mentions are oblique. docs/format/world.md has the format.",
		RunE: func(_ *cobra.Command, args []string) error {
			check := trajworld.Lint(os.DirFS(args[0]), least)
			if err := a.Print(check, func(w io.Writer) { printCheck(w, check) }); err != nil {
				return err
			}
			if n := len(check.Mistakes); n > 0 {
				return failure("docs/format/world.md has the format", "%s: %s", args[0], plural(n, "mistake"))
			}
			return nil
		},
	}
	c.Flags().IntVar(&least, "categories", least, "the least `number` of categories")
	return c
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func printCheck(w io.Writer, c *trajworld.Check) {
	for _, m := range c.Mistakes {
		fmt.Fprintln(w, m)
	}
	if c.World == "" {
		return
	}
	fmt.Fprintf(w, "world %s, SHA-256 %s\n%d categories, %d tools, %d wordings of free text, %d of %d forms used\n",
		c.World, c.Hash, len(c.Categories), c.Tools, c.Texts, c.Forms, c.FormsKnown)
	fmt.Fprintf(w, "over %d trajectories:\n", c.Drawn)
	for _, s := range []struct {
		name  string
		share trajworld.Share
		least float64
	}{
		{"free texts at semi-trusted sinks that a task needs something of", c.Needed, trajworld.LeastNeeded},
		{"free texts at semi-trusted sinks without personal data", c.Plain, trajworld.LeastPlain},
		{"mentions in free text that are oblique", c.Oblique, trajworld.LeastOblique},
		{"the same at semi-trusted and adversarial sinks", c.ObliqueOthers, trajworld.LeastOblique},
		{"mentions in all arguments that are oblique", c.All, 0},
	} {
		fmt.Fprintf(w, "  %5.1f %%  of %5d  %s", 100*s.share.Share, s.share.Of, s.name)
		if s.least > 0 {
			fmt.Fprintf(w, " (at least %.0f %%)", 100*s.least)
		}
		fmt.Fprintln(w)
	}
}

func (a *app) worldDrawCommand() *cobra.Command {
	var seed uint64
	n := 3
	var category string
	c := &cobra.Command{
		Use: "draw FOLDER", Short: "Show a few trajectories of a world as they are drawn", Args: cobra.ExactArgs(1),
		Long: "Show a few trajectories of a world as they are drawn, to read how its texts come out. Mentions stand in [brackets], oblique ones in <angles>; " +
			"what the task needs of an argument stands behind it.",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := trajworld.Open(os.DirFS(args[0]))
			if err != nil {
				return failure("margay-lab world lint "+args[0]+" lists every mistake", "%s: %w", args[0], err)
			}
			shown := 0
			for _, t := range s.Generate(seed, n*len(s.Categories())*4).Tasks {
				if t.Long || category != "" && t.Category != category || shown >= n {
					continue
				}
				shown++
				printTask(a.Out, t)
			}
			if shown == 0 {
				return usage("categories are "+strings.Join(s.Categories(), ", "), "there is nothing of category %q", category)
			}
			return nil
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 9100, "seed of the draw; results are reported on others")
	c.Flags().IntVar(&n, "n", n, "trajectories")
	c.Flags().StringVar(&category, "category", "", "only of this `name`")
	return c
}

func printTask(w io.Writer, t *trajworld.Task) {
	fmt.Fprintf(w, "%s, %s: %s\n", t.ID, t.Category, t.Request)
	for i := range t.Steps {
		s := &t.Steps[i]
		fmt.Fprintf(w, "  %v", s)
		if s.Sink.Channel != flow.ChannelTool {
			fmt.Fprintf(w, ", channel %s", s.Sink.Channel)
		}
		fmt.Fprintln(w)
		for k := range s.Parts {
			p := &s.Parts[k]
			var wants []string
			for _, n := range s.Needs {
				if n.Path == p.Path {
					wants = append(wants, fmt.Sprintf("need %s %s", n.Field, n.Level))
				}
			}
			for _, kept := range s.Keeps {
				if kept.Path == p.Path {
					wants = append(wants, fmt.Sprintf("keep %q", kept.Text))
				}
			}
			fmt.Fprintf(w, "    %s: %s", p.Path, marked(p))
			if len(wants) > 0 {
				fmt.Fprintf(w, "   (%s)", strings.Join(wants, ", "))
			}
			fmt.Fprintln(w)
		}
	}
}

// marked is a text with its mentions in brackets.
func marked(p *trajworld.Part) string {
	var b strings.Builder
	at := 0
	for _, m := range p.Mentions {
		left, right := "[", "]"
		if m.Oblique {
			left, right = "<", ">"
		}
		b.WriteString(p.Text[at:m.Start] + left + p.Text[m.Start:m.End] + right)
		at = m.End
	}
	return b.String() + p.Text[at:]
}
