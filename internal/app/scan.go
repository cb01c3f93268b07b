package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// scanned is one finding of a scan, as it is printed.
type scanned struct {
	File  string      `json:"file"`
	Line  int         `json:"line"`
	Col   int         `json:"column"` // in bytes, from 1
	Len   int64       `json:"length"` // in bytes
	Kind  secret.Kind `json:"kind"`
	Rule  string      `json:"rule"`
	Name  string      `json:"name,omitempty"`
	View  string      `json:"view"`
	ID    string      `json:"id"`
	Allow string      `json:"allow"` // the command that lets it pass
}

// position turns offsets into lines while a text is read. It remembers the
// starts of recent lines only.
type position struct {
	offset int64
	line   int     // number of the line that starts[0] begins
	starts []int64 // ascending; the first may lie far back
}

func newPosition() *position { return &position{line: 1, starts: []int64{0}} }

func (p *position) write(b []byte) {
	for i, c := range b {
		if c == '\n' {
			p.starts = append(p.starts, p.offset+int64(i)+1)
		}
	}
	p.offset += int64(len(b))
}

// of returns the line and the column of an offset, both from 1.
func (p *position) of(at int64) (line, col int) {
	i := len(p.starts) - 1
	for i > 0 && p.starts[i] > at {
		i--
	}
	return p.line + i, int(at-p.starts[i]) + 1
}

// forget drops the lines that end before an offset.
func (p *position) forget(before int64) {
	n := 0
	for n+1 < len(p.starts) && p.starts[n+1] <= before {
		n++
	}
	p.line += n
	p.starts = p.starts[:copy(p.starts, p.starts[n:])]
}

// input is a text to scan, opened and known to be text.
type input struct {
	name string
	r    io.Reader
	file *os.File // nil for standard input
}

func (a *app) scanCommand() *cobra.Command {
	var s scan
	c := &cobra.Command{
		Use:   "scan [FILE|-]...",
		Short: "Find secrets in files or standard input",
		Long: `Find secrets in files or standard input, in plain and in disguise.

Prints FILE:LINE:COLUMN: KIND RULE ID for each, never a value; the column counts
bytes. The exit code is 3 where something is found. margay allow add ID lets a
false positive pass from then on.`,
		Example: "  margay scan $(git ls-files)\n  git diff --cached | margay scan\n  margay scan --redact log.txt > clean.txt",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				files = []string{"-"}
			}
			s.app = a
			return s.run(cmd.Context(), files)
		},
	}
	c.Flags().BoolVar(&s.redact, "redact", false, "write the text with its secrets replaced to standard output, the findings to standard error")
	c.Flags().BoolVar(&s.personal, "personal", false, "find personal data, too")
	return c
}

// scan is one invocation of the command.
type scan struct {
	*app
	redact, personal bool

	st     *state
	cfg    stream.Config
	allows []secret.Allow
	found  int
	last   [2]int64 // span that was reported last
}

func (s *scan) run(ctx context.Context, files []string) error {
	c, err := s.load(nil)
	if err != nil {
		return err
	}
	// All that can be wrong with the first input is known before the state
	// folder is made.
	first, err := s.input(files[0])
	if err != nil && len(files) == 1 {
		return err
	}
	if s.st, err = s.open(ctx, c); err != nil {
		return err
	}
	defer s.st.close()
	if s.cfg.Rules, err = rulesOf(c); err != nil {
		return err
	}
	index, err := secret.NewIndex(&s.st.keys, s.st.store.Secrets(ctx), time.Now())
	if err != nil {
		return failure(doctorHint, "%w", err)
	}
	if s.allows, err = s.st.store.Allows(ctx); err != nil {
		return failure(doctorHint, "%w", err)
	}
	s.cfg.Vaults, s.cfg.MaxHeld, s.cfg.Now = []*secret.Index{index}, c.Limits.Held, time.Now()
	failed := 0
	for i, f := range files {
		in := first
		if i > 0 || in == nil {
			in, err = s.input(f)
		}
		if err == nil {
			err = s.one(ctx, in)
		}
		if err != nil && len(files) == 1 {
			return err
		}
		if err != nil {
			s.note("%s, so it was not scanned", err)
			failed++
		}
	}
	if s.found > 0 {
		s.code = exitFindings
		if !s.json {
			s.note("%d found; a false positive passes from now on with margay allow add ID", s.found)
		}
	} else if failed > 0 {
		s.code = exitFailed
	}
	return nil
}

// input opens a file and looks at its beginning.
func (s *scan) input(file string) (*input, error) {
	in := &input{name: "stdin", r: s.in}
	if file != "-" {
		f, err := os.Open(filepath.Clean(file))
		if err != nil {
			var p *os.PathError
			errors.As(err, &p)
			return nil, failure("give a file, or - for standard input", "%s can't be read: %w", file, p.Err)
		}
		if st, err := f.Stat(); err == nil && st.IsDir() {
			_ = f.Close()
			return nil, failure("give files: margay scan $(git ls-files)", "%s is a folder", file)
		}
		in.name, in.r, in.file = filepath.ToSlash(filepath.Clean(file)), f, f
	}
	head := make([]byte, 64<<10)
	n, err := in.r.Read(head)
	if err != nil && !errors.Is(err, io.EOF) {
		in.close()
		return nil, failure("is it readable?", "%s can't be read: %w", in.name, err)
	}
	if binary(head[:n]) {
		in.close()
		return nil, failure("margay scan reads text; unpack or decode it first", "%s is binary", in.name)
	}
	in.r = io.MultiReader(bytes.NewReader(head[:n]), in.r)
	return in, nil
}

