package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// top is a list of n alternatives that begins with p and falls by half.
func top(text string, p float64, n int) []Alternative {
	out := []Alternative{{Text: text, Logprob: math.Log(p)}}
	rest := 1 - p
	for i := range n - 1 {
		rest /= 2
		out = append(out, Alternative{Text: fmt.Sprintf(" a%d", i), Logprob: math.Log(rest)})
	}
	return out
}

func pieces(text string) (out []string) {
	for text != "" {
		n := NextPiece(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// feed gives a text to a monitor and returns the greatest value of each
// feature, and the number of the token at which each was first reached.
func feed(m *Monitor, text string) (greatest [count]float64, first [count]int) {
	for i, p := range pieces(text) {
		m.Next(&Token{Text: p, Logprob: math.NaN()})
		for j, v := range m.Features() {
			if v > greatest[j] {
				greatest[j], first[j] = v, i
			}
		}
	}
	return greatest, first
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		text                           string
		identifier, digits, credential bool
	}{
		{"The service reads its settings at start.", false, false, false},
		{"mode=fast", true, false, false},
		{"if a == b then", false, false, false},
		{"write to ann@example.org today", true, false, false},
		{"write to @ann today", false, false, false},
		{"id 123e4567-e89b-12d3-a456-426614174000 is", true, true, false},
		{"listens on 10.0.12.7 now", true, false, false},
		{"version 1.12.7 now", false, false, false},
		{"commit 3fae9c0b12aa44fe90aa12", true, false, false},
		{"internationalisation counts", false, false, false},
		{"call 20301177 now", false, true, false},
		{"in the year 2024 or 1999", false, false, false},
		{"the key is AKIAQ3EGRP7NTKW2XA5B", true, false, true},
		{"keys begin with AKIA as a rule", false, false, false},
		{"use sk_live_q8Zr2 here", false, false, true},
		{"password: hunter2", false, false, true},
		{"The password must have twelve characters.", false, false, false},
		{"password: required", false, false, false},
		{"password: ${DB_PASSWORD}", false, false, false},
		{"DB_PASSWORD=Tr0ub4dor", true, false, true},
		{"The ClinicalDBPass is 'm4rmalade'", false, false, true},
		{"the passenger is 4ever young", false, false, false},
		{"postgres://app:marmalade@db:5432/x", false, false, true},
		{"http://localhost:8080/x", false, false, false},
		{"Authorization: Bearer q8Zr2mmW", false, false, true},
		{"max_tokens: 4096", false, false, false},
		{"TOKEN_TTL=3600", true, false, false},
		{"It is D99N5msrnMiXesg now", false, false, true},
		{"It is H3@rtb3@t-3079 now", false, false, true},
		{"https://hooks.example/in/ai8AnjEPeuJf", false, false, true},
		{"scheduleNextLabOrder OAuth2Token x86_64 ssh-ed25519", false, false, false},
		{"hex 4833407274623340742d33303739", true, true, true},
		{"x.o.x.b.-.y.W.J.p", false, false, true},
		{"trace_id: 3eiyKxTFNT3UeiN2oox1", true, false, false},
		{"public_key = pJ7xTqL2mW9aRz4k", true, false, false},
		{"iVBORw0KGgoJYN5NKB5Y5GBNxd5GkII6", true, false, false},
		{"-----BEGIN EC PRIVATE KEY-----\nQlt", false, false, true},
		{"-----BEGIN CERTIFICATE-----\nx9Kq2mmWdLP0x9Kq2mm", true, false, false},
		{"token: changeme4", false, false, false},
		{"the key is AKIAIOSFODNN7EXAMPLE", true, false, false},
		{"use sk_test_4eC39HqLyjWDarjtT1zdp7dc", true, false, false},
		{"postgres://user:password@localhost:5432/app", false, false, false},
		{"JWT=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", true, false, false},
		{"MASTER_KEY=2024-05-14 22:14:11", true, false, false},
		{"PASSWORD=1234567890", true, true, false},
		{"API_KEY: https://api.example.net/v2", false, false, false},
		{"the salt is 9f86d081884c7d65", true, false, true},
		{"VAULT_PASSPHRASE='correct horse battery staple'", true, false, true},
		{"the passphrase is not known to anyone here", false, false, false},
		{"BACKUP_PASSWORD -> marmaladebridge", false, false, true},
		{"| mail_password | marmaladebridge | 2024 |", false, false, true},
		{"mail_password: marmaladebridge", false, false, true},
		{"VAULT_PASSPHRASE -> harbour lantern", false, false, true},
		{"SSH_PASSPHRASE=none", true, false, false},
		{"Your password: whatever you have chosen.", false, false, false},
		{"Password -> Settings", false, false, false},
		{"it is heartbeatlanternmarmaladebridge now", false, false, true},
		{"Donaudampfschiffkapitaen and internationalisation", false, false, false},
	} {
		got, _ := feed(Default().New(Options{BlackBox: true}), c.text)
		for _, f := range []struct {
			i    int
			want bool
		}{{identifierPattern, c.identifier}, {numericRuns, c.digits}, {credentialStyle, c.credential}} {
			if (got[f.i] == 1) != f.want {
				t.Errorf("%q: %s is %g", c.text, Features()[f.i], got[f.i])
			}
		}
	}
}

// TestEarly: a credential is noticed at its beginning.
func TestEarly(t *testing.T) {
	for _, c := range []struct{ before, secret string }{
		{"the key is ", "AKIAQ3EGRP7NTKW2XA5B"},
		{"password: ", "x9Kq2mmWdL"},
		{"API_KEY=", "q8Zr2mmWdLP0"},
	} {
		_, first := feed(Default().New(Options{BlackBox: true}), c.before+c.secret)
		var out strings.Builder
		for _, p := range pieces(c.before + c.secret)[:first[credentialStyle]] {
			out.WriteString(p)
		}
		if gone := out.Len() - len(c.before); gone > 4 {
			t.Errorf("%q: %d characters went out before", c.secret, gone)
		}
	}
}

func TestDensityAndRepetition(t *testing.T) {
	m := Default().New(Options{BlackBox: true})
	for i, c := range []struct {
		text                string
		density, repetition float64
	}{
		{"The", 0, 0},
		{" password", 1. / 2, 0},
		{" for", 1. / 3, 0},
		{" the", 1. / 4, 0},
		{" token", 2. / 5, 0},
		{"izer", 1. / 6, 0},
		{" the", 1. / 7, 1},
		{" x", 1. / 8, 0},
		{" y", 1. / 9, 0},
		{" z", 1. / 10, 0},
		{" w", 1. / 10, 0},
		{" v", 0, 0},
	} {
		m.Next(&Token{Text: c.text, Logprob: math.NaN()})
		if f := m.Features(); math.Abs(f[semanticDensity]-c.density) > 1e-12 || f[repetition] != c.repetition {
			t.Errorf("token %d %q: density %g, repetition %g", i, c.text, f[semanticDensity], f[repetition])
		}
	}
}

func TestOverlap(t *testing.T) {
	s := NewSource("db:\n  password=marmalade-on-toast-7\n")
	unknown := Default().New(Options{})
	if unknown.Next(&Token{Text: "x"}); unknown.Available()>>ngramOverlap&1 != 0 {
		t.Error("overlap without a source")
	}
	// Another separator and another cut make no difference.
	for _, tokens := range [][]string{{"It is", " marma", "lade-", "on-toa", "st-7"}, {"It", " is ", "marmalade", "-on-toast", "-7"}} {
		m := Default().New(Options{Source: s, BlackBox: true})
		for _, p := range tokens {
			m.Next(&Token{Text: p, Logprob: math.NaN()})
		}
		if got := m.Features()[ngramOverlap]; got != 1 {
			t.Errorf("%q: overlap %g", tokens, got)
		}
		// The next word is another one.
		if m.Next(&Token{Text: " and", Logprob: math.NaN()}); m.Features()[ngramOverlap] != 0 {
			t.Errorf("%q: overlap %g behind it", tokens, m.Features()[ngramOverlap])
		}
	}
	// A word that goes on otherwise is another word for a part of it, whatever the case.
	m := Default().New(Options{Source: s, BlackBox: true})
	for _, p := range []string{"Marmalade", "-on", "-soda", "-jars"} {
		m.Next(&Token{Text: p, Logprob: math.NaN()})
	}
	if got := m.Features()[ngramOverlap]; got < 0.3 || got > 0.7 {
		t.Errorf("overlap %g of a part", got)
	}
	clean := Default().New(Options{Source: s})
	if got, _ := feed(clean, "Nothing of what was read stands here."); got[ngramOverlap] != 0 {
		t.Errorf("overlap %g of other text", got[ngramOverlap])
	}
}

// Private is what stands as credentials stand, not all that was read.
func TestPrivateSource(t *testing.T) {
	s := NewSource("It assumes that the service was restarted before midnight.\n" +
		"commit: 9f86d081884c7d659a2feaa0c55ad015\nETAG=cCXDM17v53X0kmL6qDUyn11V7fNTv315\n" +
		"SAMPLE_KEY=sk_test_4eC39HqLyjWDarjtT1zdp7dc\n" +
		"vault_passphrase: correct horse battery staple\nDATABASE_URL=postgres://app:Quince1987pear@db:5432/x\n" +
		"SHOP_TOKEN='q8Zr2mmWP0x9Kq' # since Monday\n")
	for text, want := range map[string]bool{
		"the service was restarted before midnight":   false,
		"9f86d081884c7d659a2feaa0c55ad015":            false,
		"cCXDM17v53X0kmL6qDUyn11V7fNTv315":            false,
		"sk_test_4eC39HqLyjWDarjtT1zdp7dc":            false,
		"db:5432/x":                                   false,
		"We use correct horse battery staple for it.": true,
		"It is Quince1987pear":                        true,
		"the value is q8Zr2mmWP0x9Kq, they say":       true,
	} {
		m := Default().New(Options{Source: s, BlackBox: true})
		most := 0.0
		for rest := text; rest != ""; {
			n := NextPiece(rest)
			m.Next(&Token{Text: rest[:n], Logprob: math.NaN()})
			most = max(most, m.Features()[ngramOverlap])
			rest = rest[n:]
		}
		if (most > 0) != want {
			t.Errorf("%q: overlap %g", text, most)
		}
	}
}

// TestEntropyBounds: what a server tells less of a distribution widens the
// bounds around the true entropy, and never hides it.
func TestEntropyBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.IntRange(6, 300).Draw(t, "v")
		p := rapid.SliceOfN(rapid.Float64Range(1e-6, 1), v, v).Draw(t, "p")
		all := make([]Alternative, v)
		sum, entropy := 0.0, 0.0
		for _, x := range p {
			sum += x
		}
		for i, x := range p {
			all[i] = Alternative{Text: fmt.Sprint(i), Logprob: math.Log(x / sum)}
			entropy -= x / sum * math.Log(x/sum)
		}
		entropy /= math.Log(float64(v))
		k := rapid.IntRange(MinAlternatives, v).Draw(t, "k")
		own := rapid.IntRange(0, v-1).Draw(t, "own")
		known := newVocabulary(v)
		d, ok := known.look(&Token{Text: all[own].Text, Logprob: all[own].Logprob, Top: all[:k]})
		if !ok || d.least > entropy+1e-9 || d.most < entropy-1e-9 {
			t.Errorf("%d of %d: entropy %g, bounds [%g,%g], %v", k, v, entropy, d.least, d.most, ok)
		}
		if k == v && d.most-d.least > 1e-9 {
			t.Errorf("bounds [%g,%g] of a whole distribution", d.least, d.most)
		}
	})
}

