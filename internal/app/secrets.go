package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/environ"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/scan"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

func (a *app) secretsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "secrets", Short: "Register what must not leak",
		Long: "Register what must not leak. Only keyed fingerprints are kept; no command shows a value.",
	}
	var kind, expires string
	add := &cobra.Command{
		Use: "add NAME", Short: "Register a value from standard input or a prompt",
		Long:    "Register a value. It is read from standard input, or from a prompt that does not show it; never from the command line, which other programs can read.",
		Example: "  margay secrets add STRIPE_KEY\n  pass show stripe/key | margay secrets add STRIPE_KEY --kind api-key",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage("margay secrets add STRIPE_KEY", "give the secret a name")
			case len(args) > 1:
				return usage(`printf %s "$VALUE" | margay secrets add NAME`, "a value on the command line can be read by other programs: give a name alone")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind != "" && !slices.Contains(config.Kinds(), kind) {
				return usage("kinds are "+strings.Join(config.Kinds(), " "), "%q is no kind", kind)
			}
			if err := checkName(args[0]); err != nil {
				return err
			}
			until, err := expiry(expires, time.Now())
			if err != nil {
				return err
			}
			value, err := a.readValue(args[0])
			if err != nil {
				return err
			}
			cr := environ.Credential{Variable: environ.Variable{Name: args[0], Value: value, Origin: "stdin"}, Kind: secret.Kind(kind)}
			if kind == "" {
				cr.Kind = environ.Kind(args[0])
			}
			return a.register(cmd.Context(), []environ.Credential{cr}, until)
		},
	}
	add.Flags().StringVar(&kind, "kind", "", "its `kind`, such as api-key, token or password (default: by its name)")
	complete(add, "kind", config.Kinds)
	add.Flags().StringVar(&expires, "expires", "", "for how long, a `duration` such as 12h or 30d (default: until removed)")
	var all bool
	imp := &cobra.Command{
		Use: "import FILE|-", Short: "Register the credentials of a .env file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.importFile(cmd.Context(), args[0], all) },
	}
	imp.Flags().BoolVar(&all, "all", false, "register every value that is long enough, not only what looks like a credential")
	c.AddCommand(
		add, imp,
		&cobra.Command{Use: "list", Short: "List what is registered, without values", RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withState(cmd.Context(), func(_ *config.Config, st *state.State) error { return a.listSecrets(cmd.Context(), st) })
		}},
		&cobra.Command{Use: "remove NAME|ID", Short: "Forget a secret", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.withState(cmd.Context(), func(_ *config.Config, st *state.State) error { return a.removeSecret(cmd.Context(), st, args[0]) })
		}},
	)
	return c
}

// secretName is made when it is asked for: it takes milliseconds, and every
// command would wait for them.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN_][\pL\pN_.:/@ -]{0,99}$`) })

// checkName refuses names that are values: a slip of the pen would be kept.
func checkName(name string) error {
	if !secretName().MatchString(name) {
		return usage("use letters, digits, and _ . : / @ - between them", "that can't be a secret's name")
	}
	rules, err := recognise.Default()
	if err != nil {
		return err
	}
	for _, m := range rules.Find([]byte(name)) {
		if m.Rule.Class == recognise.ClassCredential {
			return usage(`printf %s "$VALUE" | margay secrets add NAME`, "that name looks like a credential itself (%s): the value belongs on standard input", m.Rule.ID)
		}
	}
	return nil
}

func (a *app) importFile(ctx context.Context, path string, all bool) error {
	var b []byte
	var err error
	if path == "-" {
		path = "stdin"
		b, err = io.ReadAll(io.LimitReader(a.in, environ.MaxFile+1))
	} else {
		b, err = readSmall(path)
	}
	if err != nil {
		return failure("give a file, or - for standard input", "%s can't be read: %w", path, reason(err))
	}
	if len(b) > environ.MaxFile {
		return failure("is it a .env file?", "%s is larger than %d bytes", path, environ.MaxFile)
	}
	if scan.Binary(b) {
		return failure("is it a .env file?", "%s is binary", path)
	}
	rules, err := recognise.Default()
	if err != nil {
		return err
	}
	vars := environ.Parse(path, b)
	found := environ.Credentials(rules, vars)
	if all {
		found = everything(vars, found)
	}
	if len(found) == 0 {
		return failure("lines look like API_KEY=value; --all takes every value, and margay secrets add a single one", "%s holds no credentials", path)
	}
	taken := map[string]bool{}
	for _, f := range found {
		taken[f.Name] = true
	}
	var left []string
	for _, v := range vars {
		if !taken[v.Name] {
			left = append(left, v.Name)
		}
	}
	if len(left) > 0 {
		a.note("left out, since they do not look like credentials: %s", strings.Join(left, ", "))
	}
	return a.register(ctx, found, time.Time{})
}

// everything adds the variables that are no credentials by their looks.
func everything(vars []environ.Variable, found []environ.Credential) []environ.Credential {
	for _, v := range vars {
		known := slices.ContainsFunc(found, func(c environ.Credential) bool { return c.Value == v.Value })
		if !known && len(v.Value) >= secret.MinLength {
			found = append(found, environ.Credential{Variable: v, Kind: environ.Kind(v.Name)})
		}
	}
	return found
}

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, environ.MaxFile+1))
}

