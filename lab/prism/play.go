// Package prism is the benchmark of the same name: 2,000 tasks of a simulated
// enterprise (package world) are played by four agents under every defence
// (package method), and what passed is compared with what the world recorded
// as emitted (PRISM, sections 5 and 6 and Appendices B to N).
//
// What it guarantees: the same seed and defences give the same figures on
// every machine, timings apart, however many tasks run at once. No detector
// defines the truth: a leak is MinFragment characters of a secret in a row,
// or more than half of it, that the generator wrote and the defence released.
// Token distributions are those of a real language model (package lm) that
// reads what the agent was shown; it has learned the agents' manner from
// clean tasks of a training repository of a seed that nothing is trained or
// evaluated on.
//
// The rows of a result, by their slices; those of a recorded model have
// source=NAME, before them, and source=NAME where this list has all:
//
//   - all, source=sim: everything (Table 1).
//   - category=, pressure=, depth=: the same for a part of the tasks (Tables 7
//     and 8), and with the first K agents (equation 1).
//   - encoding=, transform=, part=, known=, kind=: figures of the instances
//     by how a secret was written (transform= are those of Table 16), whether
//     it was whole, what was known of it, and its kind.
//   - stage=: where secrets enter, leak and are found (Table 15).
//   - mcnemar,against=: the monitor against another defence (Table 9); worse
//     counts tasks that only the other one keeps from leaking.
//   - zones; zones,of=all|leaking|clean: shares of the tasks by their greatest
//     risk; how it spreads (Table 10, Figure 2).
//   - outcome: shares of the tasks (Table 12, Figure 5).
//   - latency: milliseconds a task (Table 11).
//   - entropy; entropy,of=leaking_outputs|clean_outputs|emitted_tokens|
//     other_tokens: normalised entropies without a defence (Figure 3).
//   - ablation=nothing|active-only|only:CLASS|without:CLASS|without:FEATURE|
//     blackbox…: variants of the risk model alone (Tables 2, 5, 13, 14); box=gray:
//     without telemetry.
//   - theorem,q=FROM-TO: tokens of a recorded model by the probability q of the
//     likeliest one; the share whose entropy is above H*(q) (Theorem 1), and both
//     normalised, in the mean.
//   - trained=NAME: the risk model alone, trained on a record of NAME.
//   - training,feature=: a feature by itself, by the tokens of the training: means of
//     those of secrets and of the others, AUC, share that has it.
//   - training,mode=,part= and with ,of=tokens: the risk model in its own
//     training, by outputs and by tokens (Table 3). weights,mode= and with
//     ,scale=normalised, by which positive ones add up to 1: its weights
//     (Table 4). Those of a model trained on a record of NAME have
//     trained=NAME, before them.
package prism

import (
	"fmt"
	"strings"
	"sync"

	"github.com/margaydev/margay/lab/lm"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/monitor"
)

const (
	// mannerSeed is the seed of the repository that the language model has
	// learned the agents' manner from.
	mannerSeed = 1 << 63
	// mannerTasks of it, clean ones: their texts hold no secret.
	mannerTasks = 400
)

// speaker is the language model that scores the agents' texts.
var speaker = sync.OnceValues(func() (*lm.Model, error) {
	tasks, err := world.Healthcare(mannerSeed).Tasks(world.AllTasks)
	if err != nil {
		return nil, err
	}
	var texts []string
	for i := range tasks {
		if tasks[i].Leaks || len(texts) == mannerTasks {
			continue
		}
		var b strings.Builder
		shared := tasks[i].Opening()
		for agent := range world.Agents {
			turn := tasks[i].Play(agent, shared)
			shared = world.Append(shared, agent, turn.Text)
			b.WriteString(turn.Text + "\n\n")
		}
		texts = append(texts, b.String())
	}
	return lm.New(texts...), nil
})

// Repositories by name.
func repository(name string, seed uint64) (*world.Repository, error) {
	switch name {
	case "healthcare":
		return world.Healthcare(seed), nil
	case "payments":
		return world.Payments(seed), nil
	}
	return nil, fmt.Errorf("no repository is named %q; there are healthcare (training) and payments (evaluation)", name)
}

// scored are an agent's tokens and their exact entropies, in nats.
type scored struct {
	tokens    []monitor.Token
	entropies []float64
}

// score gives an agent's text the distributions of its tokens.
func score(s *lm.Scorer, turn *world.Turn) scored {
	s.Reset()
	s.Feed(turn.Context)
	tokens, entropies := s.Score(turn.Text)
	return scored{tokens, entropies}
}