// TestFailSafe: numbers that can't be make a token black box, and too few
// alternatives the rest of the stream.
func TestFailSafe(t *testing.T) {
	good := func() Token { return Token{Text: "x", Logprob: math.Log(0.5), Top: top("x", 0.5, 20)} }
	for _, c := range []struct {
		name  string
		spoil func(*Token)
		rest  bool
	}{
		{"no logprob", func(t *Token) { t.Logprob = math.NaN() }, true},
		{"few", func(t *Token) { t.Top = t.Top[:4] }, true},
		{"NaN", func(t *Token) { t.Top[3].Logprob = math.NaN() }, false},
		{"above 1", func(t *Token) { t.Top[0].Logprob = 0.3 }, false},
		{"own above 1", func(t *Token) { t.Logprob = 0.3 }, false},
		{"sum", func(t *Token) { t.Top[1].Logprob = math.Log(0.6) }, false},
		{"own beside all", func(t *Token) { t.Text, t.Logprob = "y", -0.1 }, false},
	} {
		m := Default().New(Options{})
		ok, bad := good(), good()
		c.spoil(&bad)
		if v := m.Next(&ok); v.Box == BlackBox {
			t.Errorf("%s: the token before is black box", c.name)
		}
		if v := m.Next(&bad); v.Box != BlackBox || m.Available()&logits != 0 {
			t.Errorf("%s: not black box", c.name)
		}
		if v := m.Next(&ok); (v.Box == BlackBox) != c.rest {
			t.Errorf("%s: the token behind is %v", c.name, v.Box)
		}
	}
}

