package evidence

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/declassify/recount"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/report"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

const ledgerHint = "margay ledger verify says which entry is wrong"

// withLedger runs f with the ledger of an installation.
func (a *app) withLedger(ctx context.Context, f func(*state.State, *ledger.Book) error) error {
	return a.WithState(ctx, func(c *config.Config, st *state.State) error {
		b, err := st.Book(ctx, c)
		if err != nil {
			return err
		}
		return f(st, b)
	})
}

func (a *app) ledgerCommand() *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error {
		return a.withLedger(cmd.Context(), func(st *state.State, _ *ledger.Book) error {
			return a.listLedger(cmd.Context(), st.Store)
		})
	}
	c := &cobra.Command{
		Use: "ledger", Short: "Show, export and verify what was disclosed, in bits", Args: cobra.NoArgs, RunE: list,
		Long: `Show, export and verify what was disclosed, in bits.

A release becomes an entry of a signed chain before it leaves: to whom, under
which rubrics, and what all recipients together may have learnt by it. An entry
has no values. To check the ledger, an export and the public key are enough.`,
		Example: "  margay ledger list\n  margay ledger export -o ledger.mgl",
	}
	var out string
	export := &cobra.Command{
		Use: "export", Short: "Write the ledger, with its rubrics and a signed checkpoint", Args: cobra.NoArgs,
		Long: `Write the ledger, with its rubrics and a signed checkpoint. Only
you can read the file: you decide who may see what was disclosed to whom.`,
		Example: "  margay ledger export -o ledger.mgl\n  margay ledger export -o - | margay ledger verify -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			return a.withLedger(ctx, func(_ *state.State, b *ledger.Book) error {
				return a.exportLedger(ctx, b, out)
			})
		},
	}
	export.Flags().StringVarP(&out, "out", "o", "", "`file` to write; - for standard output")
	var key, head string
	verify := &cobra.Command{
		Use: "verify [FILE]", Short: "Check the entries of an export, or of this ledger", Args: cobra.MaximumNArgs(1),
		Long: `Check the entries of an export, or of this installation's ledger if you name no
file: encoding, chain, signatures, and the arithmetic of the charges. The check
needs only the export and the public key. It reports mistakes by entry, and the
exit code is then 3. It also computes anew, from the rubrics in the export, which
fields and operators a release may have and what it costs at least.

An older export was complete when it was made. Only a head that you kept, with
margay ledger head, shows that entries are missing at the end.`,
		Example: "  margay ledger export -o ledger.mgl\n  margay ledger verify ledger.mgl --key margay-ledger-key:… --head margay-ledger-head:…",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			head, err := headOf(head)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				return a.verifyFile(ctx, args[0], key, head)
			}
			public, err := publicOf(key)
			if err != nil {
				return err
			}
			return a.verifyOwn(ctx, ledger.Check{Key: public, Head: head, Limits: terms.LimitsOf})
		},
	}
	verify.Flags().StringVar(&key, "key", "", "public `key` of the ledger, or a file with it (default this installation's)")
	verify.Flags().StringVar(&head, "head", "", "a `head` that you kept, or a file with it: the ledger must still have that history")
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List the families of trajectories", Args: cobra.NoArgs, RunE: list, Example: "  margay ledger list --json"},
		&cobra.Command{
			Use: "show FAMILY [NUMBER]", Short: "Show the entries of a family, or one with all it has", Args: cobra.RangeArgs(1, 2),
			ValidArgsFunction: a.CompleteFirst(a.families),
			Example:           "  margay ledger show 01K00000000000000000000001\n  margay ledger show 01K00000000000000000000001 3",
			RunE: func(cmd *cobra.Command, args []string) error {
				n := uint64(0)
				if len(args) == 2 {
					var err error
					if n, err = strconv.ParseUint(args[1], 10, 63); err != nil || n == 0 {
						return problem.Usage("entries are counted from 1", "unknown entry %q", args[1])
					}
				}
				return a.withLedger(cmd.Context(), func(st *state.State, b *ledger.Book) error {
					return a.showLedger(cmd.Context(), st.Store, b, args[0], n)
				})
			},
		},
		verify, export,
		&cobra.Command{
			Use: "head", Short: "Sign what the ledger holds now, for you to keep elsewhere", Args: cobra.NoArgs,
			Long: `Sign what the ledger holds now. The head is one line. Keep it where nobody
who can write here can write. Later, margay ledger verify --head shows whether
the ledger still has that history.`,
			Example: "  margay ledger head >> /elsewhere/heads.txt",
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.withLedger(cmd.Context(), func(_ *state.State, b *ledger.Book) error {
					return a.printHead(cmd.Context(), b)
				})
			},
		},
	)
	return c
}

