package train

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/monitor"
)

func TestRoundTrip(t *testing.T) {
	traces := synthetic(6, 3)
	traces[0].Tokens[1].Text = "\xf0\x9f" // a part of a character
	traces[0].Tokens[1].Top[0].Text = "\xf0\x9f"
	traces[1].Tokens[0].Telemetry = &monitor.Telemetry{HiddenNorm: 3, HiddenVariance: 0.5, HiddenSize: 8, Public: 1}
	traces[2].Tokens[0].Top[7].Logprob = math.Inf(-1)
	var got []*Trace
	set, err := ReadTraces(writeTraces(t, traces), func(x *Trace) error { got = append(got, x); return nil })
	if err != nil || len(got) != len(traces) || set.Vocabulary != 4096 || set.Traces != 6 {
		t.Fatalf("%d traces, %+v: %v", len(got), set, err)
	}
	for i, x := range got {
		if x.Text() != traces[i].Text() || !slices.Equal(x.Spans, traces[i].Spans) || x.Tool != traces[i].Tool {
			t.Errorf("trace %d differs", i)
		}
		for j := range x.Tokens {
			a, b := &x.Tokens[j], &traces[i].Tokens[j]
			if math.Abs(math.Exp(a.Logprob)-math.Exp(b.Logprob)) > 1e-4 || len(a.Top) != len(b.Top) || a.Text != b.Text || !reflect.DeepEqual(a.Telemetry, b.Telemetry) {
				t.Fatalf("trace %d token %d: %+v, not %+v", i, j, a, b)
			}
		}
	}
	// The hash is of the traces, not of their compression.
	plain := filepath.Join(t.TempDir(), "x.jsonl")
	w, err := Create(plain)
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
	if other, err := ReadTraces(plain, func(*Trace) error { return nil }); err != nil || other.Hash != set.Hash {
		t.Errorf("%v: %s, not %s", err, other.Hash, set.Hash)
	}
}

// TestBadTraces: each is refused by name, file, line and token.
func TestBadTraces(t *testing.T) {
	var b bytes.Buffer
	x := synthetic(4, 3)[2]
	if err := NewWriter(&b).Write(x); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	own := func(s string) string { // of token 0
		from := strings.Index(good, `"l":`) + 4
		return good[:from] + s + good[from+strings.IndexByte(good[from:], ','):]
	}
	top := func(s string) string {
		from := strings.Index(good, `"p":[`) + 5
		return good[:from] + s + good[from+strings.IndexByte(good[from:], ','):]
	}
	text := func(s string) string {
		from := strings.Index(good, `"t":"`)
		return good[:from] + s + good[from+strings.IndexByte(good[from:], ','):]
	}
	with := func(spoil func(*Trace)) string {
		var b bytes.Buffer
		x := synthetic(4, 3)[2]
		if spoil(x); NewWriter(&b).Write(x) != nil {
			t.Fatal()
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		line  string
		err   error
		token int
	}{
		"no logprob":             {strings.Replace(own(""), `"l":,`, "", 1), ErrLogprobs, 0},
		"null logprob":           {own("null"), ErrLogprobs, 0},
		"null alternative":       {top("null"), ErrNotFinite, 0},
		"NaN":                    {top("NaN"), ErrNotFinite, -1},
		"minus infinity":         {top("-Infinity"), ErrNotFinite, -1},
		"quoted":                 {top(`"NaN"`), ErrNotFinite, -1},
		"above 1":                {top("0.2"), ErrProbability, 0},
		"sum":                    {with(func(x *Trace) { x.Tokens[3].Top[1].Logprob = -0.01 }), ErrMass, 3},
		"fewer":                  {with(func(x *Trace) { x.Tokens[3].Top = x.Tokens[3].Top[:4] }), ErrLogprobs, 3},
		"lists that differ":      {strings.Replace(good, `"p":[`, `"p":[-9,`, 1), ErrLogprobs, 0},
		"an empty token":         {text(`"t":""`), ErrToken, 0},
		"no token":               {text(`"b":null`), ErrToken, 0},
		"an unknown token":       {text(`"t":"<unk>"`), ErrToken, 0},
		"empty":                  {with(func(x *Trace) { x.Tokens = nil }), ErrEmpty, -1},
		"another vocabulary":     {strings.Replace(good, `"vocabulary":4096`, `"vocabulary":4097`, 1), ErrVocabulary, -1},
		"too small a vocabulary": {strings.Replace(good, `"vocabulary":4096`, `"vocabulary":7`, 1), ErrVocabulary, 0},
		"version":                {strings.Replace(good, `"version":1`, `"version":2`, 1), ErrVersion, -1},
		"unknown field":          {strings.Replace(good, `"version":1`, `"version":1,"more":1`, 1), ErrSyntax, -1},
		"cut":                    {good[:len(good)/2], ErrSyntax, -1},
		"no line":                {"\n", ErrSyntax, -1},
		"two":                    {strings.TrimSpace(good) + good, ErrSyntax, -1},
		"a list":                 {"[]", ErrSyntax, -1},
		"span":                   {strings.Replace(good, `"end":`, `"end":9`, 1), ErrSpan, -1},
		"secret":                 {strings.Replace(good, `"secret":"`, `"secret":"0`, 1), ErrSpan, -1},
		"digest":                 {strings.Replace(good, `"secrets":["`, `"secrets":["0`, 1), ErrSpan, -1},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.jsonl")
		if err := os.WriteFile(file, []byte(good+strings.TrimSuffix(c.line, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Monitor(dir, Options{})
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, c.err) || e.File != file || e.Line != 2 || e.Token != c.token {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), x.Secrets[0]) {
			t.Errorf("%s: the error tells of secrets: %v", name, err)
		}
	}
}

// FuzzTraces: no panic, and what is read is sound, is written, and is read
// again as the same.
func FuzzTraces(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":"x","source":"sim","vocabulary":9,"tokens":[{"t":"ab","l":-1,"a":["ab","b","c","d","e"],"p":[-1,-2,-3,-4,-5]}],` +
		`"spans":[{"start":0,"end":2,"secret":"` + Digest("ab") + `"}],"secrets":["` + Digest("ab") + `"]}`))
	f.Add([]byte(`{"version":1,"tokens":[{"t":"x","l":NaN}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		set := &Set{secrets: map[string]string{}}
		var again bytes.Buffer
		w := NewWriter(&again)
		var read []*Trace
		err := set.read(bytes.NewReader(in), "x", func(x *Trace) error {
			for i := range x.Tokens {
				if err := CheckToken(&x.Tokens[i]); err != nil {
					t.Fatal(err)
				}
			}
			read = append(read, x)
			return w.Write(x)
		})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("an error without a place: %v", err)
		}
		i := 0
		err = (&Set{secrets: map[string]string{}}).read(bytes.NewReader(again.Bytes()), "x", func(x *Trace) error {
			if x.Text() != read[i].Text() || !slices.Equal(x.Spans, read[i].Spans) {
				t.Fatalf("trace %d differs", i)
			}
			i++
			return nil
		})
		if err != nil || i != len(read) {
			t.Fatalf("%d traces, read again %d: %v", len(read), i, err)
		}
	})
}
