package app

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/rubrics"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

func (a *app) rubricSign() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "sign FILE", Short: "Sign a rubric for others to publish", Args: cobra.ExactArgs(1),
		Long: "Sign a rubric with your key. Who trusts your key (margay rubric list --key prints it; it goes into their folder of rubrics as NAME.pub) can publish the file. " +
			"The rubric must pass margay rubric lint.",
		Example: "  margay rubric sign booking.yaml --out booking.rubric",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := readRubric(args[0])
			if err != nil {
				return err
			}
			if rubrics.IsSigned(b) && out == "" { // somebody's signature would be lost
				return usage("margay rubric sign "+args[0]+" --out mine"+rubric.Ext, "%s is signed already", args[0])
			}
			r, err := a.lintedRubric(args[0])
			if err != nil {
				return err
			}
			f, err := a.registry()
			if err != nil {
				return err
			}
			key, err := f.Key()
			if err != nil {
				return failure(problem.Doctor, "%w", err)
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + rubric.Ext
			}
			if out == "-" {
				_, err := a.out.Write(rubric.Sign(r, key))
				return err
			}
			if err := writeFile(out, rubric.Sign(r, key)); err != nil {
				return err
			}
			return a.print(map[string]string{"file": out, "hash": r.Hash().String()}, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", out, r) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` to write; - for standard output (default: beside the rubric, with the ending "+rubric.Ext+")")
	return c
}

// lintedRubric is a rubric without findings.
func (a *app) lintedRubric(name string) (*rubric.Rubric, error) {
	r, err := goodRubric(name)
	if err != nil {
		return nil, err
	}
	if f := rubric.Lint(r, time.Now()); len(f) > 0 {
		return nil, usage("margay rubric lint "+name+" lists what it finds", "%s, the first: %s", count(len(f), "finding"), f[0].String())
	}
	return r, nil
}

// verified is what margay rubric verify tells of a file.
type verified struct {
	File   string `json:"file"`
	OK     bool   `json:"ok"`
	Rubric string `json:"rubric,omitempty"`
	Hash   string `json:"hash,omitempty"`
	Rule   string `json:"rule,omitempty"` // that refused it
	Detail string `json:"detail,omitempty"`
}

func (a *app) rubricVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE...", Short: "Check signed rubrics against the keys that you trust", Args: cobra.MinimumNArgs(1),
		Long:    "Check signed rubrics: format, signature by a key that you trust (your own, and the NAME.pub files in the folder of rubrics), canonical bytes, expiry. Exit code 3 means that one is refused.",
		Example: "  margay rubric verify booking.rubric",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := a.registry()
			if err != nil {
				return err
			}
			trusted, err := f.Trusted()
			if err != nil {
				return failure(problem.Doctor, "%w", err)
			}
			var out []verified
			for _, name := range args {
				b, err := readRubric(name)
				if err != nil {
					return err
				}
				v := verified{File: name}
				r, err := rubric.NewRegistry(rubric.Config{Keys: trusted}).Add(name, b)
				var bad *rubric.Refusal
				if errors.As(err, &bad) {
					v.Rule, v.Detail = bad.Rule, bad.Err.Error()
					a.code = exitFindings
				} else {
					v.OK, v.Rubric, v.Hash = true, r.String(), r.Hash().String()
				}
				out = append(out, v)
			}
			return a.print(out, func(w io.Writer) {
				for _, v := range out {
					if v.OK {
						fmt.Fprintf(w, "%s: ok: %s\n", v.File, v.Rubric)
					} else {
						fmt.Fprintf(w, "%s: refused: %s (%s)\n", v.File, v.Detail, v.Rule)
					}
				}
			})
		},
	}
}

func (a *app) rubricPublish() *cobra.Command {
	builtin := false
	c := &cobra.Command{
		Use: "publish FILE...", Short: "Put rubrics into force", Args: cobra.ArbitraryArgs,
		Long: "Put rubrics into force, all or none: those in YAML under your own key, after lint; signed ones as they are, if you trust their key. " +
			"A rubric of the same name with a lower revision is no longer found. With --builtin, those that come with Margay, under your own key. They hold from the next start on.",
		Example: "  margay rubric publish booking.yaml\n  margay rubric publish --builtin",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := a.registry()
			if err != nil {
				return err
			}
			if len(args) == 0 && !builtin {
				return usage("such as margay rubric publish booking.yaml, or margay rubric publish --builtin", "give the files of rubrics")
			}
			var known []*rubric.Rubric
			if builtin {
				for _, name := range library.Names() {
					r, err := library.Rubric(name)
					if err != nil {
						return err
					}
					known = append(known, r)
				}
			}
			names, err := a.publish(f, args, known...)
			if err != nil {
				return err
			}
			return a.print(map[string]any{"files": names}, func(w io.Writer) {
				for _, n := range names {
					fmt.Fprintln(w, n)
				}
			})
		},
	}
	c.Flags().BoolVar(&builtin, "builtin", false, "publish the rubrics that come with Margay")
	return c
}