func (a *app) printHead(ctx context.Context, b *ledger.Book) error {
	c, err := b.Checkpoint(ctx)
	if err != nil {
		return problem.Failure(ledgerHint, "%w", err)
	}
	return a.Print(headView(c, b.Public()), func(w io.Writer) {
		cli.Fprintf(w, "key      %s\nhead     %s\nmade     %s\nholds    %s of %s\n",
			report.KeyText(b.Public()), c, c.At.Format(time.RFC3339), invocation.Count(c.Entries, "entry"), invocation.Count(c.Families, "family"))
	})
}

func headView(c *ledger.Checkpoint, key ed25519.PublicKey) map[string]any {
	return map[string]any{
		"key": report.KeyText(key), "head": c.String(), "at": c.At, "entries": c.Entries, "families": c.Families, "root": c.Root.String(),
	}
}

// fromArg returns the value of a flag, or the value in the file that it names.
func fromArg(text, prefix string) (string, error) {
	if strings.HasPrefix(text, prefix) {
		return text, nil
	}
	f, err := os.Open(filepath.Clean(text))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<16))
	for line := range strings.Lines(string(b)) { // also from all that head prints
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, prefix) {
				return word, err
			}
		}
	}
	return "", errors.Join(err, errors.New("it is not in the file"))
}

func headOf(text string) (*ledger.Checkpoint, error) {
	if text == "" {
		return nil, nil
	}
	line, err := fromArg(text, "margay-ledger-head:")
	if err == nil {
		var c *ledger.Checkpoint
		if c, err = ledger.ParseCheckpoint(line); err == nil {
			return c, nil
		}
	}
	return nil, problem.Usage("give the line that margay ledger head prints, or a file with it", "--head: %w", cli.Reason(err))
}

func publicOf(text string) (ed25519.PublicKey, error) {
	if text == "" {
		return nil, nil
	}
	line, err := fromArg(text, report.KeyPrefix)
	if err == nil {
		var k []byte
		if k, err = base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(line, report.KeyPrefix)); err == nil && len(k) == ed25519.PublicKeySize {
			return k, nil
		}
		err = errors.New("not a public key of a ledger")
	}
	return nil, problem.Usage("give the key that margay ledger head prints, or a file with it", "--key: %w", cli.Reason(err))
}

// exportLedger writes to a file that appears whole, or to standard output.
func (a *app) exportLedger(ctx context.Context, b *ledger.Book, out string) error {
	switch {
	case out == "":
		return problem.Usage("margay ledger export -o ledger.mgl", "an export needs a file to be written to")
	case out == "-":
		if cli.IsTerminal(a.Out) {
			return problem.Usage("margay ledger export -o ledger.mgl", "an export is binary: it is not written to a terminal")
		}
		if _, err := b.Export(ctx, a.Out); err != nil {
			return problem.Failure(ledgerHint, "%w", err)
		}
		return nil
	}
	var c *ledger.Checkpoint
	err := cli.PlaceFile(out, cli.ForOwner, func(w io.Writer) (err error) {
		c, err = b.Export(ctx, w)
		return err
	})
	switch {
	case errors.As(err, new(*problem.Error)):
		return err
	case err != nil:
		return problem.Failure(ledgerHint, "%w", err)
	}
	return a.Print(headView(c, b.Public()), func(w io.Writer) {
		cli.Fprintf(w, "%s of %s in %s\nkey      %s\nhead     %s\n", invocation.Count(c.Entries, "entry"), invocation.Count(c.Families, "family"), out, report.KeyText(b.Public()), c)
	})
}

// verifyOwn checks what the store holds, as an export of it would be.
func (a *app) verifyOwn(ctx context.Context, check ledger.Check) error {
	return a.withLedger(ctx, func(st *state.State, b *ledger.Book) error {
		if check.Key == nil {
			check.Key = b.Public()
		}
		check.Judge = recount.New(recount.Rubrics(func(h charge.Hash) ([]byte, error) { return st.Store.Rubric(ctx, h) })).Entry
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() { // ends with the reader
			_, err := b.Export(ctx, w)
			w.CloseWithError(err)
			done <- err
		}()
		report, err := ledger.Verify(ctx, r, check)
		_ = r.Close()
		if exported := <-done; err == nil && exported != nil && !errors.Is(exported, io.ErrClosedPipe) {
			err = exported
		}
		return a.reportLedger(report, err)
	})
}

func (a *app) verifyFile(ctx context.Context, path, key string, head *ledger.Checkpoint) error {
	public, in, err := a.toVerify(path, key, "export", "margay ledger export")
	if err != nil {
		return err
	}
	defer in.Close()
	file, ok := in.(*os.File)
	if info, err := file.Stat(); !ok || err != nil || !info.Mode().IsRegular() { // the rubrics follow the entries that they are needed for
		if file, err = os.CreateTemp("", "margay-ledger-*"); err != nil {
			return problem.Unexpected(err)
		}
		defer func() { _, _ = file.Close(), os.Remove(file.Name()) }()
		if _, err := io.Copy(file, in); err != nil {
			return problem.Failure("run it again", "the ledger can't be read: %w", cli.Reason(err))
		}
	}
	return a.reportLedger(ledger.Verify(ctx, io.NewSectionReader(file, 0, 1<<62), report.CheckOf(file, public, head)))
}