func drawToken(t *rapid.T) Token {
	text := rapid.SampledFrom([]string{
		" the", "password", ":", " =", "AKIA", "Q3EG", "sk", "_", "live", "7", "123", "\n", "\"", " x9Kq", "é", "@", ".", "://", "-", "token", "is ",
	}).Draw(t, "text")
	k := Token{Text: text, Logprob: math.NaN()}
	if rapid.Bool().Draw(t, "white") {
		p := rapid.Float64Range(0.01, 1).Draw(t, "p")
		k.Logprob, k.Top = math.Log(p), top(text, p, rapid.IntRange(1, 20).Draw(t, "k"))
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			k.Top[0].Logprob = rapid.SampledFrom([]float64{math.NaN(), 1, math.Inf(1), math.Inf(-1)}).Draw(t, "bad")
		}
	}
	if rapid.Bool().Draw(t, "telemetry") {
		n := rapid.SampledFrom([]float64{0, 1, 1e9, -1, math.NaN(), math.Inf(1)})
		k.Telemetry = &Telemetry{
			HiddenNorm: n.Draw(t, "norm"), HiddenVariance: n.Draw(t, "variance"), HiddenSize: rapid.IntRange(-1, 8).Draw(t, "size"),
			Public: n.Draw(t, "public"), Private: n.Draw(t, "private"), System: n.Draw(t, "system"),
		}
	}
	return k
}

