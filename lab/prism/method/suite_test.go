package method

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/monitor"
)

// input makes an input of a text, cut into tokens with distributions.
func input(text string) *Input {
	in := &Input{Task: "t", Agent: "coder", Text: text, Vocabulary: 32000}
	for at := 0; at < len(text); {
		n := monitor.NextPiece(text[at:])
		t := monitor.Token{Text: text[at : at+n], Logprob: math.Log(0.9)}
		p := 0.9
		for _, alt := range []string{t.Text, " the", " a", "\n", ".", " of"} {
			t.Top = append(t.Top, monitor.Alternative{Text: alt, Logprob: math.Log(p)})
			p = (1 - 0.9) / 8
		}
		in.Tokens = append(in.Tokens, t)
		at += n
	}
	return in
}

// checkOutput holds an output to the contract.
func checkOutput(t testing.TB, in *Input, out *Output) {
	t.Helper()
	last := -1
	var kept []string
	at := 0
	for _, r := range out.Removed {
		if r.Start <= last || r.Start < 0 || r.End <= r.Start || r.End > len(in.Text) {
			t.Fatalf("Removed %v of %d bytes is out of order, touching, empty or out of range", out.Removed, len(in.Text))
		}
		kept = append(kept, in.Text[at:r.Start])
		at, last = r.End, r.End
	}
	kept = append(kept, in.Text[at:])
	if len(out.Removed) == 0 {
		if out.Text != in.Text {
			t.Fatalf("nothing removed, and yet %q became %q", in.Text, out.Text)
		}
	} else {
		rest, ok := strings.CutPrefix(out.Text, kept[0])
		if !ok || !strings.HasSuffix(rest, kept[len(kept)-1]) {
			t.Fatalf("%q does not begin or end as what was kept of %q", out.Text, in.Text)
		}
		rest = rest[:len(rest)-len(kept[len(kept)-1])]
		for _, k := range kept[1 : len(kept)-1] {
			_, after, ok := strings.Cut(rest, k)
			if !ok {
				t.Fatalf("%q is not in %q", k, out.Text)
			}
			rest = after
		}
	}
	if !math.IsNaN(out.Risk) && (out.Risk < 0 || out.Risk > 1) {
		t.Fatalf("risk %v", out.Risk)
	}
	if out.Halted && (len(out.Removed) == 0 || out.Removed[len(out.Removed)-1].End != len(in.Text)) {
		t.Fatalf("halted, and the rest went on: %v", out.Removed)
	}
}

// same reports whether two outputs are equal.
func same(a, b *Output) bool {
	return a.Text == b.Text && slices.Equal(a.Removed, b.Removed) && a.Halted == b.Halted &&
		(a.Risk == b.Risk || math.IsNaN(a.Risk) && math.IsNaN(b.Risk))
}

// samples have something for every method, broken text included.
var samples = []string{
	"",
	" ",
	"\x00\xff\xfe broken \xc3",
	"The plan has three steps: read the configuration, check the service, report.",
	`password = "hunter2-Correct!" and DB_PASSWORD=Tr0ub4dor&3xYz9q, api_key: "9aF3kLmQ8zRtY7wVbN2xCpHs6UeJ4dG1"`,
	"deploy with AKIAQ3EGRWXP5TZ6NB7M and postgres://pay:s3cr3tPw9x@db.internal:5432/pay then stop",
	"write to jane.doe@example.org or call +49 30 901820; card 4242 4242 4242 4242, https://example.org/x?y=1.",
	"commit 5d41402abc4b2a76b9719d911017c592aa01bb02 id 123e4567-e89b-42d3-a456-426614174000",
	"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAtest\n-----END RSA PRIVATE KEY-----\nafter",
	"token ghp_16C7e42F292c6912E7710c838347Ae178B4a ghp_16C7e42F292c6912E7710c838347Ae178B4a",
	"日本語のテキスト и русский — “quotes”… 🔑 password：秘密",
}

// suite is what every method must pass.
func suite(t *testing.T, m Method) {
	t.Helper()
	ctx := context.Background()
	filter := func(t testing.TB, in *Input) Output {
		t.Helper()
		text, tokens := in.Text, len(in.Tokens)
		out, err := m.Filter(ctx, in)
		if err != nil {
			t.Fatalf("%q: %v", in.Text, err)
		}
		if in.Text != text || len(in.Tokens) != tokens {
			t.Fatal("the input was changed")
		}
		checkOutput(t, in, &out)
		return out
	}
	if m.Name() == "" || strings.ContainsAny(m.Name(), " ,=") {
		t.Errorf("name %q", m.Name())
	}
	if out := filter(t, input("")); out.Text != "" || len(out.Removed) > 0 {
		t.Errorf("something became of nothing: %+v", out)
	}
	for _, s := range samples {
		a, b := filter(t, input(s)), filter(t, input(s))
		if !same(&a, &b) {
			t.Errorf("the same input gave %+v and %+v", a, b)
		}
	}
	t.Run("generated", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(samples), rapid.String(), rapid.StringMatching(`[A-Za-z0-9_+/=-]{1,40}`)), 0, 6).Draw(rt, "parts")
			in := input(strings.Join(parts, rapid.SampledFrom([]string{"", " ", "\n", "=", `"`}).Draw(rt, "between")))
			out, err := m.Filter(ctx, in)
			if err != nil {
				rt.Fatal(err)
			}
			checkOutput(t, in, &out)
		})
	})
	t.Run("huge", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		var b strings.Builder
		for b.Len() < 200<<10 {
			b.WriteString(samples[rng.IntN(len(samples))])
			b.WriteByte('\n')
		}
		filter(t, input(b.String()))
		filter(t, input(strings.Repeat("a", 100<<10)))
	})
	t.Run("concurrent", func(t *testing.T) {
		want := make([]Output, len(samples))
		for i, s := range samples {
			want[i] = filter(t, input(s))
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for k := range samples {
					i := (k + g) % len(samples)
					out, err := m.Filter(ctx, input(samples[i]))
					if err != nil || !same(&out, &want[i]) {
						t.Errorf("%q beside others: %+v (%v), alone %+v", samples[i], out, err, want[i])
					}
				}
			}()
		}
		wg.Wait()
	})
}

func must[M Method](m M, err error) func(t *testing.T) M {
	return func(t *testing.T) M {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}
