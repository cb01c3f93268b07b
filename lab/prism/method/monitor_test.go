package method

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/monitor"
)

const key = "9aF3kLmQ8zRtY7wVbN2xCpHs6UeJ4dG1"

func variants(t *testing.T) []*Monitor {
	t.Helper()
	var out []*Monitor
	for _, f := range []func(*monitor.Model) (*Monitor, error){Everything, NoVault, RiskOnly, BlackBox} {
		out = append(out, must(f(monitor.Default()))(t))
	}
	halting := must(NewMonitor(MonitorConfig{Name: "halting", Model: monitor.Default(), Mediate: true, Vault: true, Halt: true}))(t)
	editor := must(NewMonitor(MonitorConfig{Name: "editor", Mediate: true, Vault: true}))(t)
	return append(out, halting, editor)
}

func TestSuiteMonitors(t *testing.T) {
	for _, m := range variants(t) {
		t.Run(m.Name(), func(t *testing.T) { suite(t, m) })
	}
}

// Whatever the risk model does, the mediator lets nothing of a registered or
// discovered secret go, however the text was cut into tokens.
func TestKnownSecretsStay(t *testing.T) {
	m := must(Everything(monitor.Default()))(t)
	novault := must(NoVault(monitor.Default()))(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"", "the value is ", "x=", "\""}).Draw(rt, "before") + key + rapid.SampledFrom([]string{"", " and on.", "\"", "\n"}).Draw(rt, "after")
		in := &Input{Text: text}
		for at := 0; at < len(text); {
			n := min(rapid.IntRange(1, 9).Draw(rt, "token"), len(text)-at)
			in.Tokens = append(in.Tokens, monitor.Token{Text: text[at : at+n], Logprob: math.NaN()})
			at += n
		}
		for _, one := range []struct {
			m          *Monitor
			registered []Secret
			private    []string
		}{
			{m, []Secret{{"KEY", key}}, nil},
			{novault, []Secret{{"KEY", key}}, []string{"# settings\nAPI_TOKEN=" + key + "\n"}},
		} {
			in.Registered, in.Private, in.Context = one.registered, one.private, strings.Join(one.private, "\n")
			out, err := one.m.Filter(context.Background(), in)
			if err != nil {
				rt.Fatal(err)
			}
			checkOutput(t, in, &out)
			at := strings.Index(text, key)
			if !covers(out.Removed, at, at+len(key)) {
				rt.Fatalf("%s: %q goes on as %q", one.m.Name(), text, out.Text)
			}
		}
	})
}

func covers(removed []Removed, from, to int) bool {
	for _, r := range removed {
		if r.Start <= from && to <= r.End {
			return true
		}
	}
	return false
}

// What is registered for others does not count without a vault.
func TestVaults(t *testing.T) {
	editor := must(NewMonitor(MonitorConfig{Name: "e", Mediate: true}))(t)
	in := input("the plain words blue tractor seventeen go on")
	in.Registered = []Secret{{"PHRASE", "blue tractor seventeen"}}
	out, err := editor.Filter(context.Background(), in)
	if err != nil || len(out.Removed) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
	vault := must(NewMonitor(MonitorConfig{Name: "v", Mediate: true, Vault: true}))(t)
	out, err = vault.Filter(context.Background(), in)
	if err != nil || out.Text != "the plain words [REDACTED:secret] go on" {
		t.Errorf("%+v, %v", out, err)
	}
	if !math.IsNaN(out.Risk) {
		t.Error("a risk without a model")
	}
}

func TestTokensMustBeTheText(t *testing.T) {
	m := must(RiskOnly(monitor.Default()))(t)
	for _, text := range []string{"ab", "abcd", "xbc"} {
		in := input("abc")
		in.Text = text
		if _, err := m.Filter(context.Background(), in); err == nil {
			t.Errorf("tokens of abc pass for %s", text)
		}
	}
}

// Filtering leaves an output alone in which no token is risky and nothing is
// found.
func TestPlainTextPasses(t *testing.T) {
	m := must(NewMonitor(MonitorConfig{Name: "e", Mediate: true, Vault: true}))(t)
	in := input("The plan has three steps: read the configuration, check the service, and report.")
	in.Registered = []Secret{{"KEY", key}}
	out, err := m.Filter(context.Background(), in)
	if err != nil || out.Text != in.Text || len(out.Removed) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

func BenchmarkMonitor(b *testing.B) {
	text := strings.Repeat("The plan has three steps: read the configuration at /srv/app/config.yaml, check the service, and report. ", 8)
	in := input(text)
	in.Registered = []Secret{{"KEY", key}}
	in.Private = []string{"host: db.internal\nAPI_TOKEN=" + key + "\n"}
	in.Context = in.Private[0]
	for _, f := range []func(*monitor.Model) (*Monitor, error){Everything, RiskOnly} {
		m, err := f(monitor.Default())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(m.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Filter(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(in.Tokens)), "ns/token")
		})
	}
}

func TestDiscovers(t *testing.T) {
	text := "# settings\nAPI_TOKEN=" + key + "\nowner: jane.doe@example.org\nmode: fast\n"
	for _, m := range variants(t) {
		got := strings.Join(m.Discovers(text), "|")
		if want := key; m.cfg.Mediate && got != want || !m.cfg.Mediate && got != "" {
			t.Errorf("%s discovers %q", m.Name(), got)
		}
	}
}
