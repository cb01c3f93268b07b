package policies

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/lint"
	"github.com/margaydev/margay/rubric/signed"
)

func (a *app) rubricSign() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "sign FILE", Short: "Sign a rubric for others to publish", Args: cobra.ExactArgs(1),
		Long: "Sign a rubric with your key. Whoever trusts your key can publish the file: margay rubric list --key prints the key, and it goes into their folder of rubrics as NAME.pub. " +
			"The rubric must pass margay rubric lint.",
		Example: "  margay rubric sign booking.yaml --out booking.rubric",
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := readRubric(args[0])
			if err != nil {
				return err
			}
			if signed.IsEnvelope(b) && out == "" { // the file would lose its signature
				return problem.Usage("margay rubric sign "+args[0]+" --out mine"+signed.Ext, "%s is signed already", args[0])
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
				return problem.Unexpected(err)
			}
			if out == "" {
				out = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + signed.Ext
			}
			if out == "-" {
				_, err := a.Out.Write(rubric.Sign(r, key))
				return err
			}
			if err := cli.WriteFile(out, rubric.Sign(r, key)); err != nil {
				return err
			}
			return a.Print(map[string]string{"file": out, "hash": r.Hash().String()}, func(w io.Writer) { cli.Fprintf(w, "%s: %s\n", out, r) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` to write; - for standard output (default: beside the rubric, with the ending "+signed.Ext+")")
	return c
}

// lintedRubric is a rubric without findings.
func (a *app) lintedRubric(name string) (*rubric.Rubric, error) {
	r, err := goodRubric(name)
	if err != nil {
		return nil, err
	}
	if f := lint.Check(r, time.Now()); len(f) > 0 {
		return nil, problem.Usage("margay rubric lint "+name+" lists what it finds", "%s, the first: %s", invocation.Count(len(f), "finding"), f[0].String())
	}
	return r, nil
}

// verified is the result of margay rubric verify for a file.
type verified struct {
	File   string `json:"file"`
	OK     bool   `json:"ok"`
	Rubric string `json:"rubric,omitempty"`
	Hash   string `json:"hash,omitempty"`
	Rule   string `json:"rule,omitempty"` // the rule that refused it
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
			var out []verified
			for _, name := range args {
				b, err := readRubric(name)
				if err != nil {
					return err
				}
				v := verified{File: name}
				r, err := f.Verify(name, b)
				var bad *rubric.Refusal
				switch {
				case errors.As(err, &bad):
					v.Rule, v.Detail = bad.Rule, bad.Err.Error()
					a.Code = problem.Findings
				case err != nil:
					return problem.Unexpected(err)
				default:
					v.OK, v.Rubric, v.Hash = true, r.String(), r.Hash().String()
				}
				out = append(out, v)
			}
			return a.Print(out, func(w io.Writer) {
				for _, v := range out {
					if v.OK {
						cli.Fprintf(w, "%s: ok: %s\n", v.File, v.Rubric)
					} else {
						cli.Fprintf(w, "%s: refused: %s (%s)\n", v.File, v.Detail, v.Rule)
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
			"A rubric replaces one of the same name with a lower revision. With --builtin, publish those that come with Margay, under your own key. Rubrics hold from the next start on.",
		Example: "  margay rubric publish booking.yaml\n  margay rubric publish --builtin",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := a.registry()
			if err != nil {
				return err
			}
			if len(args) == 0 && !builtin {
				return problem.Usage("such as margay rubric publish booking.yaml, or margay rubric publish --builtin", "give the files of rubrics")
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
			return a.Print(map[string]any{"files": names}, func(w io.Writer) {
				for _, n := range names {
					cli.Fprintf(w, "%s\n", n)
				}
			})
		},
	}
	c.Flags().BoolVar(&builtin, "builtin", false, "publish the rubrics that come with Margay")
	return c
}

// publish puts files and the user's own rubrics into force.
func (a *app) publish(f rubrics.Folder, args []string, own ...*rubric.Rubric) ([]string, error) {
	var all []rubrics.Signed
	for _, name := range args {
		b, err := readRubric(name)
		if err != nil {
			return nil, err
		}
		if !signed.IsEnvelope(b) {
			r, err := a.lintedRubric(name)
			if err != nil {
				return nil, err
			}
			own = append(own, r)
			continue
		}
		r, err := f.Verify(name, b)
		if err != nil {
			hint := "ask whoever signed it for a new one"
			var bad *rubric.Refusal
			switch {
			case !errors.As(err, &bad):
				hint = problem.Doctor
			case errors.Is(err, signed.ErrUnknownKey):
				hint = "if you trust who signed it, put their public key into " + f.Dir() + " as NAME" + signed.KeyExt
			}
			return nil, problem.Failure(hint, "%w", err)
		}
		all = append(all, rubrics.Signed{Rubric: r, File: b})
	}
	if len(own) > 0 {
		files, err := f.Sign(own...)
		if err != nil {
			return nil, problem.Unexpected(err)
		}
		all = append(all, files...)
	}
	names, err := f.Put(all...)
	if errors.Is(err, rubrics.ErrOlder) {
		return nil, problem.Usage("increase its revision", "%w", err)
	}
	return names, problem.Unexpected(err)
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
				a.Code = problem.Findings
				if !errors.Is(bad, rubric.ErrExpired) {
					out = append(out, listedRubric{State: "refused", Detail: bad.Error()})
				}
			}
			return a.PrintTable(out, func(w io.Writer) {
				fmt.Fprintln(w, "rubric\trevision\thash\tlast day\tstate\tfor")
				for _, l := range out {
					if l.State != "refused" {
						cli.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", l.Name, l.Revision, l.Hash[:12], l.Expires, l.State, l.Detail)
					}
				}
				for _, l := range out {
					if l.State == "refused" {
						cli.Fprintf(w, "%s\n", l.Detail)
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
		return problem.Unexpected(err)
	}
	return a.Print(map[string]string{"id": signed.KeyID(k), "key": string(signed.FormatKey(k))}, func(w io.Writer) { _, _ = w.Write(signed.FormatKey(k)) })
}
