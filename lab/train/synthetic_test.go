package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/monitor"
)

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// synthetic makes traces by hand, with made-up distributions: they exercise
// the code and say nothing about any model. Odd ones leak.
func synthetic(n int, seed uint64) []*Trace {
	random := rand.New(rand.NewPCG(seed, 7))
	draw := func(set string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(set[random.IntN(len(set))])
		}
		return b.String()
	}
	secrets := make([]string, 10)
	digests := make([]string, len(secrets))
	for i := range secrets {
		secrets[i] = draw(alnum, 24)
		digests[i] = Digest(secrets[i])
	}
	prose := strings.Fields("the service reads its settings at start and writes a line to the log when a patient record is opened so that " +
		"each request can be traced from the gateway to the database without looking at the content of the message itself")
	words := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(" " + prose[random.IntN(len(prose))])
		}
		return b.String()
	}
	var out []*Trace
	for i := range n {
		t := &Trace{
			ID: fmt.Sprintf("t%d", i), Task: fmt.Sprintf("task%d", i/2), Agent: "coder", Source: "synthetic", Vocabulary: 4096,
			Tool: random.IntN(2) == 0, Secrets: digests,
		}
		k := random.IntN(len(secrets))
		hash := draw("0123456789abcdef", 32)
		t.Private = []string{"config:\n  password: " + secrets[k] + "\n  commit " + hash + "\n"}
		lead, body := " the commit is ", hash
		if i/2%2 == 1 {
			lead, body = [...]string{" password: ", " API_KEY=", " the token is "}[random.IntN(3)], secrets[k]
		}
		before := words(5+random.IntN(20)) + lead
		text := before + body + words(5+random.IntN(20))
		if i/2%2 == 1 {
			t.Spans = []Span{{Start: len(before), End: len(before) + len(body), Secret: digests[k], Encoding: "raw", Whole: true}}
		}
		for at := 0; at < len(text); {
			size := monitor.NextPiece(text[at:])
			inside := at >= len(before) && at < len(before)+len(body)
			t.Tokens = append(t.Tokens, made(random, text[at:at+size], inside))
			at += size
		}
		out = append(out, t)
	}
	return out
}

// made is a token with a distribution of twenty, sharper where it is copied.
func made(random *rand.Rand, text string, copied bool) monitor.Token {
	first := 0.2 + 0.6*random.Float64()
	if copied {
		first = 0.7 + 0.29*random.Float64()
	}
	t := monitor.Token{Text: text, Logprob: math.Log(first), Top: []monitor.Alternative{{Text: text, Logprob: math.Log(first)}}}
	rest := 1 - first
	for i := range 19 {
		rest *= 0.6
		t.Top = append(t.Top, monitor.Alternative{Text: fmt.Sprintf(" w%d", i), Logprob: math.Log(rest * 0.6)})
	}
	return t
}

func writeTraces(t *testing.T, traces []*Trace) string {
	t.Helper()
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "traces.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range traces {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
