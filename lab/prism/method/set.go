package method

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// Options say what the methods of a comparison are made of.
type Options struct {
	// Model is the risk model; nil for the one that is shipped.
	Model *monitor.Model
	// Traces are the training repository's. Without them the learned
	// baselines are left out.
	Traces []train.Trace
	Seed   uint64
	// Instructed: the outputs are of a real model that was told Instruction.
	Instructed bool
	Judge      completion.Config
	// Judged are recorded answers of the judge JudgedBy, where Judge has no
	// endpoint.
	JudgedBy string
	Judged   map[string]string
	Peers    string // where scripts/peers installed; empty for no peers
	// Only names the methods wanted; all where empty.
	Only []string
}

// Names are the methods in the order of the tables.
func Names() []string {
	names := []string{"none", "prompt", "guardrail", "entropy", "rules", "pii", "gbt", "tagger", "judge"}
	names = append(names, Peers...)
	return append(names, "monitor", "monitor-novault", "monitor-red", "monitor-risk", "monitor-blackbox")
}

// Set are the methods of a comparison. Close ends what they run.
type Set struct {
	Methods []Method
	left    []string
}

// New makes the methods. What can't run here is left out with a note; any
// other failure is an error, as is a name that is not a method's.
func New(ctx context.Context, o Options) (*Set, error) {
	for _, n := range o.Only {
		if !slices.Contains(Names(), n) {
			return nil, fmt.Errorf("no defence %q; there are %q", n, Names())
		}
	}
	if o.Model == nil {
		o.Model = monitor.Default()
	}
	s := &Set{}
	for _, name := range Names() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, name) {
			continue
		}
		m, err := o.make(ctx, name)
		if errors.Is(err, ErrUnavailable) {
			s.left = append(s.left, err.Error())
			continue
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.Methods = append(s.Methods, m)
	}
	return s, nil
}

func (o *Options) make(ctx context.Context, name string) (Method, error) {
	switch name {
	case "none":
		return None{}, nil
	case "prompt":
		return made(NewPrompt(o.Instructed))
	case "guardrail":
		return Guardrail{}, nil
	case "entropy":
		return Entropy{}, nil
	case "rules":
		return made(NewRules())
	case "pii":
		return made(NewPII())
	case "gbt", "tagger":
		if len(o.Traces) == 0 {
			return nil, unavailable(name, "no training traces")
		}
		if name == "gbt" {
			return made(TrainGBT(o.Traces))
		}
		return made(TrainTagger(o.Traces, o.Seed))
	case "judge":
		if o.Judge.BaseURL == "" && len(o.Judged) > 0 {
			return NewRecordedJudge(o.JudgedBy, o.Judged), nil
		}
		return made(NewJudge(o.Judge))
	case "monitor":
		return made(Everything(o.Model))
	case "monitor-novault":
		return made(NoVault(o.Model))
	case "monitor-red":
		return made(Red(o.Model))
	case "monitor-risk":
		return made(RiskOnly(o.Model))
	case "monitor-blackbox":
		return made(BlackBox(o.Model))
	}
	if o.Peers == "" {
		return nil, unavailable(name, "no folder with external scanners")
	}
	return made(NewPeer(ctx, name, o.Peers))
}

// made keeps a nil pointer from becoming a Method that is not nil.
func made[M Method](m M, err error) (Method, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Notes says what was left out and why, and what the methods have to say; ask
// at the end of the run.
func (s *Set) Notes() []string {
	notes := slices.Clone(s.left)
	for _, m := range s.Methods {
		if n, ok := m.(interface{ Notes() []string }); ok {
			notes = append(notes, n.Notes()...)
		}
	}
	return notes
}

// Close ends the processes of the methods.
func (s *Set) Close() error {
	var errs []error
	for _, m := range s.Methods {
		if c, ok := m.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