func TestRanges(t *testing.T) {
	source := NewSource("password: AKIAQ3EGRP7 the token is x9Kq")
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Tool: rapid.Bool().Draw(t, "tool"), BlackBox: rapid.Bool().Draw(t, "black")}
		if rapid.Bool().Draw(t, "source") {
			o.Source = source
		}
		m, blind := Default().New(o), o
		blind.BlackBox = true
		b := Default().New(blind)
		for _, k := range rapid.SliceOf(rapid.Custom(drawToken)).Draw(t, "tokens") {
			v := m.Next(&k)
			if !(v.Risk >= 0 && v.Risk <= 1) {
				t.Fatalf("risk %g", v.Risk)
			}
			for i, f := range m.Features() {
				if !(f >= 0 && f <= 1) || m.Available()>>i&1 == 0 && f != 0 {
					t.Fatalf("%s is %g", Features()[i], f)
				}
			}
			tau1, tau2 := Default().white.tau1, Default().white.tau2
			if v.Box == BlackBox {
				tau1, tau2 = Default().black.tau1, Default().black.tau2
			}
			if (v.Zone >= Yellow) != (v.Risk >= tau1) || (v.Zone == Red) != (v.Risk >= tau2) {
				t.Fatalf("risk %g is %s", v.Risk, v.Zone)
			}
			// A black box judges as if the server had told nothing.
			bare := Token{Text: k.Text, Logprob: math.NaN()}
			twin := *b
			if got, want := b.Next(&k), twin.Next(&bare); got != want || got.Box != BlackBox {
				t.Fatalf("black box: %+v with log-probabilities, %+v without", got, want)
			}
		}
		// A monitor that was reset is a new one.
		m.Reset(o)
		k := drawToken(t)
		if got, want := m.Next(&k), Default().New(o).Next(&k); got != want {
			t.Errorf("%+v after a reset, %+v anew", got, want)
		}
	})
}

