package report

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

const (
	one = flow.TrajectoryID("01K00000000000000000000001")
	two = flow.TrajectoryID("01K00000000000000000000002")

	// planted is a secret that is registered.
	planted = "plantedValue-93jf8Ks02mQz7"
	// hostile is what somebody may write who wants to break a page.
	hostile = "</script><script>alert(1)</script>\x1b[31m\u202egnp.exe\u2066\x00\xff \"'><img src=x onerror=alert(2)>{{.}}"
)

type rig struct {
	t     *testing.T
	store *memory.Store
	keys  secret.Keys
	now   time.Time
	key   ed25519.PrivateKey
	mask  func(string) string
	known func(string) string

	rubric string // what releases are made under
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trip is a rubric with the limits of the rig's releases.
func trip(t *testing.T) string {
	t.Helper()
	r, err := rubric.Parse("trip.yaml", []byte(`
version: 1
rubric: trip
revision: 1
title: A trip (for tests)
expires: 2040-01-01
signature: {actions: [book-seat]}
fields:
  dob: {population: {numbers: [1930, 2009, 1]}, levels: [{name: decade, by: band 10, bits: 3}, {name: half, by: band 40, bits: 1}]}
coverage: [{id: date, field: dob, text: '\b\d{4}-\d{2}-\d{2}\b'}]
necessity: {dob: {required-service: required}}
operators: {dob: {required-service: [half]}}
limits: {budget: 40, caps: {required-service: 20, semi-trusted: 4, adversarial: 1}}
utility: {required-service: {dob: half}}
samples: [{text: "1985-03-02", find: {dob: 1985-03-02}}, {text: "an aisle seat", find: {}}]
`))
	must(t, err)
	return string(r.Canonical())
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, store: memory.New(), rubric: trip(t), keys: secret.NewKeys(), now: time.UnixMilli(1_700_000_000_000).UTC(), key: ed25519.NewKeyFromSeed(make([]byte, 32))}
	rec, _, err := match.Prepare(&r.keys, flow.NewID(), "PLANTED", secret.KindToken, secret.SourceRegistered, "env:PLANTED", []byte(planted), r.now)
	must(t, err)
	must(t, r.store.PutSecrets(t.Context(), []secret.Record{rec}))
	rules, err := recognise.Default()
	must(t, err)
	engine, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: r.keys, Store: r.store}})
	must(t, err)
	r.mask, err = engine.Masker(t.Context())
	must(t, err)
	engine, err = mediator.New(mediator.Config{Config: session.Config{Keys: r.keys, Store: r.store}})
	must(t, err)
	r.known, err = engine.Masker(t.Context())
	must(t, err)
	return r
}

func (r *rig) config() Config {
	return Config{
		Events: r.store, Log: r.store, Questions: confirm.New(confirm.Config{Store: r.store, Sealer: &r.keys, Now: func() time.Time { return r.now }}),
		Ledger: r.store, Key: r.key, Mask: r.mask, Known: r.known, Now: func() time.Time { return r.now }, Version: "test",
	}
}

func (r *rig) public() ed25519.PublicKey { return r.key.Public().(ed25519.PublicKey) }

func (r *rig) make(scope Scope, change func(*maker)) *Document {
	r.t.Helper()
	m := newMaker(r.config(), scope)
	if change != nil {
		change(m)
	}
	d, err := m.make(r.t.Context())
	must(r.t, err)
	return d
}

