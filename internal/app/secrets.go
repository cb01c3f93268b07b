package app

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
)

func (a *app) secretsCommand() *cobra.Command {
	c := &cobra.Command{Use: "secrets", Short: "Register what must not leak", Long: "Register what must not leak. Only keyed fingerprints are kept; no command shows a value."}
	var kind string
	add := &cobra.Command{
		Use: "add NAME", Short: "Register a value from standard input", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := a.readValue(args[0])
			if err != nil {
				return err
			}
			k := secret.Kind(kind)
			if kind == "" {
				k = kindOfName(args[0])
			}
			return a.register(cmd, []variable{{args[0], value, "stdin"}}, func(string) secret.Kind { return k })
		},
	}
	add.Flags().StringVar(&kind, "kind", "", "its kind, such as api-key, token or password (default: by its name)")
	c.AddCommand(add,
		&cobra.Command{
			Use: "import FILE|-", Short: "Register the credentials of a .env file", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				b, err := a.readFile(args[0])
				if err != nil {
					return err
				}
				vars := credentials(dotenv(args[0], b))
				if len(vars) == 0 {
					return failure("lines look like API_KEY=value; margay secrets add registers a single value", "%s holds no credentials", args[0])
				}
				return a.register(cmd, vars, kindOfName)
			},
		},
		&cobra.Command{Use: "list", Short: "List what is registered", RunE: func(cmd *cobra.Command, _ []string) error { return a.listSecrets(cmd) }},
		&cobra.Command{Use: "remove NAME|ID", Short: "Forget a secret", Args: cobra.ExactArgs(1), RunE: a.removeSecret},
	)
	return c
}

func (a *app) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(a.in, 1<<20))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, failure("give a file, or - for standard input", "%s can't be read: %w", filepath.Base(path), err)
	}
	return b, nil
}

// readValue reads a value without showing it, from a terminal or a pipe.
func (a *app) readValue(name string) (string, error) {
	if f, ok := a.in.(*os.File); ok && a.terminal(f) {
		fmt.Fprintf(a.err, "value of %s: ", name)
		b, err := term.ReadPassword(int(f.Fd())) //nolint:gosec // file descriptors are small
		fmt.Fprintln(a.err)
		return string(b), err
	}
	b, err := io.ReadAll(io.LimitReader(a.in, secret.MaxLength+2))
	if err != nil {
		return "", failure("", "standard input can't be read: %w", err)
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	if len(b) == 0 {
		return "", usage("printf %s \"$VALUE\" | margay secrets add NAME", "standard input is empty: there is no value to register")
	}
	return string(b), nil
}

func (a *app) register(cmd *cobra.Command, vars []variable, kind func(string) secret.Kind) error {
	c, err := a.load(nil)
	if err != nil {
		return err
	}
	st, err := a.open(cmd.Context(), c)
	if err != nil {
		return err
	}
	defer st.store.Close()
	var recs []secret.Record
	for _, v := range vars {
		rec, strength, err := secret.Prepare(&st.keys, flow.NewID(), v.name, kind(v.name), secret.SourceRegistered, v.origin, []byte(v.value), time.Now())
		if err != nil {
			return failure("nothing was registered", "%w", err)
		}
		if strength.Note != "" {
			fmt.Fprintf(a.err, "margay: %s is %s\n", v.name, strength.Note)
		}
		recs = append(recs, rec)
	}
	if err := st.store.PutSecrets(cmd.Context(), recs); err != nil {
		return failure("margay doctor", "%w", err)
	}
	for _, r := range recs {
		if err := a.print(map[string]any{"id": r.ID, "name": r.Name, "kind": r.Kind}, func(w io.Writer) {
			fmt.Fprintf(w, "registered %s (%s)\n", r.Name, r.Kind)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) listSecrets(cmd *cobra.Command) error {
	c, err := a.load(nil)
	if err != nil {
		return err
	}
	st, err := a.open(cmd.Context(), c)
	if err != nil {
		return err
	}
	defer st.store.Close()
	tw := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for r, err := range st.store.Secrets(cmd.Context()) {
		if err != nil {
			return failure("margay doctor", "%w", err)
		}
		if a.json {
			if err := a.print(map[string]any{"id": r.ID, "name": r.Name, "kind": r.Kind, "source": r.Source, "origin": r.Origin, "length": r.Length, "created": r.Created}, nil); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.Name, r.Kind, r.Origin, r.ID)
	}
	return tw.Flush()
}

func (a *app) removeSecret(cmd *cobra.Command, args []string) error {
	c, err := a.load(nil)
	if err != nil {
		return err
	}
	st, err := a.open(cmd.Context(), c)
	if err != nil {
		return err
	}
	defer st.store.Close()
	var ids []string
	for r, err := range st.store.Secrets(cmd.Context()) {
		if err != nil {
			return failure("margay doctor", "%w", err)
		}
		if r.Name == args[0] || strings.EqualFold(r.ID, args[0]) {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return failure("margay secrets list", "no secret is called %s", args[0])
	}
	for _, id := range ids {
		if err := st.store.DeleteSecret(cmd.Context(), id); err != nil {
			return failure("margay doctor", "%w", err)
		}
	}
	return a.print(map[string]any{"removed": ids}, func(w io.Writer) { fmt.Fprintf(w, "removed %s\n", args[0]) })
}