// TestLargerRisk: the verdict is the larger of those at both ends.
func TestLargerRisk(t *testing.T) {
	k := Token{Text: "x", Logprob: math.Log(0.3), Top: top("x", 0.3, 6)}
	for _, w := range []float64{1, -1} {
		s := Default().Spec()
		s.Gray.Weights = make([]float64, count)
		s.Gray.Scale = ones()
		s.Gray.Weights[lowEntropy] = w
		model, err := NewModel(s)
		if err != nil {
			t.Fatal(err)
		}
		m := model.New(Options{Vocabulary: 50_000})
		m.Next(&k)
		want := m.Sample().AtLeast.LowEntropy
		if w < 0 {
			want = m.Sample().AtMost.LowEntropy
		}
		if got := m.Features()[lowEntropy]; got != want || m.Sample().AtLeast == m.Sample().AtMost {
			t.Errorf("weight %g: %g, of %+v and %+v", w, got, m.Sample().AtLeast, m.Sample().AtMost)
		}
	}
}

func ones() []float64 {
	out := make([]float64, count)
	for i := range out {
		out[i] = 1
	}
	return out
}

func TestTrend(t *testing.T) {
	for _, trend := range []string{TrendWindow, TrendAll} {
		s := Default().Spec()
		s.Trend = trend
		model, err := NewModel(s)
		if err != nil {
			t.Fatal(err)
		}
		sc := model.NewScorer()
		var rises []int
		for i := range 40 {
			x := Sample{Available: logits | always}
			x.AtLeast.LowEntropy = float64(i*7%11) / 11
			x.AtMost = x.AtLeast
			before, steps := sc.last, sc.steps
			v := sc.Score(&x)
			last := rises[max(0, len(rises)-Window):]
			if trend == TrendAll {
				last = rises
			}
			want, sum := 0.0, 0
			for _, r := range last {
				sum += r
			}
			if len(last) > 0 {
				want = float64(sum) / float64(len(last))
			}
			if got := x.Values[trajectoryTrend]; got != want {
				t.Fatalf("%s, step %d: %g, not %g", trend, i, got, want)
			}
			if steps > 0 {
				rise := 0
				if v.Risk > before {
					rise = 1
				}
				rises = append(rises, rise)
			}
		}
	}
}