// publish puts files into force, and rubrics of the user's own.
func (a *app) publish(f rubrics.Folder, args []string, own ...*rubric.Rubric) ([]string, error) {
	var all []rubrics.Signed
	for _, name := range args {
		b, err := readRubric(name)
		if err != nil {
			return nil, err
		}
		if !rubrics.IsSigned(b) {
			r, err := a.lintedRubric(name)
			if err != nil {
				return nil, err
			}
			own = append(own, r)
			continue
		}
		trusted, err := f.Trusted()
		if err != nil {
			return nil, failure(problem.Doctor, "%w", err)
		}
		r, err := rubric.NewRegistry(rubric.Config{Keys: trusted}).Add(name, b)
		if err != nil {
			hint := "ask whoever signed it for a new one"
			if errors.Is(err, rubric.ErrUnknownKey) {
				hint = "if you trust who signed it, put their public key into " + f.Dir() + " as NAME" + rubric.KeyExt
			}
			return nil, failure(hint, "%w", err)
		}
		all = append(all, rubrics.Signed{Rubric: r, File: b})
	}
	if len(own) > 0 {
		key, err := f.Key()
		if err != nil {
			return nil, failure(problem.Doctor, "%w", err)
		}
		for _, r := range own {
			all = append(all, rubrics.Signed{Rubric: r, File: rubric.Sign(r, key)})
		}
	}
	names, err := f.Put(all...)
	if errors.Is(err, rubrics.ErrOlder) {
		return nil, usage("count up its revision", "%w", err)
	}
	if err != nil {
		return nil, failure(problem.Doctor, "%w", err)
	}
	return names, nil
}

// listedRubric is a row of margay rubric list.
type listedRubric struct {
	Name     string `json:"name,omitempty"`
	Revision int    `json:"revision,omitempty"`
	Hash     string `json:"hash,omitempty"`
	Expires  string `json:"expires,omitempty"`
	State    string `json:"state"` // "in force", "superseded", "expired" or "refused"
	Detail   string `json:"detail,omitempty"`
}

func (a *app) rubricList() *cobra.Command {
	var key bool
	c := &cobra.Command{
		Use: "list", Short: "List the rubrics that are published", Args: cobra.NoArgs,
		Long:    "List the rubrics that are published, with those that are refused and why. With --key, print your public key for others to trust. Exit code 3 means that one is refused.",
		Example: "  margay rubric list\n  margay rubric list --key > me.pub",
		RunE: func(cmd *cobra.Command, args []string) error {
			if key {
				return a.printKey()
			}
			reg, refused, err := a.openRegistry()
			if err != nil {
				return err
			}
			out := []listedRubric{}
			now := time.Now()
			for _, r := range reg.All() {
				l := listedRubric{r.Name(), r.Revision(), r.Hash().String(), r.Expires().AddDate(0, 0, -1).Format(time.DateOnly), "in force", r.Title()}
				switch {
				case !now.Before(r.Expires()):
					l.State = "expired"
				case !reg.Active(r):
					l.State = "superseded"
				}
				out = append(out, l)
			}
			for _, bad := range refused {
				a.code = exitFindings
				if !errors.Is(bad, rubric.ErrExpired) {
					out = append(out, listedRubric{State: "refused", Detail: bad.Error()})
				}
			}
			return a.print(out, func(w io.Writer) {
				t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
				fmt.Fprintln(t, "rubric\trevision\thash\tlast day\tstate\tfor")
				for _, l := range out {
					if l.State != "refused" {
						fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\n", l.Name, l.Revision, l.Hash[:12], l.Expires, l.State, l.Detail)
					}
				}
				_ = t.Flush()
				for _, l := range out {
					if l.State == "refused" {
						fmt.Fprintln(w, l.Detail)
					}
				}
			})
		},
	}
	c.Flags().BoolVar(&key, "key", false, "print your public key instead")
	return c
}

func (a *app) printKey() error {
	f, err := a.registry()
	if err != nil {
		return err
	}
	k, err := f.Public()
	if err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	return a.print(map[string]string{"id": rubric.KeyID(k), "key": string(rubric.FormatKey(k))}, func(w io.Writer) { _, _ = w.Write(rubric.FormatKey(k)) })
}
