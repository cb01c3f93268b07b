package privacy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/lab/results"
)

// Lines are the kinds of ordinary work of which each line is a text.
func Lines() []string { return []string{"queries", "greetings"} }

// MaxText bounds a text of ordinary work.
const MaxText = 256 << 10

// Work is one text of ordinary work.
type Work struct{ Kind, Name, Text string }

// Folder is ordinary work, and the hash of its files.
type Folder struct {
	Work []Work
	Hash string // SHA-256 of the names and hashes of all files, in their order
}

// ReadFolder reads the work in the subfolders of a folder.
func ReadFolder(dir string) (*Folder, error) {
	f := &Folder{}
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error { // in lexical order
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		kind, _, below := strings.Cut(rel, "/")
		if !below || !e.Type().IsRegular() {
			return fmt.Errorf("%s: put files into a subfolder for each kind of work", rel)
		}
		b, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			return err
		}
		one := sha256.Sum256(b)
		fmt.Fprintf(sum, "%s\x00%x\n", rel, one)
		switch {
		case !utf8.Valid(b):
			return fmt.Errorf("%s: invalid UTF-8", rel)
		case !slices.Contains(Lines(), kind):
			return f.add(kind, rel, string(b))
		}
		for i, line := range bytes.Split(b, []byte("\n")) {
			if err := f.add(kind, fmt.Sprintf("%s:%d", rel, i+1), strings.TrimSpace(string(line))); err != nil {
				return err
			}
		}
		return nil
	})
	f.Hash = hex.EncodeToString(sum.Sum(nil))
	if err == nil && len(f.Work) == 0 {
		err = fmt.Errorf("%s: no texts", filepath.Base(dir))
	}
	return f, err
}

func (f *Folder) add(kind, name, text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("%s: longer than %d bytes", name, MaxText)
	}
	if strings.TrimSpace(text) != "" {
		f.Work = append(f.Work, Work{kind, name, text})
	}
	return nil
}

// OrdinaryOptions are those of Ordinary.
type OrdinaryOptions struct {
	Folder    *Folder
	Source    string
	Defences  []string // those of Defences; rules if it is nil
	Arguments []string // names of the argument, as in Options
	Seed      uint64
	Progress  func(string)
	// Cause is called for each text; its ID is the name of the file, with the
	// line where lines are texts.
	Cause func(Cause)
}

// ordinaryActions are the categories under which work of a kind goes out; of
// other kinds it is a message.
var ordinaryActions = map[string]string{"source": "software-operations", "queries": "customer-support"}

const ordinaryAction = "messaging-scheduling"

// Ordinary sends ordinary work through a gateway under each defence.
func Ordinary(ctx context.Context, o OrdinaryOptions) (*results.Result, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Defences == nil {
		o.Defences = []string{"rules"}
	}
	if len(o.Arguments) == 0 {
		o.Arguments = []string{"text"}
	}
	r := &results.Result{
		Suite: "privacy", Seed: o.Seed, N: len(o.Folder.Work), Environment: results.Here(),
		Source: fmt.Sprintf("%s, sha256 %s", o.Source, o.Folder.Hash),
		Notes:  []string{"a text is changed if it does not arrive byte for byte; each is a trajectory of its own"},
	}
	for _, d := range o.Defences {
		for i, name := range o.Arguments {
			for _, typ := range []string{"text", "plain"} {
				for _, class := range []string{"semi-trusted", "adversarial"} {
					all, err := ordinary(ctx, d, name, typ, class, &o)
					if err != nil {
						return nil, err
					}
					slice := fmt.Sprintf("type=%s,class=%s", typ, class)
					if i > 0 {
						slice += ",argument=" + name
					}
					r.Rows = append(r.Rows, o.rows(d, slice, all)...)
				}
			}
		}
	}
	o.Progress("")
	return r, nil
}

// ordinary sends all work out in an argument of a type, to a sink of a class.
func ordinary(ctx context.Context, defence, argument, typ, class string, o *OrdinaryOptions) ([]Cause, error) {
	tools := map[string]config.ReleaseTool{}
	for i := range o.Folder.Work {
		kind := o.Folder.Work[i].Kind
		action, ok := ordinaryActions[kind]
		if !ok {
			action = ordinaryAction
		}
		tools["send_"+kind] = config.ReleaseTool{Action: action, Sink: "a service", Class: class, Args: map[string]string{argument: typ}}
	}
	g, err := open(ctx, defence, tools)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	out := make([]Cause, len(o.Folder.Work))
	for i := range o.Folder.Work {
		w := &o.Folder.Work[i]
		if i%10 == 0 {
			o.Progress(fmt.Sprintf("%s, %s to %s: text %d of %d", defence, typ, class, i+1, len(o.Folder.Work)))
		}
		raw, err := json.Marshal(map[string]string{argument: w.Text})
		if err != nil {
			return nil, err
		}
		tool := "send_" + w.Kind
		got, err := g.send(ctx, &call{tool, raw})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
		c := Case{ID: w.Name, Action: tools[tool].Action, Class: class}
		if out[i], err = score(&c, raw, got); err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
		out[i].Defence, out[i].Argument, out[i].Kind, out[i].Type = defence, argument, w.Kind, typ
		if o.Cause != nil {
			o.Cause(out[i])
		}
	}
	return out, nil
}

// rows are those of each kind.
func (o *OrdinaryOptions) rows(defence, part string, all []Cause) []results.Row {
	kinds := map[string]bool{}
	for i := range all {
		kinds[all[i].Kind] = true
	}
	var out []results.Row
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, row(defence, slice{"kind=" + kind + "," + part, func(c *Cause) bool { return c.Kind == kind }}, all, o.Seed))
	}
	return out
}