func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// readValue reads a value without showing it, from a terminal or a pipe.
func (a *app) readValue(name string) (string, error) {
	if f, ok := a.in.(*os.File); ok && isTerminal(f) {
		fmt.Fprintf(a.err, "value of %s (it is not shown): ", name)
		b, err := term.ReadPassword(int(f.Fd())) //nolint:gosec // file descriptors are small
		fmt.Fprintln(a.err)
		if err != nil {
			return "", failure("pipe it in instead", "the value can't be read: %w", err)
		}
		return string(b), nil
	}
	b, err := io.ReadAll(io.LimitReader(a.in, 2*secret.MaxLength))
	if err != nil {
		return "", failure(`printf %s "$VALUE" | margay secrets add NAME`, "standard input can't be read: %w", err)
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return "", failure("messages are text: register the value as it is written in them, in base64 or hexadecimal", "standard input is binary")
	}
	if len(b) == 0 {
		return "", usage(`printf %s "$VALUE" | margay secrets add NAME`, "standard input is empty: there is no value to register")
	}
	return string(b), nil
}

// registered is one secret, as it is printed.
type registered struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Kind    secret.Kind `json:"kind"`
	Origin  string      `json:"origin"`
	Created time.Time   `json:"created"`
	Expires time.Time   `json:"expires,omitzero"`
	Note    string      `json:"note,omitempty"` // how far it can be protected
}

func (a *app) register(ctx context.Context, vars []environ.Credential, until time.Time) error {
	// What can't be registered is known before anything is written.
	var scratch secret.Keys
	for _, v := range vars {
		if _, _, err := secret.Print(&scratch, []byte(v.Value)); err != nil {
			return failure("nothing was registered; a secret that short can only be changed, not protected", "%s: %w", v.Name, err)
		}
	}
	return a.withState(ctx, func(_ *config.Config, st *state.State) error {
		recs := make([]secret.Record, len(vars))
		out := make([]registered, len(vars))
		for i, v := range vars {
			rec, strength, err := secret.Prepare(&st.Keys, flow.NewID(), v.Name, v.Kind, secret.SourceRegistered, v.Origin, []byte(v.Value), time.Now())
			if err != nil {
				return failure("nothing was registered", "%w", err)
			}
			rec.Expires = until
			switch {
			case !strength.Disguised:
				a.note("%s is too short to protect in encodings: taken as whole word", v.Name)
			case strength.Note != "":
				a.note("%s is %s", v.Name, strength.Note)
			}
			recs[i] = rec
			out[i] = registered{rec.ID, rec.Name, rec.Kind, rec.Origin, rec.Created, until, strength.Note}
		}
		others, err := namesakes(ctx, st, recs)
		if err != nil {
			return err
		}
		if err := st.Store.PutSecrets(ctx, recs); err != nil {
			return failure(problem.Doctor, "%w", err)
		}
		for _, o := range others {
			a.note("%s has another value, too, and that stays protected until: margay secrets remove %s", o.Name, o.ID)
		}
		for i := range out {
			if err := a.print(&out[i], func(w io.Writer) { fmt.Fprintf(w, "registered %s (%s)\n", out[i].Name, out[i].Kind) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// namesakes returns what is registered under the same names with other values.
func namesakes(ctx context.Context, st *state.State, recs []secret.Record) ([]secret.Record, error) {
	values := map[string]secret.Fingerprint{}
	for i := range recs {
		values[recs[i].Name] = recs[i].Fingerprint
	}
	var out []secret.Record
	for r, err := range st.Store.Secrets(ctx) {
		if err != nil {
			return nil, failure(problem.Doctor, "%w", err)
		}
		if fp, ok := values[r.Name]; ok && fp != r.Fingerprint {
			out = append(out, r)
		}
	}
	return out, nil
}

func (a *app) listSecrets(ctx context.Context, st *state.State) error {
	tw := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for r, err := range st.Store.Secrets(ctx) {
		if err != nil {
			return failure(problem.Doctor, "%w", err)
		}
		if a.json {
			if err := a.print(registered{r.ID, r.Name, r.Kind, r.Origin, r.Created, r.Expires, ""}, nil); err != nil {
				return err
			}
			continue
		}
		until := ""
		if !r.Expires.IsZero() {
			until = "until " + r.Expires.Format(time.DateTime)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Name, r.Kind, r.Origin, until)
	}
	return tw.Flush()
}

func (a *app) removeSecret(ctx context.Context, st *state.State, which string) error {
	var ids []string
	for r, err := range st.Store.Secrets(ctx) {
		if err != nil {
			return failure(problem.Doctor, "%w", err)
		}
		if r.Name == which || strings.EqualFold(r.ID, which) {
			ids = append(ids, r.ID)
		}
	}
	switch len(ids) {
	case 0:
		return failure("margay secrets list shows what is registered", "no secret has this name or id")
	case 1:
	default:
		return failure("margay secrets list shows their ids; remove one by its id", "%d secrets are called %s", len(ids), which)
	}
	if err := st.Store.DeleteSecret(ctx, ids[0]); err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	return a.print(map[string]any{"removed": ids[0]}, func(w io.Writer) { fmt.Fprintf(w, "removed %s\n", ids[0]) })
}
