package own_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/secret/recognise/own"
)

const held = 4096

func pattern(text string, match ...string) own.Pattern {
	return own.Pattern{ID: "acme-key", Pattern: text, Samples: own.Samples{Match: match}}
}

// TestPatterns: what a pattern finds, with a group and without, is held from its
// first byte on.
func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		`acme_[a-z0-9]{8,40}`:            "acme_k4qz8mfp9lwx",
		`acme_([a-z0-9]{8,40})`:          "_k4qz8mfp9lwx", // and what of its token is held
		`\[([a-z]{4}_[a-z0-9]{8,40})\]`:  "acme_k4qz8mfp9lwx",
		`(?i)ACME_[a-z0-9]{8}`:           "acme_k4qz8mfp9lwx", // to the end of the token
		`[a-z]{0,8}_?k4qz[a-z0-9]{4,20}`: "acme_k4qz8mfp9lwx",
		`acme_k4qz[a-z0-9]{4,9}|xy\d{8}`: "acme_k4qz8mfp9lwx",
		`\bacme_\w{12}\b`:                "acme_k4qz8mfp9lwx",
	} {
		const sample = "the key [acme_k4qz8mfp9lwx] is new"
		p := pattern(text, sample)
		p.Samples.NoMatch = []string{"the key acme is new"}
		if err := own.Check([]own.Pattern{p}, nil, held); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		rules, err := own.Rules([]own.Pattern{p}, held)
		if err != nil {
			t.Fatal(err)
		}
		set, err := recognise.New(rules)
		if err != nil {
			t.Fatal(err)
		}
		ms := set.Find([]byte(sample))
		if len(ms) != 1 || sample[ms[0].Start:ms[0].End] != want || ms[0].Kind() != secret.KindToken {
			t.Errorf("%s found %+v", text, ms)
			continue
		}
		sc := set.NewScanner()
		for at := range ms[0].End { // no byte of it is let go
			sc.Write([]byte{sample[at]})
			if sc.Hold() > ms[0].Start && at >= ms[0].Start {
				t.Errorf("%s: %d bytes are let go, and the secret starts at %d", text, sc.Hold(), ms[0].Start)
				break
			}
		}
	}
}