func (in *input) close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}

// binary reports whether a text's beginning is none: it has a zero byte, or
// is invalid UTF-8 to a good part.
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

func (s *scan) decide(name string) func(*stream.Finding, []byte) flow.Action {
	return func(f *stream.Finding, raw []byte) flow.Action {
		if f.Fingerprint.IsZero() && !f.Capped {
			f.Fingerprint = s.st.keys.FingerprintOf(raw)
		}
		if mediator.Allowed(s.allows, f.Fingerprint, f.Rule, name, s.cfg.Now) {
			return flow.ActAllow
		}
		if f.Rule != stream.RuleVault && f.Class == recognise.ClassPersonal && !s.personal {
			return flow.ActAllow
		}
		return flow.ActRedact
	}
}

// one scans an input, in bounded memory but for what it finds.
func (s *scan) one(ctx context.Context, in *input) error {
	defer in.close()
	cfg := s.cfg
	cfg.Decide = s.decide(in.name)
	if in.file != nil {
		cfg.Path = in.name
	}
	e := cfg.NewEditor()
	pos := newPosition()
	buf := make([]byte, 64<<10)
	var out []byte
	told := 0
	s.last = [2]int64{-1, -1}
	for {
		n, err := in.r.Read(buf)
		end := errors.Is(err, io.EOF)
		pos.write(buf[:n])
		out = e.Write(out[:0], buf[:n])
		if end {
			out = e.Close(out)
		}
		if s.redact {
			if _, werr := s.out.Write(out); werr != nil {
				return failure("is the disk full, or the reader gone?", "standard output: %w", werr)
			}
		}
		found := e.Findings()[told:]
		told += len(found)
		if rerr := s.report(ctx, in.name, found, pos); rerr != nil {
			return rerr
		}
		pos.forget(pos.offset - int64(e.Held()) - 1)
		if end {
			return nil
		}
		if err != nil {
			return failure("is it still there?", "%s can't be read to its end: %w", in.name, err)
		}
	}
}

// report records findings, so that they can be allowed, and prints them.
func (s *scan) report(ctx context.Context, name string, found []stream.Finding, pos *position) error {
	if len(found) == 0 {
		return nil
	}
	en := mediator.LogEntry{Decision: flow.Decision{
		ID: flow.NewID(), Trajectory: flow.TrajectoryID(flow.NewID()), Verb: flow.Observe, Outcome: flow.Allow, At: time.Now().UTC(),
		Sink: flow.Sink{Name: "scan", Channel: flow.ChannelUser, Trust: flow.TrustLocal},
	}}
	var lines []scanned
	for i := range found {
		f := &found[i]
		if s.last == [2]int64{f.Start, f.End} {
			continue // what leads says it; the others see the same
		}
		s.last = [2]int64{f.Start, f.End}
		line, col := pos.of(f.Start)
		id := flow.NewID()
		lines = append(lines, scanned{name, line, col, f.End - f.Start, f.Kind, f.Rule, f.Name, f.View, id, allowCommandOf(id)})
		r := mediator.FindingRecord{
			ID: id, Rule: f.Rule, Name: f.Name, Kind: f.Kind, Source: f.Source, View: f.View, Fingerprint: f.Fingerprint,
			Path: name, Action: flow.ActReport, Length: int(f.End - f.Start),
		}
		en.Findings = append(en.Findings, r)
		en.Reasons = append(en.Reasons, flow.Reason{
			Code: "secret-found", Detail: fmt.Sprintf("%s found by %s in %s, line %d", f.Kind, f.Rule, name, line), Finding: id, Action: flow.ActReport,
		})
	}
	if len(lines) == 0 {
		return nil
	}
	if err := s.st.store.AppendDecisions(ctx, []mediator.LogEntry{en}); err != nil {
		return failure(doctorHint, "the findings could not be recorded: %w", err)
	}
	w := s.out
	if s.redact {
		w = s.err
	}
	for i := range lines {
		l := &lines[i]
		rule := l.Rule
		if l.Name != "" {
			rule += " " + l.Name
		}
		if v := disguise(l.View); v != "" {
			rule += " (" + v + ")"
		}
		if err := s.printTo(w, l, func(w io.Writer) { fmt.Fprintf(w, "%s:%d:%d: %s %s %s\n", l.File, l.Line, l.Col, l.Kind, rule, l.ID) }); err != nil {
			return failure("is the reader gone?", "standard output: %w", err)
		}
	}
	s.found += len(lines)
	return nil
}