// happened fills the store with what is told of a trajectory, every text of
// it said.
func (r *rig) happened(id flow.TrajectoryID, said string) {
	r.t.Helper()
	entry := func(v flow.Verb, o flow.Outcome) audit.Entry {
		return audit.Entry{
			Decision: flow.Decision{
				ID: flow.NewID(), Trajectory: id, Verb: v, Outcome: o, At: r.now, Sink: flow.Sink{Name: "up " + said, Channel: flow.ChannelModel, Trust: flow.TrustProvider},
				Reasons: []flow.Reason{{Code: "code " + said, Detail: "detail " + said, Action: flow.ActRedact, Finding: "finding " + said}},
			},
			Findings: []audit.Finding{{
				ID: flow.NewID(), Rule: "rule " + said, Name: "name " + said, Kind: secret.Kind("kind " + said), Source: secret.Source("source " + said), View: "raw " + said,
				Field: "field " + said, Path: "path " + said, Action: flow.ActPseudonym, Length: 20, Model: "model " + said,
			}},
		}
	}
	logged := entry(flow.Prompt, flow.Rewrite)
	must(r.t, r.store.AppendDecisions(r.t.Context(), []audit.Entry{logged}))
	clean := entry(flow.Generate, flow.Allow)
	must(r.t, r.store.AppendEvents(r.t.Context(), []audit.Event{
		{ID: logged.ID, Trajectory: id, At: r.now, Kind: audit.KindDecision, Verb: flow.Prompt, Outcome: flow.Rewrite, Sink: "up " + said, Payload: audit.Payload{Version: 1, Decision: &logged, Size: &audit.Size{Tool: "tool " + said}}},
		{ID: clean.ID, Trajectory: id, At: r.now, Kind: audit.KindDecision, Verb: flow.Generate, Outcome: flow.Allow, Sink: "up " + said, Payload: audit.Payload{Version: 1, Decision: &clean, Size: &audit.Size{Tool: "tool " + said}}},
		{ID: flow.NewID(), Trajectory: id, At: r.now, Kind: audit.KindAnswer, Payload: audit.Payload{Version: 1, Answer: &audit.Answer{Calls: []string{said}}}},
		{ID: flow.NewID(), Trajectory: id, At: r.now, Kind: audit.KindStep, Payload: audit.Payload{Version: 1, Step: &audit.Step{Context: "context " + said, Messages: 2, Regions: []audit.Region{
			{Message: 0, Role: "role " + said, Label: "trusted", Bottom: true, Bytes: 3},
			{Message: 1, Role: "tool", Tool: "tool " + said, Field: "field " + said, Label: "label " + said, Bytes: 9},
		}}}},
		{ID: flow.NewID(), Trajectory: id, At: r.now, Kind: audit.KindWithheld, Payload: audit.Payload{Version: 1, Withheld: &audit.Withheld{Context: "less " + said, Messages: []int{1}}}},
	}))
	desk := confirm.New(confirm.Config{Store: r.store, Sealer: &r.keys, Now: func() time.Time { return r.now }})
	q := &confirm.Question{
		Trajectory: id, Digest: [32]byte{1}, Call: flow.ToolCall{Name: "call " + said, Arguments: "arguments " + said}, Sink: "sink " + said, Label: "label " + said, Needs: "needs " + said,
		Faults: []confirm.Fault{{Source: "source " + said, Field: "field " + said, Label: "label " + said, Excerpt: "excerpt " + said}}, Flows: []string{said}, Free: []string{said},
	}
	must(r.t, desk.Put(r.t.Context(), q))
	must(r.t, desk.Answer(r.t.Context(), q.ID, confirm.Once, "by "+said))
}

// release commits n releases of a trajectory, one bit more each time.
func (r *rig) release(family, trajectory flow.TrajectoryID, sink string, n int) {
	r.t.Helper()
	b, err := ledger.NewBook(ledger.Config{Store: r.store, Key: r.key, Now: func() time.Time { return r.now }})
	must(r.t, err)
	h, err := b.KeepRubric(r.t.Context(), []byte(r.rubric))
	must(r.t, err)
	for range n {
		s, err := b.Head(r.t.Context(), family)
		must(r.t, err)
		a := charge.Atom{Field: "dob", Op: charge.Generalize, Level: 2, Value: charge.Hash{1}, Cost: flow.Bit, After: s.After(charge.Hash{1})}
		a.After[1] += flow.Bit
		e := &charge.Entry{
			Trajectory: trajectory, Channel: flow.ChannelTool, Sink: sink, Class: flow.RequiredService, Rubrics: []charge.Hash{h}, Variant: charge.Hash{1}, Outcome: flow.Rewrite,
			Limits: charge.Limits{B: 40 * flow.Bit, Cap: [4]flow.Bits{0, 20 * flow.Bit, 4 * flow.Bit, flow.Bit}, Lambda: [4]int64{0, 1000, 2000, 4000}},
			Atoms:  []charge.Atom{a},
		}
		must(r.t, s.Next(e))
		_, err = b.Commit(r.t.Context(), e)
		must(r.t, err)
	}
}

