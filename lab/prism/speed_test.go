//go:build unix

package prism

import (
	"syscall"
	"testing"
	"time"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/monitor"
)

// BenchmarkMonitor is the time of a token through the mediator, as the column
// ns/token of the tables has it: without what is read before an output.
func BenchmarkMonitor(b *testing.B) {
	tasks, err := world.Healthcare(11).Tasks(20)
	if err != nil {
		b.Fatal(err)
	}
	model, err := speaker()
	if err != nil {
		b.Fatal(err)
	}
	scorer := model.NewScorer()
	var inputs []method.Input
	for i := range tasks {
		shared := tasks[i].Opening()
		for agent := range world.Agents {
			turn := tasks[i].Play(agent, shared)
			shared = world.Append(shared, agent, turn.Text)
			inputs = append(inputs, method.Input{
				Task: tasks[i].ID, Agent: turn.Agent, Context: turn.Context, Private: turn.Private, Tool: len(turn.Tools) > 0,
				Vocabulary: model.Vocabulary(), Text: turn.Text, Tokens: score(scorer, turn).tokens,
			})
		}
	}
	for name, make := range map[string]func(*monitor.Model) (*method.Monitor, error){
		"risk": method.RiskOnly, "blackbox": method.BlackBox, "everything": method.Everything,
	} {
		b.Run(name, func(b *testing.B) {
			m, err := make(monitor.Default())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var took time.Duration
			tokens, outputs := 0, 0
			before := spent(b)
			for i := 0; b.Loop(); i++ {
				in := &inputs[i%len(inputs)]
				start := time.Now()
				out, err := m.Filter(b.Context(), in)
				if err != nil {
					b.Fatal(err)
				}
				took += time.Since(start) - out.Reading
				tokens += len(in.Tokens)
				outputs++
			}
			// The same without an output is what reading takes. Processor
			// time tells more than the clock where others work, too.
			all := spent(b) - before
			before = spent(b)
			for i := range outputs {
				in := inputs[i%len(inputs)]
				in.Text, in.Tokens = "", nil
				if _, err := m.Filter(b.Context(), &in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((all-spent(b)+before).Nanoseconds())/float64(tokens), "cpu-ns/token")
			b.ReportMetric(float64(took.Nanoseconds())/float64(tokens), "ns/token")
		})
	}
}

// spent is the processor time of this process.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
