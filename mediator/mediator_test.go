package mediator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

// random makes a value that no rule knows.
func random(seed uint64, n int) string {
	const set = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	r := rand.New(rand.NewPCG(seed, 17))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

// token makes a value that a rule knows without any context.
func token(seed uint64) string { return "gh" + "p_" + random(seed, 36) }

func record(t testing.TB, i int, kind secret.Kind, value string) secret.Record {
	t.Helper()
	r, _, err := match.Prepare(&keys, fmt.Sprintf("%026d", i), fmt.Sprintf("SECRET_%d", i), kind, secret.SourceRegistered, "test", []byte(value), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func engine(t testing.TB, change func(*mediator.Config), registered ...string) (*mediator.Engine, *memory.Store) {
	t.Helper()
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	cfg := mediator.Config{Config: mediator.SessionConfig{Rules: rules, Keys: keys, Store: store}}
	for i, v := range registered {
		cfg.Ephemeral = append(cfg.Ephemeral, record(t, i, secret.KindAPIKey, v))
	}
	if change != nil {
		change(&cfg)
	}
	e, err := mediator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e, store
}

func session(t testing.TB, e *mediator.Engine, r *mediator.SessionRequest) *mediator.Session {
	t.Helper()
	if r == nil {
		r = &mediator.SessionRequest{Caller: "caller", Trajectory: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
	}
	s, err := e.Session(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func texts(ss ...string) []flow.Text {
	var out []flow.Text
	for i, s := range ss {
		out = append(out, flow.Text{ID: i, Text: s, Field: flow.FieldContent, Path: func() string { return fmt.Sprintf("messages[%d].content", i) }})
	}
	return out
}

// logged is everything that a store keeps, as it would be written.
func logged(t testing.TB, s audit.Log) (string, []audit.Entry) {
	t.Helper()
	en, err := s.Decisions(context.Background(), "", 10000)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(en)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), en
}

// result is a text as it goes on.
func result(r *mediator.Result, in []flow.Text, i int) string {
	if e, ok := r.Edits[i]; ok {
		return e
	}
	return in[i].Text
}

func TestPromptFindsWhatItLearnsEverywhere(t *testing.T) {
	password := random(1, 10) + "!4x"
	e, store := engine(t, nil)
	s := session(t, e, nil)
	// The bare value stands before the text that gives it away.
	in := texts("the value "+password+" was seen", "DB_PASSWORD="+password+"\n")
	r := s.Texts(context.Background(), in)
	if r.Decision.Outcome != flow.Rewrite || len(r.Edits) != 2 {
		t.Fatalf("outcome %s with %d edits", r.Decision.Outcome, len(r.Edits))
	}
	name := func(s string) string {
		i := strings.Index(s, "margay-")
		if i < 0 {
			t.Fatal("no pseudonym")
		}
		return strings.FieldsFunc(s[i:], func(r rune) bool { return r <= ' ' })[0]
	}
	if name(r.Edits[0]) != name(r.Edits[1]) {
		t.Error("one value has two pseudonyms")
	}
	later := texts("and " + password + " again")
	r = session(t, e, nil).Texts(context.Background(), later)
	if strings.Contains(result(&r, later, 0), password) {
		t.Error("forgotten in the next request of the trajectory")
	}
	other := texts("and " + password + " again")
	r = session(t, e, &mediator.SessionRequest{Caller: "caller", Trajectory: "01ARZ3NDEKTSV4RRFFQ69G5FAW"}).Texts(context.Background(), other)
	if len(r.Edits) != 0 {
		t.Error("a discovery reached another trajectory")
	}
	if all, _ := logged(t, store); strings.Contains(all, password) {
		t.Error("secret in the log")
	}
}

// A request that scans while another of its trajectory learns must neither
// let the value out nor remember its texts as clean.
func TestPromptsThatLearnAtTheSameTime(t *testing.T) {
	for round := range 20 {
		password := random(uint64(100+round), 11) + "!7z"
		e, _ := engine(t, nil)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s := session(t, e, nil)
				in := texts("the value "+password+" was seen", "DB_PASSWORD="+password+"\n")
				r := s.Texts(context.Background(), in)
				for i := range in {
					if strings.Contains(result(&r, in, i), password) {
						t.Errorf("text %d went out with a secret that the same request gives away", i)
					}
				}
			})
		}
		wg.Wait()
		in := texts("the value " + password + " was seen")
		r := session(t, e, nil).Texts(context.Background(), in)
		if strings.Contains(result(&r, in, 0), password) {
			t.Error("remembered as clean")
		}
	}
}

func TestHistoryIsNeitherScannedNorReportedAgain(t *testing.T) {
	value := random(3, 24)
	e, store := engine(t, nil, value)
	in := texts("it is "+value, "mail me at jane.doe@example.org", "prose")
	first := session(t, e, nil).Texts(context.Background(), in)
	_, before := logged(t, store)
	again := session(t, e, nil).Texts(context.Background(), in)
	_, after := logged(t, store)
	if len(first.Findings) != 2 || len(again.Findings) != 0 || len(after) != len(before) {
		t.Errorf("findings %d then %d; log %d then %d", len(first.Findings), len(again.Findings), len(before), len(after))
	}
	if again.Edits[0] != first.Edits[0] || again.Edits[0] == "" {
		t.Error("the history was edited differently")
	}
	// A change of the vault does it anew.
	if err := store.PutSecrets(context.Background(), []secret.Record{record(t, 9, secret.KindPassword, "prose-and-more-of-it-77")}); err != nil {
		t.Fatal(err)
	}
	if r := session(t, e, nil).Texts(context.Background(), in); len(r.Findings) != 2 {
		t.Errorf("after a change of the vault: %d findings", len(r.Findings))
	}
}

func TestPolicy(t *testing.T) {
	value, mail := random(4, 24), "jane.doe@example.org"
	for name, c := range map[string]struct {
		policy  mediator.Policy
		text    string
		outcome flow.Outcome
		keeps   bool
	}{
		"default key":   {mediator.Policy{}, value, flow.Rewrite, false},
		"default mail":  {mediator.Policy{}, mail, flow.Allow, true},
		"allow":         {mediator.Policy{Prompt: map[secret.Kind]flow.Action{secret.KindAPIKey: flow.ActAllow}}, value, flow.Allow, true},
		"report":        {mediator.Policy{Prompt: map[secret.Kind]flow.Action{secret.KindAPIKey: flow.ActReport}}, value, flow.Allow, true},
		"redact":        {mediator.Policy{Prompt: map[secret.Kind]flow.Action{secret.KindAPIKey: flow.ActRedact}}, value, flow.Rewrite, false},
		"block":         {mediator.Policy{Prompt: map[secret.Kind]flow.Action{secret.KindAPIKey: flow.ActBlock}}, value, flow.Deny, false},
		"mail redacted": {mediator.Policy{Prompt: map[secret.Kind]flow.Action{secret.KindEmail: flow.ActRedact}}, mail, flow.Rewrite, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := engine(t, func(m *mediator.Config) { m.Policy = c.policy }, value)
			in := texts("see " + c.text + " there")
			r := session(t, e, nil).Texts(context.Background(), in)
			if r.Decision.Outcome != c.outcome {
				t.Errorf("outcome %s, want %s", r.Decision.Outcome, c.outcome)
			}
			if c.outcome != flow.Deny && strings.Contains(result(&r, in, 0), c.text) != c.keeps {
				t.Errorf("kept: %v, want %v", !c.keeps, c.keeps)
			}
			if c.outcome == flow.Deny && len(r.Edits) != 0 {
				t.Error("a denial has edits")
			}
		})
	}
}

func TestSecretWhereNothingCanBeEdited(t *testing.T) {
	value := random(5, 24)
	e, store := engine(t, nil, value)
	in := []flow.Text{{ID: 0, Text: value, Fixed: true, Path: func() string { return "metadata" }}}
	r := session(t, e, nil).Texts(context.Background(), in)
	if !r.Denied() || len(r.Decision.Reasons) == 0 || r.Decision.Reasons[0].Finding == "" {
		t.Fatal("not denied with a finding")
	}
	f, decision, err := store.FindingByID(context.Background(), r.Decision.Reasons[0].Finding)
	if err != nil || decision != r.Decision.ID || f.Length != len(value) {
		t.Errorf("the finding is not in the log: %v", err)
	}
	// The denial is not forgotten.
	if again := session(t, e, nil).Texts(context.Background(), in); !again.Denied() {
		t.Error("let through at the second try")
	}
}

func TestAllowances(t *testing.T) {
	ctx := context.Background()
	value := random(6, 24)
	now := time.Unix(1000, 0)
	e, store := engine(t, func(m *mediator.Config) { m.Now = func() time.Time { return now } }, value)
	in := texts("it is " + value)
	edits := func() int {
		r := session(t, e, nil).Texts(ctx, in)
		return len(r.Edits)
	}
	if edits() != 1 {
		t.Fatal("not edited")
	}
	id := flow.NewID()
	if err := store.PutAllow(ctx, secret.Allow{ID: id, Fingerprint: keys.FingerprintOf([]byte(value)), Created: now, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if edits() != 0 {
		t.Error("the allowance does not count")
	}
	if err := store.DeleteAllow(ctx, id); err != nil {
		t.Fatal(err)
	}
	if edits() != 1 {
		t.Error("the allowance counts after its removal")
	}
	if err := store.PutAllow(ctx, secret.Allow{ID: id, Rule: "vault", Path: `messages\[*].content`, Created: now, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if edits() != 0 {
		t.Error("the allowance by rule and path does not count")
	}
	now = now.Add(2 * time.Hour)
	if edits() != 1 {
		t.Error("the allowance counts after it expired")
	}
}

func TestTrajectories(t *testing.T) {
	e, _ := engine(t, nil)
	id := func(caller, named string, msgs ...string) flow.TrajectoryID {
		r := &mediator.SessionRequest{Caller: caller, Trajectory: named}
		for i, m := range msgs {
			r.Messages = append(r.Messages, []byte(m))
			r.Roles = append(r.Roles, []flow.Role{flow.RoleSystem, flow.RoleUser, flow.RoleAssistant, flow.RoleUser}[i%4])
		}
		return session(t, e, r).ID()
	}
	first := id("a", "", "sys", "one")
	if id("a", "", "sys", "one", "two", "three") != first {
		t.Error("a conversation that goes on is another trajectory")
	}
	if id("a", "", "sys", "other") == first {
		t.Error("the system message alone makes a trajectory")
	}
	if id("b", "", "sys", "one") == first {
		t.Error("another caller joined by repeating the conversation")
	}
	if id("a", "", "sys", "one", "two", "three", "sys2", "five") != first {
		t.Error("the longest prefix was not found")
	}
	if _, err := e.Session(context.Background(), &mediator.SessionRequest{Trajectory: "not-a-ulid"}); !errors.Is(err, flow.ErrTrajectoryID) {
		t.Errorf("a bad id: %v", err)
	}
	// What one caller's trajectory learnt is not told to another who names it.
	password := random(7, 11) + "!q1"
	named := "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	session(t, e, &mediator.SessionRequest{Caller: "a", Trajectory: named}).Texts(context.Background(), texts("DB_PASSWORD="+password+"\n"))
	r := session(t, e, &mediator.SessionRequest{Caller: "b", Trajectory: named}).Texts(context.Background(), texts("is it "+password+" ?"))
	if len(r.Edits) != 0 {
		t.Error("another caller can ask a trajectory for its secrets")
	}
}

func TestTrajectoriesAreBounded(t *testing.T) {
	e, _ := engine(t, func(m *mediator.Config) { m.MaxTrajectories = 3 })
	ids := map[flow.TrajectoryID]bool{}
	open := func(i int) flow.TrajectoryID {
		return session(t, e, &mediator.SessionRequest{Messages: [][]byte{fmt.Append(nil, i)}, Roles: []flow.Role{flow.RoleUser}}).ID()
	}
	first := open(0)
	for i := range 10 {
		ids[open(i)] = true
	}
	if len(ids) != 10 || open(0) == first {
		t.Error("the oldest trajectory is still there")
	}
}

func TestObserveModeChangesNothing(t *testing.T) {
	value := random(8, 24)
	e, store := engine(t, func(m *mediator.Config) { m.Observe = true }, value)
	s := session(t, e, nil)
	r := s.Texts(context.Background(), texts("it is "+value))
	if r.Decision.Outcome != flow.Allow || len(r.Edits) != 0 || len(r.Findings) != 1 || r.Findings[0].Action != flow.ActReport {
		t.Errorf("prompt: %s with %d edits and %d findings", r.Decision.Outcome, len(r.Edits), len(r.Findings))
	}
	call, cr := s.Call(context.Background(), flow.ToolCall{Name: "f", Arguments: `{"a":"` + value + `"}`})
	if cr.Denied() || !strings.Contains(call.Arguments, value) {
		t.Error("the call changed")
	}
	if _, en := logged(t, store); len(en) != 2 {
		t.Errorf("%d entries in the log", len(en))
	}
}

func TestCall(t *testing.T) {
	ctx := context.Background()
	value := random(9, 24)
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(random(10, 64)+"\n", 12) + "-----END RSA PRIVATE KEY-----"
	e, store := engine(t, nil, value)
	s := session(t, e, nil)
	call, r := s.Call(ctx, flow.ToolCall{Name: "run", Arguments: `{"cmd":"echo ` + value + `","n":[1]}`})
	if r.Decision.Outcome != flow.Rewrite || call.Arguments != `{"cmd":"echo [REDACTED:api-key]","n":[1]}` {
		t.Errorf("outcome %s, valid %v", r.Decision.Outcome, json.Valid([]byte(call.Arguments)))
	}
	p := s.Texts(ctx, texts("use "+value))
	name := strings.TrimPrefix(p.Edits[0], "use ")
	args, err := json.Marshal(map[string]string{"key": pem})
	if err != nil {
		t.Fatal(err)
	}
	for what, a := range map[string]string{"pseudonym": `{"k":"` + name + `"}`, "private key": string(args)} {
		_, r = s.Call(ctx, flow.ToolCall{Name: "send", Arguments: a})
		if !r.Denied() || !slices.ContainsFunc(r.Decision.Reasons, func(x flow.Reason) bool { return strings.Contains(x.Detail, "was not made") }) {
			t.Errorf("%s: outcome %s", what, r.Decision.Outcome)
		}
	}
	if _, r = s.Call(ctx, flow.ToolCall{Name: "send", Arguments: `{"k":"margay-api-key-aaaaaaaaaaaaaa"}`}); r.Denied() {
		t.Error("an invented pseudonym stands for nothing, and yet it is refused")
	}
	// A name that is a secret is told to nobody.
	_, r = s.Call(ctx, flow.ToolCall{Name: value, Arguments: `{"k":"` + name + `"}`})
	all, _ := logged(t, store)
	for _, reason := range r.Decision.Reasons {
		all += reason.Detail
	}
	if !r.Denied() || strings.Contains(all, value) || strings.Contains(all, pem[40:60]) {
		t.Error("a secret in a call is told in its refusal or its record")
	}
}

func TestObserve(t *testing.T) {
	value := random(11, 24)
	e, _ := engine(t, nil, value)
	r := session(t, e, nil).Observe(context.Background(), &mediator.Message{Tool: "cat", Texts: []flow.Text{{Text: "KEY " + value, Path: func() string { return "cat" }}}})
	if !strings.HasPrefix(r.Edits[0], "KEY margay-api-key-") {
		t.Errorf("outcome %s", r.Decision.Outcome)
	}
}

// broken fails in one method after the engine has begun, or panics.
type broken struct {
	*memory.Store
	method string
	panics bool
	on     bool
}

func (b *broken) fail(method string) error {
	if !b.on || b.method != method {
		return nil
	}
	if b.panics {
		panic("a panic that quotes " + method)
	}
	return errors.New("disk full")
}

func (b *broken) Epoch(ctx context.Context) (uint64, error) {
	if err := b.fail("epoch"); err != nil {
		return 0, err
	}
	n, err := b.Store.Epoch(ctx)
	if b.on {
		n++ // so that the rest is read anew
	}
	return n, err
}

func (b *broken) Secrets(ctx context.Context) iter.Seq2[secret.Record, error] {
	if err := b.fail("secrets"); err != nil {
		return func(yield func(secret.Record, error) bool) { yield(secret.Record{}, err) }
	}
	return b.Store.Secrets(ctx)
}

func (b *broken) Allows(ctx context.Context) ([]secret.Allow, error) {
	if err := b.fail("allows"); err != nil {
		return nil, err
	}
	return b.Store.Allows(ctx)
}

func (b *broken) AppendDecisions(ctx context.Context, en []audit.Entry) error {
	if err := b.fail("append"); err != nil {
		return err
	}
	return b.Store.AppendDecisions(ctx, en)
}

func TestStoreFailsInEveryWay(t *testing.T) {
	value := random(12, 24)
	for _, method := range []string{"epoch", "secrets", "allows", "append"} {
		for _, panics := range []bool{false, true} {
			if panics && method != "append" {
				continue // outside of the mediator's guard; net/http has its own
			}
			t.Run(fmt.Sprintf("%s panics=%v", method, panics), func(t *testing.T) {
				b := &broken{Store: memory.New(), method: method, panics: panics}
				e, _ := engine(t, func(m *mediator.Config) { m.Store = b }, value)
				b.on = true
				s, err := e.Session(context.Background(), &mediator.SessionRequest{})
				if method != "append" {
					if err == nil || !strings.Contains(err.Error(), "disk full") || e.Ready(context.Background()) == nil {
						t.Errorf("session: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				r := s.Texts(context.Background(), texts("it is "+value))
				if !r.Denied() || len(r.Edits) != 0 {
					t.Errorf("prompt: %s", r.Decision.Outcome)
				}
				code := "store-failed"
				if panics {
					code = "internal-error"
				}
				if c := r.Decision.Reasons[0]; c.Code != code || strings.Contains(c.Detail, "quotes") {
					t.Errorf("reason %s: %s", c.Code, c.Detail)
				}
				if r = s.Texts(context.Background(), texts("nothing to record")); r.Denied() {
					t.Error("a clean request needs no record")
				}
				g := s.Generate(context.Background(), answer.Options{})
				_, err = mediator.Push(g, &answer.Event{Raw: []byte("x"), Deltas: []flow.Delta{{Key: flow.StreamKey{Field: flow.FieldContent}, Text: []byte("it is " + value + " and more ")}}, Choices: []int{0}})
				if err == nil {
					_, err = g.Close()
				}
				if !errors.Is(err, answer.ErrDenied) {
					t.Errorf("generation: %v", err)
				}
			})
		}
	}
}

func TestDeadline(t *testing.T) {
	e, store := engine(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := session(t, e, nil).Texts(ctx, texts("prose"))
	if !r.Denied() || r.Decision.Reasons[0].Code != "deadline" {
		t.Errorf("outcome %s", r.Decision.Outcome)
	}
	// Whoever is given a decision's id can look it up.
	if _, err := store.Decision(context.Background(), r.Decision.ID); err != nil {
		t.Errorf("the denial is not in the log: %v", err)
	}
}

func TestListener(t *testing.T) {
	value := random(13, 24)
	var got []audit.Entry
	e, store := engine(t, func(m *mediator.Config) {
		m.Decided = func(en audit.Entry) { got = append(got, en) }
	}, value)
	s := session(t, e, nil)
	s.Texts(context.Background(), texts("clean"))
	r := s.Texts(context.Background(), texts("it is "+value))
	if len(got) != 1 || got[0].ID != r.Decision.ID {
		t.Fatalf("%d events", len(got))
	}
	en, err := store.Decision(context.Background(), r.Decision.ID)
	if err != nil || len(en.Findings) != 1 || en.Findings[0].Name != "SECRET_0" || en.Findings[0].Path != "messages[0].content" {
		t.Errorf("log entry: %v", err)
	}
}

func BenchmarkPromptHistory(b *testing.B) {
	e, _ := engine(b, nil, random(14, 24))
	var in []string
	for i := range 200 {
		in = append(in, strings.Repeat(fmt.Sprintf("message %d has some words of prose in it. ", i), 20))
	}
	all := texts(in...)
	session(b, e, nil).Texts(context.Background(), all)
	b.ReportAllocs()
	for b.Loop() {
		session(b, e, nil).Texts(context.Background(), all)
	}
}
