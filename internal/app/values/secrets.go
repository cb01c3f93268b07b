// Package values registers secrets, and finds them in files.
package values

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/environ"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/scan"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
)

// app is one invocation.
type app struct{ *invocation.App }

// Commands are those of this package.
func Commands(a *invocation.App) []*cobra.Command {
	c := &app{a}
	return []*cobra.Command{c.secretsCommand(), c.scanCommand()}
}

func (a *app) secretsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "secrets", Short: "Register what must not leak",
		Long: "Register what must not leak. Margay keeps only keyed fingerprints; no command shows a value.",
	}
	var kind, expires string
	add := &cobra.Command{
		Use: "add NAME", Short: "Register a value from standard input or a prompt",
		Long:    "Register a value. The command reads it from standard input, or from a prompt that does not show it; not from the command line, which other programs can read.",
		Example: "  margay secrets add STRIPE_KEY\n  pass show stripe/key | margay secrets add STRIPE_KEY --kind api-key",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return problem.Usage("margay secrets add STRIPE_KEY", "give the secret a name")
			case len(args) > 1:
				return problem.Usage(`printf %s "$VALUE" | margay secrets add NAME`, "a value on the command line can be read by other programs: give a name alone")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind != "" && !slices.Contains(config.Kinds(), kind) {
				return problem.Usage("kinds are "+strings.Join(config.Kinds(), " "), "unknown kind %q", kind)
			}
			if err := checkName(args[0]); err != nil {
				return err
			}
			until, err := invocation.Expiry(expires, time.Now())
			if err != nil {
				return err
			}
			value, err := a.readValue(args[0])
			if err != nil {
				return err
			}
			return a.register(cmd.Context(), []environ.Credential{{
				Variable: environ.Variable{Name: args[0], Value: value, Origin: "stdin"}, Kind: cmp.Or(secret.Kind(kind), environ.Kind(args[0])),
			}}, until)
		},
	}
	add.Flags().StringVar(&kind, "kind", "", "its `kind`, such as api-key, token or password (default: by its name)")
	cli.Complete(add, "kind", config.Kinds)
	add.Flags().StringVar(&expires, "expires", "", "for how long, a `duration` such as 12h or 30d (default: until removed)")
	var all bool
	imp := &cobra.Command{
		Use: "import FILE|-", Short: "Register the credentials of a .env file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.importFile(cmd.Context(), args[0], all) },
	}
	imp.Flags().BoolVar(&all, "all", false, "register all values that are long enough, not only what looks like a credential")
	c.AddCommand(
		add, imp,
		&cobra.Command{Use: "list", Short: "List what is registered, without values", RunE: a.OnState(a.listSecrets)},
		&cobra.Command{Use: "remove NAME|ID", Short: "Forget a secret", Args: cobra.ExactArgs(1), RunE: a.OnState(a.removeSecret)},
	)
	return c
}

// secretName is compiled when it is needed: that takes milliseconds, for which
// every command would wait.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN_][\pL\pN_.:/@ -]{0,99}$`) })

// checkName refuses names that look like values, which would be stored.
func checkName(name string) error {
	if !secretName().MatchString(name) {
		return problem.Usage("use letters, digits, and _ . : / @ - between them", "invalid name of a secret")
	}
	rules, err := recognise.Default()
	if err != nil {
		return err
	}
	for _, m := range rules.Find([]byte(name)) {
		if m.Rule.Class == recognise.ClassCredential {
			return problem.Usage(`printf %s "$VALUE" | margay secrets add NAME`, "the name looks like a credential itself (%s): the value belongs on standard input", m.Rule.ID)
		}
	}
	return nil
}

func (a *app) importFile(ctx context.Context, path string, all bool) error {
	b, err := a.ReadInput(path, environ.MaxFile+1)
	if err != nil {
		return problem.Failure("give a file, or - for standard input", "%w", err)
	}
	if path == "-" {
		path = "stdin"
	}
	if len(b) > environ.MaxFile {
		return problem.Failure("is it a .env file?", "%s is larger than %d bytes", path, environ.MaxFile)
	}
	if scan.Binary(b) {
		return problem.Failure("is it a .env file?", "%s is binary", path)
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
		return problem.Failure("lines look like API_KEY=value; --all takes every value, and margay secrets add a single one", "%s holds no credentials", path)
	}
	var left []string
	for _, v := range vars {
		if !slices.ContainsFunc(found, func(c environ.Credential) bool { return c.Name == v.Name }) {
			left = append(left, v.Name)
		}
	}
	if len(left) > 0 {
		a.Note("not registered, since they do not look like credentials: %s", strings.Join(left, ", "))
	}
	return a.register(ctx, found, time.Time{})
}

// everything adds the variables that do not look like credentials.
func everything(vars []environ.Variable, found []environ.Credential) []environ.Credential {
	for _, v := range vars {
		known := slices.ContainsFunc(found, func(c environ.Credential) bool { return c.Value == v.Value })
		if !known && len(v.Value) >= match.MinLength {
			found = append(found, environ.Credential{Variable: v, Kind: environ.Kind(v.Name)})
		}
	}
	return found
}

