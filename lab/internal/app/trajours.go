package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/robust"
	"github.com/margaydev/margay/lab/traj"
	"github.com/margaydev/margay/lab/traj/defence"
	trajworld "github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric/library"
)

const (
	rulesName  = "rules"
	taggerName = "rules+tagger"
)

// challenges is how many questions the second pass asks in benchmarks.
const challenges = 3

// ours makes Margay's rows from rubrics.
type ours struct {
	rubrics *defence.Registry
	// retrained is a defender that was trained and calibrated without a
	// category's trajectories, for the rows that hold it out; nil where the
	// defender learns nothing.
	retrained func(without string) (declassify.Defender, error)
	// reader is a defender that finds what no clause does; nil: there is none.
	// Challenges are measured with it: one that only repeats the clauses can't
	// leave out anything that the verifier does not see by itself.
	reader defence.Reader
}

// newOurs reads the rubrics of the suites traj and robust: those of a folder,
// or the library.
func newOurs(o *options) (*ours, error) {
	files := map[string][]byte{}
	if o.traj.rubrics == "" {
		for _, f := range library.All() {
			files[f.Name+".yaml"] = []byte(f.Text)
		}
	} else {
		names, err := filepath.Glob(filepath.Join(o.traj.rubrics, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if files[filepath.Base(n)], err = os.ReadFile(filepath.Clean(n)); err != nil {
				return nil, failure("give a folder of rubrics", "%s can't be read: %w", n, cli.Reason(err))
			}
		}
	}
	reg, err := defence.NewRegistry(files)
	if err != nil {
		return nil, err
	}
	return &ours{rubrics: reg}, nil
}

func (o *ours) make(d declassify.Defender, left []string, change func(*defence.MargayConfig)) (defence.Defence, error) {
	cfg, err := o.rubrics.Config(defence.MargayConfig{Name: rulesName, Defender: d, Challenges: challenges}, left...)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&cfg)
	}
	return defence.NewMargay(cfg)
}

// plain is Margay with the defender that knows the rubrics alone.
func (o *ours) plain() (defence.Defence, error) { return o.make(rules.Defender{}, nil, nil) }

// tagged is Margay with the network that reads, which labels and screens.
func (o *ours) tagged() (defence.Defence, error) {
	m, err := tagger.Default()
	if err != nil {
		return nil, err
	}
	return o.make(tagger.New(m), nil, func(cfg *defence.MargayConfig) { cfg.Name, cfg.Screener = taggerName, tagger.NewScreener(m) })
}

// ablations leave one check out each.
func (o *ours) ablations() ([]traj.Ablation, error) {
	var out []traj.Ablation
	for _, name := range []defence.Ablation{defence.NoCoverage, defence.NoStructure, defence.NoAudit, defence.NoDefault} {
		d, err := o.make(rules.Defender{}, nil, func(cfg *defence.MargayConfig) { cfg.Without = []defence.Ablation{name} })
		if err != nil {
			return nil, err
		}
		out = append(out, traj.Ablation{Defence: d, Slice: "ablation=" + string(name)})
	}
	if o.reader == nil {
		return out, nil
	}
	careless := defence.Careless{Inner: o.reader, Share: .5}
	asked, err := o.make(careless, nil, nil)
	if err != nil {
		return nil, err
	}
	unasked, err := o.make(careless, nil, func(cfg *defence.MargayConfig) { cfg.Without = []defence.Ablation{defence.NoChallenges} })
	if err != nil {
		return nil, err
	}
	return append(out, traj.Ablation{Defence: asked, Slice: "defender=careless"}, traj.Ablation{Defence: unasked, Slice: "ablation=" + string(defence.NoChallenges)}), nil
}

// siblings are the categories that are nearest to each other.
var siblings = map[string]string{
	"travel-booking": "flight-search", "flight-search": "travel-booking", "medical-records": "healthcare-intake", "healthcare-intake": "medical-records",
	"financial-onboarding": "tax-filing", "tax-filing": "financial-onboarding", "e-commerce": "payments", "payments": "e-commerce",
	"hr-payroll": "financial-onboarding", "customer-support": "messaging-scheduling", "software-operations": "customer-support", "messaging-scheduling": "customer-support",
	"checkout": "e-commerce", "patient-registration": "healthcare-intake",
}

// without is the defender of the rows that hold a category out.
func (o *ours) without(category string) (declassify.Defender, error) {
	if o.retrained == nil {
		return rules.Defender{}, nil
	}
	return o.retrained(category)
}

// held are the rows of categories whose rubric is held out: with none in its
// place (loro), and with the nearest category's (loco).
func (o *ours) held(w *trajworld.Setting) ([]traj.Ablation, error) {
	var out []traj.Ablation
	for _, c := range w.Categories() {
		d, err := o.without(c)
		if err != nil {
			return nil, err
		}
		none, err := o.make(d, []string{c}, nil)
		if err != nil {
			return nil, err
		}
		near, err := o.make(d, []string{c}, func(cfg *defence.MargayConfig) {
			cfg.Stand = func(of string) string {
				if of == c {
					return siblings[c]
				}
				return of
			}
		})
		if err != nil {
			return nil, err
		}
		out = append(out, traj.Ablation{Defence: none, Slice: "loro=" + c, Only: c}, traj.Ablation{Defence: near, Slice: "loco=" + c, Only: c})
	}
	return out, nil
}

// forged is Margay with a turned defender.
func (o *ours) forged(f robust.Forger) (defence.Defence, error) { return o.make(f, nil, nil) }

// noOurs is the note where there are no rubrics.
func noOurs(err error) (string, bool) {
	if errors.Is(err, defence.ErrNoRubrics) {
		return fmt.Sprintf("%s skipped: no rubrics; give --rubrics", strings.Join([]string{rulesName}, ", ")), true
	}
	return "", false
}
