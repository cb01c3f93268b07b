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
	train "github.com/margaydev/margay/lab/tagger"
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
type ours struct{ rubrics *defence.Registry }

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
	return o.reads(m, nil)
}

// reads is Margay with a network, and with what is changed about it.
func (o *ours) reads(m *tagger.Model, change func(*defence.MargayConfig)) (defence.Defence, error) {
	return o.make(tagger.New(m), nil, func(cfg *defence.MargayConfig) {
		cfg.Name, cfg.Screener = taggerName, tagger.NewScreener(m)
		if change != nil {
			change(cfg)
		}
	})
}

// ablations of rules leave one check of the verifier out each.
func (o *ours) ablations() ([]traj.Ablation, error) {
	var out []traj.Ablation
	for _, name := range []defence.Ablation{defence.NoCoverage, defence.NoStructure, defence.NoDefault} {
		d, err := o.make(rules.Defender{}, nil, func(cfg *defence.MargayConfig) { cfg.Without = []defence.Ablation{name} })
		if err != nil {
			return nil, err
		}
		out = append(out, traj.Ablation{Defence: d, Slice: "ablation=" + string(name)})
	}
	return out, nil
}

// taggerAblations leave out what the network does, one thing each. Challenges are
// measured with a defender that is careless as well: they are for what it leaves out.
func (o *ours) taggerAblations() ([]traj.Ablation, error) {
	m, err := tagger.Default()
	if err != nil {
		return nil, err
	}
	careless := defence.Careless{Inner: tagger.New(m), Share: .5}
	var out []traj.Ablation
	for _, a := range []struct {
		slice  string
		change func(*defence.MargayConfig)
	}{
		{"ablation=no-screener", func(cfg *defence.MargayConfig) { cfg.Screener = nil }},
		{"ablation=no-labels", func(cfg *defence.MargayConfig) { cfg.Defender = rules.Defender{} }},
		{"ablation=no-known-values", func(cfg *defence.MargayConfig) { cfg.Forgets = true }},
		{"ablation=no-challenges", func(cfg *defence.MargayConfig) { cfg.Challenges = 0 }},
		{"defender=careless", func(cfg *defence.MargayConfig) { cfg.Defender = careless }},
		{"defender=careless,ablation=no-challenges", func(cfg *defence.MargayConfig) { cfg.Defender, cfg.Challenges = careless, 0 }},
	} {
		d, err := o.reads(m, a.change)
		if err != nil {
			return nil, err
		}
		out = append(out, traj.Ablation{Defence: d, Slice: a.slice})
	}
	return out, nil
}

// siblings are the categories that are nearest to each other.
var siblings = map[string]string{
	"travel-booking": "flight-search", "flight-search": "travel-booking", "medical-records": "healthcare-intake", "healthcare-intake": "medical-records",
	"financial-onboarding": "tax-filing", "tax-filing": "financial-onboarding", "e-commerce": "payments", "payments": "e-commerce",
	"hr-payroll": "financial-onboarding", "customer-support": "messaging-scheduling", "software-operations": "customer-support", "messaging-scheduling": "customer-support",
	"checkout": "e-commerce", "patient-registration": "healthcare-intake",
}

// held are the rows of rules without a category's rubric: with none in its place
// (loro), and with the nearest category's (loco).
func (o *ours) held(w *trajworld.Setting) ([]traj.Ablation, error) {
	var out []traj.Ablation
	for _, c := range w.Categories() {
		none, err := o.make(rules.Defender{}, []string{c}, nil)
		if err != nil {
			return nil, err
		}
		near, err := o.make(rules.Defender{}, []string{c}, func(cfg *defence.MargayConfig) {
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

// folds are the rows of rules+tagger with networks of a folder that were trained and
// calibrated without a category's subject (loro), and without its domain's (loco). The
// category has its own rubric: the defender has not seen what it is for. fold=none is
// a network that lacks nothing, and had as many steps as those.
func (o *ours) folds(dir string, w *trajworld.Setting) ([]traj.Ablation, *train.Card, error) {
	names, err := foldNames(w.Categories())
	if err != nil {
		return nil, nil, err
	}
	made := map[string]defence.Defence{}
	var first *train.Card
	for _, fold := range names {
		m, card, err := train.ReadFold(dir, fold)
		if err != nil {
			return nil, nil, failure("margay-lab train tagger --folds makes them", "the fold %s can't be read: %w", fold, cli.Reason(err))
		}
		if first == nil {
			first = card
		}
		if card.Steps != first.Steps || card.Seed != first.Seed || card.Measured != first.Measured {
			return nil, nil, failure("margay-lab train tagger --folds makes them anew", "the fold %s was trained otherwise than %s", fold, names[0])
		}
		if made[fold], err = o.reads(m, nil); err != nil {
			return nil, nil, err
		}
	}
	out := []traj.Ablation{{Defence: made[train.FoldNone], Slice: "fold=" + train.FoldNone}}
	_, domain := train.FoldCategories()
	for _, c := range w.Categories() {
		out = append(out, traj.Ablation{Defence: made[c], Slice: "loro=" + c, Only: c}, traj.Ablation{Defence: made[domain[c]], Slice: "loco=" + c, Only: c})
	}
	return out, first, nil
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