// readValue reads a value without showing it, from a terminal or a pipe.
func (a *app) readValue(name string) (string, error) {
	if value, typed, err := a.ReadHidden("value of " + name + " (it is not shown): "); err != nil {
		return "", problem.Failure("pipe it in instead", "the value can't be read: %w", err)
	} else if typed {
		return value, nil
	}
	b, err := a.ReadInput("-", 2*match.MaxLength)
	if err != nil {
		return "", problem.Failure(`printf %s "$VALUE" | margay secrets add NAME`, "%w", err)
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return "", problem.Failure("messages are text: register the value as it is written in them, in base64 or hexadecimal", "standard input is binary")
	}
	if len(b) == 0 {
		return "", problem.Usage(`printf %s "$VALUE" | margay secrets add NAME`, "standard input is empty: expected a value")
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
	// Find what can't be registered before anything is written.
	var scratch secret.Keys
	for _, v := range vars {
		if _, _, err := match.Print(&scratch, []byte(v.Value)); err != nil {
			return problem.Failure("nothing was registered; a secret that short can only be changed, not protected", "%s: %w", v.Name, err)
		}
	}
	return a.WithState(ctx, func(_ *config.Config, st *state.State) error {
		recs := make([]secret.Record, len(vars))
		out := make([]registered, len(vars))
		for i, v := range vars {
			rec, strength, err := match.Prepare(&st.Keys, flow.NewID(), v.Name, v.Kind, secret.SourceRegistered, v.Origin, []byte(v.Value), time.Now())
			if err != nil {
				return problem.Failure("nothing was registered", "%w", err)
			}
			rec.Expires = until
			switch {
			case !strength.Disguised:
				a.Note("%s is too short to protect in encodings: protected only as a whole word", v.Name)
			case strength.Note != "":
				a.Note("%s is %s", v.Name, strength.Note)
			}
			recs[i] = rec
			out[i] = registered{rec.ID, rec.Name, rec.Kind, rec.Origin, rec.Created, until, strength.Note}
		}
		others, err := namesakes(ctx, st, recs)
		if err != nil {
			return err
		}
		if err := st.Store.PutSecrets(ctx, recs); err != nil {
			return problem.Unexpected(err)
		}
		for _, o := range others {
			a.Note("%s has another value, too, which stays protected until: margay secrets remove %s", o.Name, o.ID)
		}
		for i := range out {
			if err := a.Print(&out[i], func(w io.Writer) { cli.Fprintf(w, "registered %s (%s)\n", out[i].Name, out[i].Kind) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// namesakes returns registered secrets with the same names and other values.
func namesakes(ctx context.Context, st *state.State, recs []secret.Record) ([]secret.Record, error) {
	values := map[string]secret.Fingerprint{}
	for i := range recs {
		values[recs[i].Name] = recs[i].Fingerprint
	}
	return find(ctx, st, func(r *secret.Record) bool {
		fp, ok := values[r.Name]
		return ok && fp != r.Fingerprint
	})
}

// find returns the registered secrets that match.
func find(ctx context.Context, st *state.State, match func(*secret.Record) bool) (out []secret.Record, err error) {
	for r, err := range st.Store.Secrets(ctx) {
		if err != nil {
			return nil, problem.Unexpected(err)
		}
		if match(&r) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (a *app) listSecrets(ctx context.Context, st *state.State, _ []string) error {
	rows := a.Rows()
	for r, err := range st.Store.Secrets(ctx) {
		if err != nil {
			return problem.Unexpected(err)
		}
		until := ""
		if !r.Expires.IsZero() {
			until = "until " + r.Expires.Format(time.DateTime)
		}
		v := registered{r.ID, r.Name, r.Kind, r.Origin, r.Created, r.Expires, ""}
		if err := rows.Add(v, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Name, r.Kind, r.Origin, until); err != nil {
			return err
		}
	}
	return rows.Flush()
}

func (a *app) removeSecret(ctx context.Context, st *state.State, args []string) error {
	which := args[0]
	found, err := find(ctx, st, func(r *secret.Record) bool { return r.Name == which || strings.EqualFold(r.ID, which) })
	if err != nil {
		return err
	}
	switch len(found) {
	case 0:
		return problem.Failure("margay secrets list shows what is registered", "no secret has this name or id")
	case 1:
	default:
		return problem.Failure("margay secrets list shows their ids; remove one by its id", "%d secrets are called %s", len(found), which)
	}
	id := found[0].ID
	if err := st.Store.DeleteSecret(ctx, id); err != nil {
		return problem.Unexpected(err)
	}
	return a.Print(map[string]any{"removed": id}, func(w io.Writer) { cli.Fprintf(w, "removed %s\n", id) })
}