// toVerify returns the key that --key names, or this installation's, and opens
// the file to verify: an export or a report, which the command maker wrote.
func (a *app) toVerify(path, key, what, maker string) (ed25519.PublicKey, io.ReadCloser, error) {
	public, err := publicOf(key)
	if err == nil && public == nil {
		var c *config.Config
		if c, err = a.Load(nil); err == nil {
			public, err = state.LedgerPublic(c)
		}
		if err == nil && public == nil {
			err = problem.Usage("give the key that margay ledger head prints where the "+what+" was made", "this installation has no ledger: --key is needed")
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if path == "-" {
		return public, io.NopCloser(a.In), nil
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, nil, problem.Failure("give a file that "+maker+" wrote, or -", "%s can't be read: %w", path, cli.Reason(err))
	}
	return public, f, nil
}

func (a *app) reportLedger(r *ledger.Report, err error) error {
	if err != nil {
		return problem.Failure("run it again", "the ledger can't be read: %w", cli.Reason(err))
	}
	found := append([]ledger.Finding{}, r.Findings...)
	if len(found) > 0 {
		a.Code = problem.Findings
	}
	return a.Print(map[string]any{"entries": r.Entries, "families": r.Families, "rubrics": r.Rubrics, "findings": found, "more": r.More}, func(w io.Writer) {
		for i := range r.Findings {
			cli.Fprintf(w, "%s\n", r.Findings[i].String())
		}
		if r.More > 0 {
			cli.Fprintf(w, "and %d more\n", r.More)
		}
		what := fmt.Sprintf("%s of %s, %s", invocation.Count(r.Entries, "entry"), invocation.Count(r.Families, "family"), invocation.Count(r.Rubrics, "rubric"))
		if len(found) > 0 {
			cli.Fprintf(w, "NOT SOUND: %s, %s\n", what, invocation.Count(len(found)+r.More, "finding"))
			return
		}
		cli.Fprintf(w, "sound: %s; every charge adds up and is what the rubrics say, every entry is signed\n", what)
	})
}

// ledgerFamily is a family for --json.
type ledgerFamily struct {
	Family  string             `json:"family"`
	Entries uint64             `json:"entries"`
	At      time.Time          `json:"at"`
	Total   flow.Bits          `json:"total"` // millionths of a bit, as all amounts
	B       flow.Bits          `json:"budget"`
	Sums    map[string]classed `json:"sums"`
}

// classed is what sinks of a class or worse learnt, and the cap on it.
type classed struct {
	Learnt flow.Bits `json:"learnt"`
	Cap    flow.Bits `json:"cap"`
}

func sums(by, limit [charge.Classes]flow.Bits) map[string]classed {
	out := map[string]classed{}
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		out[c.String()] = classed{by[c], limit[c]}
	}
	return out
}

func (a *app) listLedger(ctx context.Context, s ledger.Store) error {
	rows := a.Rows()
	n := 0
	for h, err := range s.Heads(ctx) {
		if err != nil {
			return problem.Unexpected(err)
		}
		got, err := s.Entries(ctx, h.Family, h.Seq-1, 1)
		if err != nil || len(got) == 0 {
			return problem.Failure(problem.Doctor, "family %s: %w", h.Family, errors.Join(err, charge.ErrNotFound))
		}
		e, err := charge.Decode(got[0].Bytes)
		if err != nil {
			return problem.Failure(ledgerHint, "family %s, entry %d: %w", h.Family, h.Seq, err)
		}
		n++
		v := ledgerFamily{string(h.Family), h.Seq, e.At, e.Total, e.Limits.B, sums(e.Caps, e.Limits.Cap)}
		err = rows.Add(v, "%s\t%s\t%s\t%s of %s\n", h.Family, e.At.Format(time.DateTime), invocation.Count(h.Seq, "entry"), e.Total, e.Limits.B)
		if err != nil {
			return err
		}
	}
	if n == 0 && !a.JSON {
		a.Note("the ledger is empty")
	}
	return rows.Flush()
}

// families lists those of the ledger for completion.
func (a *app) families(ctx context.Context, st *state.State) ([]string, error) {
	var out []string
	for h, err := range st.Store.Heads(ctx) {
		if err != nil || len(out) == invocation.MaxOffered {
			return out, err
		}
		out = append(out, string(h.Family)+"\t"+invocation.Count(h.Seq, "entry"))
	}
	return out, nil
}