func TestModelFile(t *testing.T) {
	m := Default()
	b, err := json.MarshalIndent(m.Spec(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := string(b) + "\n"
	if file != string(defaultModel) {
		t.Error("the embedded model is not as its Spec is written")
	}
	// The hash is of the content, not of the spelling.
	again, err := Load(strings.NewReader(strings.ReplaceAll(file, "\n", "\n\t")))
	if err != nil || again.Hash() != m.Hash() || len(m.Hash()) != 64 {
		t.Errorf("read again: %v", err)
	}
	for name, change := range map[string][2]string{
		"a weight":  {`"bias": `, `"bias": 1`},
		"version":   {`"version": 2`, `"version": 3`},
		"a feature": {`low_entropy`, `high_entropy`},
		"unknown":   {`"version": 2`, `"more": 1, "version": 2`},
		"threshold": {`"tau1": 0.`, `"tau1": 0.9`},
		"trend":     {`"trend": "window"`, `"trend": "all"`},
	} {
		text := strings.Replace(file, change[0], change[1], 1)
		if text == file {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, err := Load(strings.NewReader(text)); !errors.Is(err, ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(strings.NewReader(file + "{}")); !errors.Is(err, ErrModel) {
		t.Errorf("two documents: %v", err)
	}
}

// TestAlways: seven features need nothing that only the server knows.
func TestAlways(t *testing.T) {
	if n := bits.OnesCount16(always); n != 7 {
		t.Errorf("%d features are always there, not seven", n)
	}
}

func TestTelemetry(t *testing.T) {
	got, err := ParseTelemetry([]byte(`{"version":1,"tokens":[{"hidden_norm":96,"hidden_variance":0.4,"hidden_size":64,
		"attention":{"public":1,"private":2,"system":1}},null,{"attention":{"public":0.5,"private":0,"system":0}}]}`))
	if err != nil || len(got) != 3 || got[1] != nil {
		t.Fatalf("%v %v", got, err)
	}
	m := Default().New(Options{})
	m.Next(&Token{Text: "x", Logprob: math.Log(0.5), Top: top("x", 0.5, 20), Telemetry: got[0]})
	f := m.Features()
	if f[hiddenStateMagnitude] != 0.75 || math.Abs(f[hiddenStateVariance]-0.4/1.4) > 1e-9 || math.Abs(f[privateProvenance]-0.5) > 1e-6 || m.Available()&(hidden|sources) != hidden|sources {
		t.Errorf("%v, available %b", f, m.Available())
	}
	m.Next(&Token{Text: "x", Logprob: math.Log(0.5), Top: top("x", 0.5, 20), Telemetry: got[2]})
	if m.Available()&(hidden|sources) != sources || f[hiddenStateMagnitude] != 0 {
		t.Errorf("attention alone: available %b", m.Available())
	}
	for _, bad := range []string{
		``, `[]`, `{}`, `{"version":2,"tokens":[]}`, `{"version":1,"tokens":[{"hidden_norm":1}]}`,
		`{"version":1,"tokens":[{"hidden_norm":-1,"hidden_variance":0,"hidden_size":4}]}`,
		`{"version":1,"tokens":[{"attention":{"public":-1}}]}`,
	} {
		if _, err := ParseTelemetry([]byte(bad)); !errors.Is(err, ErrTelemetry) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// stream is a monitor with all features, and tokens for it.
func stream() (*Monitor, []Token) {
	text := "The configuration lists DB_PASSWORD=x9Kq2mmWdLP0 for the service at 10.0.0.7, and the commit 3fae9c0b12aa44fe is the last one. "
	var tokens []Token
	for _, p := range pieces(text) {
		e := &Telemetry{HiddenNorm: 30, HiddenVariance: 0.5, HiddenSize: 64, Public: 1, Private: 2, System: 1}
		tokens = append(tokens, Token{Text: p, Logprob: math.Log(0.6), Top: top(p, 0.6, 20), Telemetry: e})
	}
	return Default().New(Options{Source: NewSource(text), Tool: true}), tokens
}

func TestNoAllocation(t *testing.T) {
	m, tokens := stream()
	i := 0
	if n := testing.AllocsPerRun(1000, func() { m.Next(&tokens[i%len(tokens)]); i++ }); n > 0 {
		t.Errorf("%g allocations a token", n)
	}
}

func BenchmarkNext(b *testing.B) {
	m, tokens := stream()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Next(&tokens[i%len(tokens)])
	}
}

// The floor is the least risk, and leaves the order of risks as it is.
func TestFloor(t *testing.T) {
	spec := Default().Spec()
	for _, f := range []*Fit{&spec.White, &spec.Gray, &spec.Black} {
		f.Floor = 0
	}
	bare, err := NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Black.Floor = 0.1
	m, err := NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a quiet word", "DB_PASSWORD=Tr0ub4dor&3x"} {
		t1, t2 := bare.New(Options{BlackBox: true}), m.New(Options{BlackBox: true})
		was, is := t1.Next(&Token{Text: text, Logprob: math.NaN()}), t2.Next(&Token{Text: text, Logprob: math.NaN()})
		if math.Abs(is.Risk-(0.1+0.9*was.Risk)) > 1e-12 {
			t.Errorf("%q: %g, was %g", text, is.Risk, was.Risk)
		}
	}
	for _, bad := range []float64{-0.1, spec.Black.Tau1, math.NaN()} {
		spec.Black.Floor = bad
		if _, err := NewModel(spec); !errors.Is(err, ErrModel) {
			t.Errorf("floor %g is taken", bad)
		}
	}
}
