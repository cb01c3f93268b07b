package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// describe tells a finding in a line, with the command that undoes it.
func describe(f *mediator.FindingRecord) string {
	what := string(f.Kind) + " by " + f.Rule
	if f.Name != "" {
		what = string(f.Kind) + " " + f.Name
	}
	where := ""
	if f.Path != "" {
		where = " at " + f.Path
	}
	return fmt.Sprintf("%s: %s%s; undo: margay allow add %s", f.Action, what, where, f.ID)
}

// scanned is one finding of a scan, as it is printed.
type scanned struct {
	ID   string      `json:"id"`
	File string      `json:"file"`
	Line int         `json:"line"`
	Col  int         `json:"column"` // in bytes, from 1
	Len  int64       `json:"length"` // in bytes
	Kind secret.Kind `json:"kind"`
	Rule string      `json:"rule"`
	Name string      `json:"name,omitempty"`
	View string      `json:"view"`
}

// position counts lines while a file is read.
type position struct {
	offset int64
	line   int
	starts []int64 // of the last lines
}

func (p *position) write(b []byte) {
	for i, c := range b {
		if c == '\n' {
			p.line++
			p.starts = append(p.starts, p.offset+int64(i)+1)
		}
	}
	if n := len(p.starts); n > 1<<16 {
		p.starts = append(p.starts[:0], p.starts[n-1<<15:]...)
	}
	p.offset += int64(len(b))
}

func (p *position) of(at int64) (line, col int) {
	line = p.line
	for i := len(p.starts) - 1; i >= 0; i-- {
		if p.starts[i] <= at {
			return line + 1, int(at-p.starts[i]) + 1
		}
		line--
	}
	return line + 1, int(at) + 1
}

func (a *app) scanCommand() *cobra.Command {
	var redact, personal bool
	c := &cobra.Command{
		Use:   "scan [FILE|-]...",
		Short: "Find secrets in files or standard input",
		Long:  "Find secrets in files or standard input, in plain and in disguise. Values are never printed. The exit code is 3 where something is found.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				files = []string{"-"}
			}
			c, err := a.load(nil)
			if err != nil {
				return err
			}
			st, err := a.open(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer st.store.Close()
			for _, f := range files {
				if err := a.scan(cmd.Context(), st, c.Limits.Held, f, redact, personal); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&redact, "redact", false, "write the text with its secrets replaced to standard output, the findings to standard error")
	c.Flags().BoolVar(&personal, "personal", false, "find personal data, too")
	return c
}

func (a *app) scan(ctx context.Context, st *state, held int, file string, redact, personal bool) error {
	in := a.in
	name := "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			var p *os.PathError
			errors.As(err, &p)
			return failure("give a file, or - for standard input", "%s: %w", file, p.Err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return failure("give files: margay scan $(git ls-files)", "%s is a folder", file)
		}
		in, name = f, file
	}
	rules, err := recognise.Default()
	if err != nil {
		return err
	}
	index, err := secret.NewIndex(&st.keys, st.store.Secrets(ctx), time.Now())
	if err != nil {
		return failure("margay doctor", "%w", err)
	}
	allows, err := st.store.Allows(ctx)
	if err != nil {
		return failure("margay doctor", "%w", err)
	}
	cfg := &stream.Config{
		Rules: rules, Vaults: []*secret.Index{index}, MaxHeld: held, Path: strings.TrimPrefix(file, "-"), Now: time.Now(),
		Decide: func(f *stream.Finding, raw []byte) flow.Action {
			if f.Fingerprint.IsZero() {
				f.Fingerprint = st.keys.FingerprintOf(raw)
			}
			if mediator.Allowed(allows, f.Fingerprint, f.Rule, name, time.Now()) {
				return flow.ActAllow
			}
			if f.Rule != stream.RuleVault && f.Class == recognise.ClassPersonal {
				if personal {
					return flow.ActReport
				}
				return flow.ActAllow
			}
			return flow.ActRedact
		},
	}
	found, pos, err := a.edit(cfg, in, name, redact)
	if err != nil {
		return err
	}
	return a.report(ctx, st, name, found, pos, redact)
}

// edit runs a text through the editor.
func (a *app) edit(cfg *stream.Config, in io.Reader, name string, redact bool) ([]stream.Finding, *position, error) {
	e := cfg.NewEditor()
	pos := &position{}
	buf := make([]byte, 64<<10)
	var out []byte
	for first := true; ; first = false {
		n, err := in.Read(buf)
		if first && binary(buf[:n]) {
			return nil, nil, failure("margay scan reads text", "%s is binary", name)
		}
		pos.write(buf[:n])
		out = e.Write(out[:0], buf[:n])
		if errors.Is(err, io.EOF) {
			out = e.Close(out)
		} else if err != nil {
			return nil, nil, failure("", "%s can't be read: %w", name, err)
		}
		if redact {
			if _, werr := a.out.Write(out); werr != nil {
				return nil, nil, failure("", "standard output: %w", werr)
			}
		}
		if err != nil {
			return e.Findings(), pos, nil
		}
	}
}

func binary(b []byte) bool {
	if bytes.IndexByte(b, 0) >= 0 {
		return true
	}
	bad := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		i += n
	}
	return bad > 8 && bad*10 > len(b)
}

func (a *app) report(ctx context.Context, st *state, name string, found []stream.Finding, pos *position, redact bool) error {
	if len(found) == 0 {
		return nil
	}
	en := mediator.LogEntry{Decision: flow.Decision{
		ID: flow.NewID(), Verb: flow.Observe, Outcome: flow.Allow, At: time.Now().UTC(), Sink: flow.Sink{Name: "scan", Channel: flow.ChannelUser, Trust: flow.TrustLocal},
	}}
	w := a.out
	if redact {
		w = a.err
	}
	secrets := false
	for i := range found {
		f := &found[i]
		line, col := pos.of(f.Start)
		s := scanned{flow.NewID(), name, line, col, f.End - f.Start, f.Kind, f.Rule, f.Name, f.View}
		secrets = secrets || f.Action == flow.ActRedact
		en.Findings = append(en.Findings, mediator.FindingRecord{
			ID: s.ID, Rule: f.Rule, Name: f.Name, Kind: f.Kind, Source: f.Source, View: f.View, Fingerprint: f.Fingerprint,
			Path: name, Action: flow.ActReport, Length: int(s.Len),
		})
		p := *a
		p.out = w
		if err := p.print(s, func(w io.Writer) {
			what := f.Rule
			if f.Name != "" {
				what = f.Name
			}
			fmt.Fprintf(w, "%s:%d:%d: %s (%s) %s\n", name, line, col, f.Kind, what, s.ID)
		}); err != nil {
			return err
		}
	}
	if err := st.store.AppendDecisions(ctx, []mediator.LogEntry{en}); err != nil {
		return failure("margay doctor", "the findings could not be recorded: %w", err)
	}
	if !a.json {
		fmt.Fprintf(a.err, "margay: %d found in %s; a false positive? margay allow add FINDING-ID\n", len(found), name)
	}
	if secrets || a.code == exitFindings {
		a.code = exitFindings
	}
	return nil
}