func (r *rig) verify(file []byte, head *ledger.Checkpoint) *Result {
	r.t.Helper()
	got, err := Verify(r.t.Context(), bytes.NewReader(file), Check{Key: r.public(), Head: head})
	must(r.t, err)
	return got
}

func (r *rig) files(d *Document) map[string][]byte {
	r.t.Helper()
	page, err := d.Render()
	must(r.t, err)
	data, err := d.Encode()
	must(r.t, err)
	return map[string][]byte{"page": page, "json": data}
}

func TestReport(t *testing.T) {
	r := newRig(t)
	r.happened(one, "here")
	r.happened(two, "there")
	r.release(one, one, "airline", 3)
	r.release(two, two, "broker", 2)
	d := r.make(Scope{Trajectory: one}, nil)
	if len(d.Trajectories) != 1 || len(d.Ledger.Families) != 1 || d.Scope.Whole || len(d.LeftOut) != 0 {
		t.Fatalf("%d trajectories, %d families, whole %v, left out %q", len(d.Trajectories), len(d.Ledger.Families), d.Scope.Whole, d.LeftOut)
	}
	got := &d.Trajectories[0]
	if len(got.Decisions) != 2 || len(got.Questions) != 1 || got.Questions[0].Answer != "once" || got.Answers != 1 || got.Context != "less here" || !got.Regions[1].Withheld || got.Regions[0].Withheld {
		t.Errorf("the trajectory is %+v", got)
	}
	for i := range got.Decisions {
		if got.Decisions[i].Tool != "tool here" {
			t.Errorf("a decision is about %q", got.Decisions[i].Tool)
		}
	}
	if len(d.Found) != 1 || d.Found[0].N != 2 || d.Found[0].Action != "pseudonym" {
		t.Errorf("found is %+v", d.Found)
	}
	f := &d.Ledger.Families[0]
	if f.Total != 3*flow.Bit || f.Sinks[0].Charge != 3*flow.Bit || f.Sinks[0].Releases != 3 || f.Fields[0].Values != 1 || len(f.Listed) != 3 || !f.Listed[2].Verified {
		t.Errorf("the family is %+v", f)
	}
	for name, file := range r.files(d) {
		if res := r.verify(file, nil); len(res.Findings) > 0 || res.Ledger.Entries != 3 {
			t.Errorf("%s: %+v", name, res.Findings)
		}
		if strings.Contains(string(file), "there") {
			t.Errorf("%s tells of another trajectory", name)
		}
	}
	all := r.make(Scope{Since: r.now}, nil)
	if len(all.Trajectories) != 2 || len(all.Ledger.Families) != 2 || !all.Scope.Whole {
		t.Errorf("since: %d trajectories, %d families", len(all.Trajectories), len(all.Ledger.Families))
	}
	for _, s := range []Scope{{Trajectory: "01K00000000000000000000009"}, {Since: r.now.Add(time.Hour)}} {
		if _, err := Make(t.Context(), r.config(), s); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// Two reports of the same data are the same but for what holds a time.
func TestSameBytes(t *testing.T) {
	r := newRig(t)
	r.happened(one, "here")
	r.happened(two, "there")
	r.release(one, one, "airline", 3)
	r.release(two, two, "broker", 2)
	scope := Scope{Since: r.now}
	first := r.make(scope, nil)
	a, b := r.files(first), r.files(r.make(scope, nil))
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s differs", name)
		}
	}
	r.now = r.now.Add(time.Second)
	later := r.make(scope, nil)
	if bytes.Equal(first.Signature, later.Signature) {
		t.Error("the time is not signed")
	}
	later.Made, later.Export, later.Signature, later.Ledger.Head = first.Made, first.Export, first.Signature, first.Ledger.Head
	for name, file := range r.files(later) {
		if !bytes.Equal(a[name], file) {
			t.Errorf("%s differs by more than its time", name)
		}
	}
}

