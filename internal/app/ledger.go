package app

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
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/ledger"
)

// publicPrefix begins a ledger's public key as text.
const publicPrefix = "margay-ledger-key:"

const ledgerHint = "margay ledger verify says which entry is wrong"

func publicText(k ed25519.PublicKey) string {
	return publicPrefix + base64.RawURLEncoding.EncodeToString(k)
}

// keeping runs f with the ledger of an installation.
func (a *app) keeping(ctx context.Context, f func(*config.Config, *state.State, *ledger.Book) error) error {
	return a.withState(ctx, func(c *config.Config, st *state.State) error {
		b, err := st.Book(ctx, c)
		if err != nil {
			return err
		}
		return f(c, st, b)
	})
}

func (a *app) ledgerCommand() *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error {
		return a.keeping(cmd.Context(), func(_ *config.Config, st *state.State, _ *ledger.Book) error {
			return a.listLedger(cmd.Context(), st.Store)
		})
	}
	c := &cobra.Command{
		Use: "ledger", Short: "Show, export and verify what was let out, in bits", Args: cobra.NoArgs, RunE: list,
		Long: `Show, export and verify what was let out, in bits.

Every release is an entry of a signed chain before it leaves: to whom, under
which rubrics, and what all sinks together may have learnt by it. There are no
values in it. An export and the public key are all that checking it takes.`,
		Example: "  margay ledger list\n  margay ledger export -o ledger.mgl",
	}
	var out string
	export := &cobra.Command{
		Use: "export", Short: "Write the whole ledger, with its rubrics and a signed checkpoint", Args: cobra.NoArgs,
		Long: `Write the whole ledger, with its rubrics and a signed checkpoint. The file is
readable by you alone: who may see what was told to whom is for you to say.`,
		Example: "  margay ledger export -o ledger.mgl\n  margay ledger export -o - | margay ledger verify -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			return a.keeping(ctx, func(_ *config.Config, _ *state.State, b *ledger.Book) error {
				return a.exportLedger(ctx, b, out)
			})
		},
	}
	export.Flags().StringVarP(&out, "out", "o", "", "`file` to write; - for standard output")
	var key, head string
	verify := &cobra.Command{
		Use: "verify [FILE]", Short: "Check every entry of an export, or of this ledger", Args: cobra.MaximumNArgs(1),
		Long: `Check every entry of an export, or of this installation's ledger where no file
is named: encoding, chain, signatures, and the arithmetic of every charge. It
needs the export and the public key alone. What is wrong is told by entry, and
the exit code is 3.

An older export was whole when it was made. Only a head that was kept, with
margay ledger head, shows that entries are missing at the end.`,
		Example: "  margay ledger export -o ledger.mgl\n  margay ledger verify ledger.mgl --key margay-ledger-key:… --head margay-ledger-head:…",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			check := ledger.Check{Limits: declassify.LimitsOf}
			var err error
			if check.Head, err = headOf(head); err != nil {
				return err
			}
			if check.Key, err = publicOf(key); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.verifyOwn(ctx, check)
			}
			return a.verifyFile(ctx, args[0], check)
		},
	}
	verify.Flags().StringVar(&key, "key", "", "public `key` of the ledger, or a file with it (default this installation's)")
	verify.Flags().StringVar(&head, "head", "", "a `head` that was kept, or a file with it: the ledger must still have that history")
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List the families of trajectories", Args: cobra.NoArgs, RunE: list, Example: "  margay ledger list --json"},
		&cobra.Command{
			Use: "show FAMILY [NUMBER]", Short: "Show the entries of a family, or one with all it has", Args: cobra.RangeArgs(1, 2),
			ValidArgsFunction: a.completeFirst(a.families),
			Example:           "  margay ledger show 01K00000000000000000000001\n  margay ledger show 01K00000000000000000000001 3",
			RunE: func(cmd *cobra.Command, args []string) error {
				n := uint64(0)
				if len(args) == 2 {
					var err error
					if n, err = strconv.ParseUint(args[1], 10, 63); err != nil || n == 0 {
						return usage("entries are counted from 1", "%q is no number of an entry", args[1])
					}
				}
				return a.keeping(cmd.Context(), func(_ *config.Config, st *state.State, b *ledger.Book) error {
					return a.showLedger(cmd.Context(), st.Store, b, args[0], n)
				})
			},
		},
		verify, export,
		&cobra.Command{
			Use: "head", Short: "Sign what the ledger holds now, to be kept elsewhere", Args: cobra.NoArgs,
			Long: `Sign what the ledger holds now. The head is one line. Kept where nobody who can
write here can write, it shows later, with margay ledger verify --head, whether
the ledger still has that history.`,
			Example: "  margay ledger head >> /elsewhere/heads.txt",
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.keeping(cmd.Context(), func(_ *config.Config, _ *state.State, b *ledger.Book) error {
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
		return failure(ledgerHint, "%w", err)
	}
	return a.print(headView(c, b.Public()), func(w io.Writer) {
		fmt.Fprintf(w, "key      %s\nhead     %s\nmade     %s\nholds    %s of %s\n",
			publicText(b.Public()), c, c.At.Format(time.RFC3339), entries(c.Entries), families(c.Families))
	})
}

func headView(c *ledger.Checkpoint, key ed25519.PublicKey) map[string]any {
	return map[string]any{
		"key": publicText(key), "head": c.String(), "at": c.At, "entries": c.Entries, "families": c.Families, "root": c.Root.String(),
	}
}

func entries(n uint64) string { return plural(n, "entry", "entries") }

func families(n uint64) string { return plural(n, "family", "families") }

func plural(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatUint(n, 10) + " " + more
}

// fromArg is what a flag says, or what is in the file that it names.
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
	return nil, usage("give the line that margay ledger head prints, or a file with it", "--head: %w", reason(err))
}

