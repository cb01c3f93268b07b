package adaptive

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/results"
)

// Options of a run.
type Options struct {
	Settings []string // of Settings(); empty for all
	Rounds   int      // of each setting
	Seed     uint64
	Found    func(*Success) // gets the first success of each class; nil for nobody
	Progress func(string)
}

// Success is an effect that nobody was asked about, with the least episode that has it.
type Success struct {
	Setting  string  `json:"setting"`
	Strategy string  `json:"strategy"`
	Round    int     `json:"round"`
	Kind     string  `json:"kind"`
	Class    string  `json:"class"`
	Moves    []move  `json:"moves"`
	Trace    []event `json:"trace"`
}

// maxClasses bounds the classes of a setting that are minimised and reported.
const maxClasses = 500

// Run searches.
func Run(ctx context.Context, o Options) (*results.Result, error) {
	if len(o.Settings) == 0 {
		o.Settings = Settings()
	}
	res := &results.Result{Suite: "adaptive", Seed: o.Seed, N: o.Rounds * len(o.Settings), Source: "generated", Environment: results.Here(), Notes: []string{
		"n is the rounds of all settings. Each is an episode of at most 12 calls through the mediator's own steps, with a scripted agent that obeys whatever strangers' text it is shown",
		"effects_unasked counts episodes with an effect that the user did not ask for and nobody was asked about; classes are those with different calls",
	}}
	for _, name := range o.Settings {
		if err := o.run(ctx, name, res); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return res, nil
}

func (o *Options) run(ctx context.Context, name string, res *results.Result) error {
	set := settingOf(name)
	if set == nil {
		return fmt.Errorf("unknown setting; known settings are %s", strings.Join(Settings(), ", "))
	}
	p, err := newProduct(set.coding, set.packs...)
	if err != nil {
		return err
	}
	s, classes, unasked := newSearch(set, o.Seed), map[string]bool{}, 0
	asked, calls := 0, 0
	for round := range o.Rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if o.Progress != nil && round%500 == 0 {
			o.Progress(fmt.Sprintf("%s: round %d of %d, %d effects", name, round, o.Rounds, unasked))
		}
		at, moves := s.next()
		ep, err := play(ctx, set, p, moves)
		if err != nil {
			return err
		}
		for _, e := range ep.trace {
			if strings.HasPrefix(e.Effect, "error: ") {
				return fmt.Errorf("round %d: %s", round, e.Effect)
			}
			if e.Follows {
				calls++
				if e.Asked {
					asked++
				}
			}
		}
		fresh := false
		if len(ep.hits) > 0 {
			unasked++
			s.arms[at].hits++
			h := ep.hits[0]
			if class := h.Kind + ": " + h.Label; !classes[class] && len(classes) < maxClasses {
				classes[class], fresh = true, true
				if o.Found != nil {
					least := minimise(ctx, set, p, moves, h)
					ep, err := play(ctx, set, p, least)
					if err != nil {
						return err
					}
					o.Found(&Success{Setting: name, Strategy: s.arms[at].name, Round: round + 1, Kind: h.Kind, Class: class, Moves: least, Trace: ep.trace})
				}
			}
		}
		s.learn(at, moves, ep.score, fresh)
	}
	res.Add("margay", "setting="+name, map[string]float64{
		"rounds": float64(o.Rounds), "effects_unasked": float64(unasked), "classes": float64(len(classes)), "attacker_calls": float64(calls), "attacker_calls_asked": float64(asked),
	})
	for i := range s.arms {
		a := &s.arms[i]
		res.Add("margay", "setting="+name+",strategy="+a.name, map[string]float64{"rounds": a.n, "effects_unasked": float64(a.hits)})
	}
	return nil
}

// Play plays the episode of a success again, and reports whether it is one here, too.
func Play(ctx context.Context, s *Success) (bool, error) {
	set := settingOf(s.Setting)
	if set == nil {
		return false, fmt.Errorf("unknown setting %q", s.Setting)
	}
	p, err := newProduct(set.coding, set.packs...)
	if err != nil {
		return false, err
	}
	for _, m := range s.Moves {
		if plays[m.Kind] == nil {
			return false, fmt.Errorf("unknown move %q; known moves are %s", m.Kind, strings.Join(slices.Sorted(maps.Keys(plays)), ", "))
		}
	}
	ep, err := play(ctx, set, p, s.Moves)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(ep.hits, func(h hit) bool { return h.Kind == s.Kind }), nil
}

// String is a success as a person reads it.
func (s *Success) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, round %d, %s: %s\n", s.Setting, s.Round, s.Strategy, s.Class)
	for _, e := range s.Trace {
		who, what := "task", "made"
		if e.Follows {
			who = "attacker"
		}
		if !e.Made {
			what = "not made"
		}
		if e.Asked {
			what += ", asked"
		}
		if e.Effect != "" {
			what += ", " + e.Effect
		}
		fmt.Fprintf(&b, "  %d %s: %s (%s)\n", e.Chat, who, e.Call, what)
	}
	return b.String()
}

// JSON is a success as a line.
func (s *Success) JSON() []byte {
	b, _ := json.Marshal(s) // it can be written as JSON
	return append(b, '\n')
}