// Every byte of a file counts.
func TestTampering(t *testing.T) {
	r := newRig(t)
	r.happened(one, "here")
	r.release(one, one, "airline", 2)
	d := r.make(Scope{Trajectory: one}, nil)
	for name, file := range r.files(d) {
		step := 1 + len(file)/600 // a sample, and all of the signature
		sig := bytes.Index(file, []byte(`"signature":`))
		for i := range file {
			if i%step != 0 && i < sig {
				continue
			}
			bad := slices.Clone(file)
			bad[i] ^= 1 << (i % 8)
			if res := r.verify(bad, nil); len(res.Findings) == 0 {
				t.Fatalf("%s: byte %d was %q, and nobody sees", name, i, file[i])
			}
		}
		for what, bad := range map[string][]byte{"cut": file[:len(file)-1], "longer": append(slices.Clone(file), '\n'), "empty": nil, "spaced": append([]byte(" "), file...)} {
			if len(r.verify(bad, nil).Findings) == 0 {
				t.Errorf("%s: %s is taken", name, what)
			}
		}
	}
	page := r.files(d)["page"]
	seen := bytes.Replace(page, []byte("detail here"), []byte("nothing"), 1)
	if got := r.verify(seen, nil).Findings; len(got) != 1 || got[0].Rule != RulePage {
		t.Errorf("a changed page: %+v", got)
	}
	// A second block of data before the real one, or behind it.
	block := []byte(dataBegin + "{}</script>")
	for _, bad := range [][]byte{bytes.Replace(page, []byte("<main>"), append(block, "<main>"...), 1), append(slices.Clone(page), block...)} {
		if len(r.verify(bad, nil).Findings) == 0 {
			t.Error("another block of data is taken")
		}
	}
}

// What is signed anew by somebody else, or by the key's owner over a ledger
// that does not hold, is found by what it says.
func TestRules(t *testing.T) {
	r := newRig(t)
	r.happened(one, "here")
	r.release(one, one, "airline", 2)
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	for name, c := range map[string]struct {
		change func(*Document)
		key    ed25519.PrivateKey
		want   string
	}{
		"another key":       {func(*Document) {}, other, RuleSignature},
		"another key named": {func(d *Document) { d.Key = KeyText(other.Public().(ed25519.PublicKey)) }, other, RuleForeign},
		"total":             {func(d *Document) { d.Ledger.Families[0].Total = 1 }, r.key, RuleLedger},
		"mark":              {func(d *Document) { d.Ledger.Families[0].Listed[0].Verified = false }, r.key, RuleLedger},
		"entry gone":        {func(d *Document) { d.Ledger.Families = nil }, r.key, RuleLedger},
		"export":            {func(d *Document) { d.Export[len(d.Export)/2] ^= 1 }, r.key, "ledger-" + string(ledger.Seal)},
		"export gone":       {func(d *Document) { d.Export = nil }, r.key, "ledger-" + string(ledger.Framing)},
		"format":            {func(d *Document) { d.Format = "margay-report/2" }, r.key, RuleVersion},
		"page":              {func(d *Document) { d.Page++ }, r.key, RuleVersion},
	} {
		d := r.make(Scope{Trajectory: one}, nil)
		c.change(d)
		d.Signature = nil
		d, err := d.signed(c.key)
		must(t, err)
		for kind, file := range r.files(d) {
			got := r.verify(file, nil).Findings
			if !slices.ContainsFunc(got, func(f Finding) bool { return f.Rule == c.want }) {
				t.Errorf("%s, %s: %+v", name, kind, got)
			}
		}
	}
}

func TestHead(t *testing.T) {
	r := newRig(t)
	r.release(one, one, "airline", 2)
	r.release(two, two, "broker", 1)
	book := func() *ledger.Book {
		b, err := ledger.NewBook(ledger.Config{Store: r.store, Key: r.key})
		must(t, err)
		return b
	}
	head, err := book().Checkpoint(t.Context())
	must(t, err)
	r.release(two, two, "broker", 1)
	newer, err := book().Checkpoint(t.Context())
	must(t, err)
	partly, err := r.make(Scope{Trajectory: one}, nil).Encode()
	must(t, err)
	if _, err := Verify(t.Context(), bytes.NewReader(partly), Check{Key: r.public(), Head: head}); !errors.Is(err, ErrPart) {
		t.Errorf("a part against a head: %v", err)
	}
	whole := r.make(Scope{Trajectory: one}, func(m *maker) { m.cfg.Whole = true })
	file, err := whole.Encode()
	must(t, err)
	for _, h := range []*ledger.Checkpoint{head, newer} {
		if got := r.verify(file, h); !whole.Scope.Whole || len(got.Findings) > 0 {
			t.Errorf("the whole ledger against a head: %+v", got.Findings)
		}
	}
	r.release(one, one, "airline", 1)
	newest, err := book().Checkpoint(t.Context())
	must(t, err)
	if got := r.verify(file, newest).Findings; len(got) != 1 || got[0].Rule != "ledger-older" {
		t.Errorf("an older report: %+v", got)
	}
}