// TestMistakes: each mistake is refused by what is wrong, and no error repeats a
// pattern, a sample or a stop-word.
func TestMistakes(t *testing.T) {
	const sample = "acme_k4qz8mfp"
	good := pattern(`acme_[a-z0-9]{8,40}`, sample)
	with := func(change func(*own.Pattern)) []own.Pattern {
		p := good
		change(&p)
		return []own.Pattern{p}
	}
	regex := func(text string) []own.Pattern { return []own.Pattern{pattern(text, sample)} }
	id := func(id string) []own.Pattern { return with(func(p *own.Pattern) { p.ID = id }) }
	samples := func(s own.Samples) []own.Pattern { return with(func(p *own.Pattern) { p.Samples = s }) }
	var many, large, heads []own.Pattern
	for i := range own.MaxPatterns + 1 {
		p := good
		p.ID = fmt.Sprintf("acme-%d", i)
		many = append(many, p)
		p.Pattern = `acme_[a-z]{900}`
		large = append(large, p)
		p.Pattern = strings.Repeat("acme", 100)
		heads = append(heads, p)
	}
	long := strings.Repeat("a", 5000)
	for name, c := range map[string]struct {
		patterns []own.Pattern
		stop     []string
		held     int
		want     string
	}{
		"too many":             {many, nil, held, "at most 100"},
		"large together":       {large[:own.MaxPatterns], nil, held, "too large together, from acme-"},
		"long fixed text":      {heads[:1], nil, held, "too much fixed text"},
		"twice":                {[]own.Pattern{good, good}, nil, held, "acme-key has the id of another"},
		"built-in":             {id("github-pat"), nil, held, "github-pat has the id of another"},
		"built-in discovery":   {id("named-password"), nil, held, "named-password has the id"},
		"built-in personal":    {id("email"), nil, held, "email has the id"},
		"reserved":             {id("vault"), nil, held, "pattern 1 needs another id"},
		"no id":                {id(""), nil, held, "pattern 1 needs another id"},
		"odd id":               {id("Acme key"), nil, held, "pattern 1 needs another id"},
		"long id":              {id(long), nil, held, "pattern 1 needs another id"},
		"kind":                 {with(func(p *own.Pattern) { p.Kind = "email" }), nil, held, "acme-key has no kind"},
		"no pattern":           {regex(""), nil, held, "1 to 1000 bytes"},
		"long pattern":         {regex(long), nil, held, "1 to 1000 bytes"},
		"broken":               {regex("acme_k4qz8mfp("), nil, held, "acme-key is no regular expression: missing closing )"},
		"backreference":        {regex(`acme_k4qz8mfp(a)\1`), nil, held, "no regular expression: invalid escape"},
		"two groups":           {regex(`acme_(k4qz)(8mfp)`), nil, held, "may have one group"},
		"group left out":       {regex(`acme_k4qz(?:(8mfpacme))?`), nil, held, "takes part once in every match"},
		"group in one branch":  {regex(`acme_(?:k4qz(8mfpxx)|[a-z0-9]{8})`), nil, held, "takes part once"},
		"group repeats":        {regex(`acme_(k4qz|8mfp){2}`), nil, held, "takes part once"},
		"unbounded":            {regex(`acme_[a-z0-9]+`), nil, held, "acme-key must match at most 1000 bytes"},
		"unbounded count":      {regex(`acme_[a-z0-9]{8,}`), nil, held, "must match at most 1000 bytes"},
		"unbounded before":     {regex(`acme_*([a-z0-9]{8})`), nil, held, "must match at most"},
		"unbounded, nested":    {regex(`acme_(?:x|(?:[a-z0-9]{1,3}y*){8})`), nil, held, "must match at most"},
		"too long":             {regex(`acme_[a-z]{500}[0-9]{500}`), nil, held, "must match at most 1000 bytes"},
		"more than is held":    {regex(`acme_[a-z0-9]{8,60}`), nil, 64, "must match at most 63 bytes"},
		"empty":                {regex(`(?:acme_k4qz8mfp)?`), nil, held, "acme-key must find secrets of at least 6 bytes"},
		"empty group":          {regex(`acme_([a-z0-9]{0,20})`), nil, held, "at least 6 bytes"},
		"short":                {regex(`acme_|acme_k4qz8mfp`), nil, held, "at least 6 bytes"},
		"a place":              {regex(`^$`), nil, held, "at least 6 bytes"},
		"no samples":           {samples(own.Samples{}), nil, held, "acme-key has no sample to match"},
		"not found":            {samples(own.Samples{Match: []string{sample, "acme-k4qz8mfp"}}), nil, held, "acme-key: sample 2 of match is not found"},
		"found":                {samples(own.Samples{Match: []string{sample}, NoMatch: []string{sample}}), nil, held, "acme-key: sample 1 of no_match is found"},
		"not found, no start":  {regex(`[a-z]cme_k4qz8mf`), nil, held, ""},
		"empty sample":         {samples(own.Samples{Match: []string{""}}), nil, held, "sample 1 of match must have"},
		"long sample":          {samples(own.Samples{Match: []string{sample}, NoMatch: []string{long}}), nil, held, "sample 1 of no_match must have"},
		"many samples":         {samples(own.Samples{Match: slices.Repeat([]string{sample}, 51)}), nil, held, "more than 50 samples of match"},
		"many stop-words":      {nil, slices.Repeat([]string{"acme"}, 1001), held, "at most 1000"},
		"short stop-word":      {nil, []string{"acme", "ac"}, held, "stop-word 2 must have 3 to 100 bytes"},
		"long stop-word":       {nil, []string{long}, held, "stop-word 1 must have"},
		"space at a stop-word": {nil, []string{"acme "}, held, "stop-word 1 must have"},
	} {
		err := own.Check(c.patterns, c.stop, c.held)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *own.Error
		if !errors.As(err, &e) || !strings.Contains(e.Detail, c.want) || e.Hint == "" {
			t.Errorf("%s: %+v, want %q", name, err, c.want)
			continue
		}
		for _, kept := range []string{"k4qz", "8mfp", "aaaa", "acme_"} {
			if strings.Contains(e.Detail+e.Hint, kept) {
				t.Errorf("%s: %q %q repeats what may be a secret", name, e.Detail, e.Hint)
			}
		}
	}
}

// TestStopWords: a stop-word silences each rule that goes by names and no other,
// in any case.
func TestStopWords(t *testing.T) {
	known, err := recognise.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := own.Rules([]own.Pattern{pattern(`fixture_[a-z0-9]{12,40}`, "x")}, held)
	if err != nil {
		t.Fatal(err)
	}
	github := "gh" + "p_Fixture" + "8mfp9lwx2vtn7rbyk4qz8mfp9lwxQ"
	text := "DB_PASSWORD=k4Qz-FixTure-8mfp9\nAPI_TOKEN: 'q7Lw9FIXTURE2vTn7RbYk4Qz'\nx_key = fixture_k4qz8mfp9lwx2\n" + github + "\nDB_PASSWORD=k4Qz-Fix-Ture-8mfp9\n"
	found := func(stop ...string) map[string]int {
		rules := slices.Concat(known, recognise.Discovery())
		own.Silence(rules, stop)
		set, err := recognise.New(append(rules, mine...))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		for _, m := range set.Find([]byte(text)) {
			out[fmt.Sprint(m.Rule.Class, " ", text[m.Start:m.End])]++
		}
		return out
	}
	before, after := found(), found("fiXTure")
	if before["discovery k4Qz-FixTure-8mfp9"] == 0 || before["discovery q7Lw9FIXTURE2vTn7RbYk4Qz"] == 0 || before["discovery k4Qz-Fix-Ture-8mfp9"] == 0 || before["credential "+github] == 0 || before["credential fixture_k4qz8mfp9lwx2"] == 0 {
		t.Fatalf("found %v", before)
	}
	for f, n := range before {
		silenced := strings.HasPrefix(f, "discovery ") && strings.Contains(strings.ToLower(f), "fixture")
		if silenced != (after[f] == 0) || !silenced && after[f] != n {
			t.Errorf("%s: %d before, %d with a stop-word", f, n, after[f])
		}
	}
}