func publicOf(text string) (ed25519.PublicKey, error) {
	if text == "" {
		return nil, nil
	}
	line, err := fromArg(text, publicPrefix)
	if err == nil {
		var k []byte
		if k, err = base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(line, publicPrefix)); err == nil && len(k) == ed25519.PublicKeySize {
			return k, nil
		}
		err = errors.New("it is no public key of a ledger")
	}
	return nil, usage("give the key that margay ledger head prints, or a file with it", "--key: %w", reason(err))
}

// exportLedger writes to a file that appears whole, or to standard output.
func (a *app) exportLedger(ctx context.Context, b *ledger.Book, out string) error {
	switch {
	case out == "":
		return usage("margay ledger export -o ledger.mgl", "an export needs a file to be written to")
	case out == "-":
		if isTerminal(a.out) {
			return usage("margay ledger export -o ledger.mgl", "an export is no text for a terminal")
		}
		if _, err := b.Export(ctx, a.out); err != nil {
			return failure(ledgerHint, "%w", err)
		}
		return nil
	}
	var c *ledger.Checkpoint
	err := placeFile(out, forOwner, func(w io.Writer) (err error) {
		c, err = b.Export(ctx, w)
		return err
	})
	var p *problem.Error
	if err != nil && !errors.As(err, &p) {
		err = failure(ledgerHint, "%w", err)
	}
	if err != nil {
		return err
	}
	return a.print(headView(c, b.Public()), func(w io.Writer) {
		fmt.Fprintf(w, "%s of %s in %s\nkey      %s\nhead     %s\n", entries(c.Entries), families(c.Families), out, publicText(b.Public()), c)
	})
}

// verifyOwn checks what the store holds, as an export of it would be.
func (a *app) verifyOwn(ctx context.Context, check ledger.Check) error {
	return a.keeping(ctx, func(_ *config.Config, _ *state.State, b *ledger.Book) error {
		if check.Key == nil {
			check.Key = b.Public()
		}
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

func (a *app) verifyFile(ctx context.Context, path string, check ledger.Check) error {
	if check.Key == nil {
		c, err := a.load(nil)
		if err != nil {
			return err
		}
		if check.Key, err = state.LedgerPublic(c); err != nil {
			return err
		}
		if check.Key == nil {
			return usage("give the key that margay ledger head prints where the export was made", "this installation has no ledger: --key is needed")
		}
	}
	in := a.in
	if path != "-" {
		f, err := os.Open(filepath.Clean(path))
		if err != nil {
			return failure("give a file that margay ledger export wrote, or -", "%s can't be read: %w", path, reason(err))
		}
		defer f.Close()
		in = f
	}
	return a.reportLedger(ledger.Verify(ctx, in, check))
}

// finding is one of ledger.Finding for --json.
type ledgerFinding struct {
	Entry  uint64 `json:"entry,omitempty"`
	Family string `json:"family,omitempty"`
	Number uint64 `json:"number,omitempty"`
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

func (a *app) reportLedger(r *ledger.Report, err error) error {
	if err != nil {
		return failure("run it again", "the ledger can't be read: %w", reason(err))
	}
	found := make([]ledgerFinding, len(r.Findings))
	for i, f := range r.Findings {
		found[i] = ledgerFinding{f.Entry, string(f.Family), f.Seq, string(f.Rule), f.Detail}
	}
	if len(found) > 0 {
		a.code = exitFindings
	}
	return a.print(map[string]any{"entries": r.Entries, "families": r.Families, "rubrics": r.Rubrics, "findings": found, "more": r.More}, func(w io.Writer) {
		for i := range r.Findings {
			fmt.Fprintln(w, r.Findings[i].String())
		}
		if r.More > 0 {
			fmt.Fprintf(w, "and %d more\n", r.More)
		}
		what := fmt.Sprintf("%s of %s, %s", entries(r.Entries), families(r.Families), count(r.Rubrics, "rubric"))
		if len(found) > 0 {
			fmt.Fprintf(w, "NOT SOUND: %s, %s\n", what, count(len(found)+r.More, "finding"))
			return
		}
		fmt.Fprintf(w, "sound: %s; every charge adds up, every entry is signed\n", what)
	})
}

// listed is a family for --json.
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

func sums(by, limit [ledger.Classes]flow.Bits) map[string]classed {
	out := map[string]classed{}
	for c := flow.RequiredService; c <= flow.Adversarial; c++ {
		out[c.String()] = classed{by[c], limit[c]}
	}
	return out
}

func (a *app) listLedger(ctx context.Context, s ledger.Store) error {
	tw := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	n := 0
	for h, err := range s.Heads(ctx) {
		if err != nil {
			return failure(problem.Doctor, "%w", err)
		}
		got, err := s.Entries(ctx, h.Family, h.Seq-1, 1)
		if err != nil || len(got) == 0 {
			return failure(problem.Doctor, "family %s: %w", h.Family, errors.Join(err, ledger.ErrNotFound))
		}
		e, err := ledger.Decode(got[0].Bytes)
		if err != nil {
			return failure(ledgerHint, "family %s, entry %d: %w", h.Family, h.Seq, err)
		}
		n++
		if a.json {
			if err := a.print(ledgerFamily{string(h.Family), h.Seq, e.At, e.Total, e.Limits.B, sums(e.Caps, e.Limits.Cap)}, nil); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s of %s\n", h.Family, e.At.Format(time.DateTime), entries(h.Seq), e.Total, e.Limits.B)
	}
	if n == 0 && !a.json {
		a.note("nothing is in the ledger")
	}
	return tw.Flush()
}