// No value of a secret is in a file, whatever field it came in, and an entry
// that holds one keeps its family out.
func TestPlanted(t *testing.T) {
	r := newRig(t)
	r.happened(one, planted+" "+hostile)
	r.release(one, one, "to "+planted, 1)
	r.release(two, one, "airline", 1)
	d := r.make(Scope{Trajectory: one}, nil)
	if len(d.Ledger.Families) != 1 || len(d.LeftOut) != 1 || !strings.Contains(d.LeftOut[0], "would be masked") {
		t.Errorf("%d families, left out %q", len(d.Ledger.Families), d.LeftOut)
	}
	if bytes.Contains(d.Export, []byte(planted)) {
		t.Error("the export holds the secret")
	}
	for name, file := range r.files(d) {
		for _, form := range []string{planted, base64.StdEncoding.EncodeToString([]byte(planted)), "93jf8Ks02"} {
			if bytes.Contains(file, []byte(form)) {
				t.Errorf("%s holds %q", name, form)
			}
		}
		if got := r.verify(file, nil).Findings; len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	page := string(r.files(d)["page"])
	for _, bad := range []string{"<script>", "<img", "\x1b", "\u202e", "\u2066", "\x00", "onerror=alert(2)>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if strings.Count(page, "</script>") != 1 || !strings.Contains(html.UnescapeString(page), "⟨U+202E⟩") {
		t.Error("what can't be seen is not shown, or something is a script")
	}
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[0-9A-Za-z+/]{43}='; base-uri 'none'; form-action 'none'">`)
	if at := policy.FindStringIndex(page); at == nil || at[0] > strings.Index(page, "<style") || regexp.MustCompile(`(?i)<[^>]*\s(src|srcset|href|style|on[a-z]+)\s*=|<(script|link|iframe|object|embed|base|form)\b`).MatchString(page[:strings.Index(page, dataBegin)]) || strings.Contains(pageStyle, "@import") || strings.Contains(pageStyle, "url(") {
		t.Error("the page may load or run something, or names what it would")
	}
}

func TestBounds(t *testing.T) {
	r := newRig(t)
	r.happened(one, "here")
	r.happened(two, "there")
	r.release(one, one, "airline", 2)
	d := r.make(Scope{Since: r.now}, func(m *maker) { m.limits = limits{1, 1, 100, 1 << 20} })
	if len(d.Trajectories) != 1 || len(d.Trajectories[0].Decisions) != 1 || len(d.Ledger.Families) != 0 || d.Scope.Whole {
		t.Errorf("%+v", d)
	}
	for _, want := range []string{"room for 1,", "beyond the 1 that", "too large"} {
		if !strings.Contains(strings.Join(d.LeftOut, "\n"), want) {
			t.Errorf("%q does not say %q", d.LeftOut, want)
		}
	}
	file, err := d.Encode()
	must(t, err)
	if got := r.verify(file, nil).Findings; len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// A family that was begun with more than its rubric allows is told of, and so it
// is when the report is checked.
func TestLaxLimits(t *testing.T) {
	r := newRig(t)
	r.rubric = strings.Replace(trip(t), `"budget":40`, `"budget":39`, 1)
	r.release(one, one, "airline", 1)
	d := r.make(Scope{}, nil)
	if len(d.Ledger.Findings) != 1 || !strings.Contains(d.Ledger.Findings[0], "lax: the family started with a budget of 40 bits") {
		t.Errorf("%q", d.Ledger.Findings)
	}
	for name, file := range r.files(d) {
		if got := r.verify(file, nil); !slices.ContainsFunc(got.Findings, func(f Finding) bool { return strings.Contains(f.Detail, "lax") }) {
			t.Errorf("%s: %+v", name, got.Findings)
		}
	}
}

// Samples of Margay's own rubrics look like credentials, and leave no family
// out. A rubric with a secret does.
func TestRubrics(t *testing.T) {
	r := newRig(t)
	r.rubric = "has " + planted
	r.release(one, one, "airline", 1)
	d := r.make(Scope{Trajectory: one}, nil)
	if len(d.Ledger.Families) != 0 || len(d.LeftOut) != 1 || !strings.Contains(d.LeftOut[0], "a rubric has the value") || bytes.Contains(d.Export, []byte(planted)) {
		t.Errorf("%d families, left out %q", len(d.Ledger.Families), d.LeftOut)
	}
	for _, name := range library.Names() {
		got, err := library.Rubric(name)
		must(t, err)
		b := got.Canonical()
		if r.known(string(b)) != string(b) {
			t.Errorf("%s would be masked", name)
		}
	}
}

func TestBoundOfTexts(t *testing.T) {
	r := newRig(t)
	r.happened(one, "here")
	d := r.make(Scope{Since: r.now}, func(m *maker) { m.limits.texts = 10 })
	got := &d.Trajectories[0]
	if len(got.Decisions) != 1 || len(got.Questions)+len(got.Regions) != 0 || len(d.LeftOut) != 2 {
		t.Errorf("%d decisions, %d questions, left out %q", len(got.Decisions), len(got.Questions), d.LeftOut)
	}
}

// damaged is a ledger in which one byte of an entry was changed.
type damaged struct {
	ledger.Store
	number uint64
	at     int // from the end of the entry
}

func (d *damaged) Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error) {
	got, err := d.Store.Entries(ctx, family, after, limit)
	for i := range got {
		if after+uint64(i)+1 == d.number {
			got[i].Bytes = slices.Clone(got[i].Bytes)
			got[i].Bytes[len(got[i].Bytes)-d.at] ^= 1
		}
	}
	return got, err
}

// A ledger that does not hold is told of as it is: what breaks and what
// follows it is not marked as verified.
func TestUnsound(t *testing.T) {
	r := newRig(t)
	r.release(one, one, "airline", 3)
	d := r.make(Scope{Trajectory: one}, func(m *maker) { m.cfg.Ledger = &damaged{r.store, 2, 1} })
	listed := d.Ledger.Families[0].Listed
	if len(d.Ledger.Findings) != 1 || !listed[0].Verified || listed[1].Verified || listed[2].Verified {
		t.Errorf("%q, %+v", d.Ledger.Findings, listed)
	}
	for name, file := range r.files(d) {
		if got := r.verify(file, nil).Findings; len(got) != 1 || got[0].Rule != "ledger-signature" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// The first byte of the outcome, without which it is not an entry.
	for _, scope := range []Scope{{Trajectory: one}, {Since: r.now}} {
		d = r.make(scope, func(m *maker) { m.cfg.Ledger = &damaged{r.store, 2, 64 + 2 + 7} })
		if len(d.Ledger.Families) != 0 || len(d.LeftOut) != 1 || !strings.Contains(d.LeftOut[0], "can't be read") || d.Scope.Whole {
			t.Errorf("%+v: %d families, left out %q", scope, len(d.Ledger.Families), d.LeftOut)
		}
	}
}

// What a page is made of a document must not change under its number.
func TestPageNumber(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/page.txt")
	must(t, err)
	if got := strconv.Itoa(Page) + " " + styleHash(pageStyle+pageText) + "\n"; got != string(want) {
		t.Errorf("the page is %q, and testdata/page.txt says %q: give Page another number, and write both there", got, want)
	}
}

func FuzzVerify(f *testing.F) {
	d := &Document{Format: Format, Page: Page, Made: time.UnixMilli(0).UTC()}
	b, _ := json.Marshal(d)
	f.Add(b)
	f.Add([]byte(dataBegin + string(b) + dataEnd))
	key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Verify(context.Background(), bytes.NewReader(b), Check{Key: key})
		if err != nil || len(r.Findings) == 0 {
			t.Errorf("%v, %+v: nobody has signed it", err, r)
		}
	})
}

// What could not be verified for its length is not made.
func TestFilesFit(t *testing.T) {
	if _, err := fits(make([]byte, MaxFile), nil); err != nil {
		t.Error(err)
	}
	if _, err := fits(make([]byte, MaxFile+1), nil); err == nil {
		t.Error("a file was made that is too long to be verified")
	}
}
