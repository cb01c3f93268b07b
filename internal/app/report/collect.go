package report

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/view"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// KeyPrefix starts a ledger's public key as text.
const KeyPrefix = "margay-ledger-key:"

// KeyText returns a ledger's public key as text.
func KeyText(k ed25519.PublicKey) string {
	return KeyPrefix + base64.RawURLEncoding.EncodeToString(k)
}

// ErrUnknown says that nothing is known of a trajectory, or that nothing has
// happened since a time.
var ErrUnknown = errors.New("nothing is known of it")

// Questions reads questions to people. *confirm.Desk is one.
type Questions interface {
	Rows(ctx context.Context, all bool, limit int) ([]confirm.Row, error)
	Open(r *confirm.Row) (*confirm.Question, error)
}

// Config is what a report is made from. All is required.
type Config struct {
	Events    audit.Events
	Log       audit.Log
	Questions Questions
	Ledger    ledger.Store
	Key       ed25519.PrivateKey // the ledger's
	// Mask replaces known secrets and recognised credentials in what others
	// wrote. Known replaces only known secrets: rubrics are public, and have
	// samples that look like credentials.
	Mask    func(string) string
	Known   func(string) string
	Now     func() time.Time
	Version string // of this program
	Whole   bool   // export the whole ledger
}

// limits are the bounds that tests make smaller.
type limits struct{ trajectories, decisions, export, texts int }

type maker struct {
	cfg    Config
	limits limits
	scope  Scope
	cache  map[string]string

	of       map[flow.TrajectoryID]*Trajectory
	seen     map[string]bool // decisions
	totals   map[Total]int
	found    map[Found]int
	size     int  // bytes of texts so far
	missed   int  // decisions of the log that are not listed
	unlisted int  // and of the events, which may be the same
	others   bool // there are trajectories that are not listed
	cut      bool // regions or questions are left out, for their size
	asked    int  // questions
}

// Make makes a report of a trajectory, or of all since a time. It reads the whole
// log and ledger. The bounds of a report bound its memory.
func Make(ctx context.Context, cfg Config, scope Scope) (*Document, error) {
	return newMaker(cfg, scope).make(ctx)
}

func newMaker(cfg Config, scope Scope) *maker {
	return &maker{
		cfg: cfg, scope: scope, limits: limits{maxTrajectories, maxDecisions, maxExport, maxTexts}, cache: map[string]string{},
		of: map[flow.TrajectoryID]*Trajectory{}, seen: map[string]bool{}, totals: map[Total]int{}, found: map[Found]int{},
	}
}

func (m *maker) make(ctx context.Context) (*Document, error) {
	made := m.cfg.Now().UTC().Truncate(time.Millisecond)
	d := &Document{
		Format: Format, Page: Page, Made: made, Version: m.cfg.Version, Scope: m.scope,
		Totals: []Total{}, Trajectories: []Trajectory{}, LeftOut: []string{}, Key: KeyText(m.cfg.Key.Public().(ed25519.PublicKey)),
	}
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	c, err := m.choose(ctx, func(e *charge.Entry) bool {
		if m.scope.Trajectory != "" {
			return e.Trajectory == m.scope.Trajectory || e.Family == m.scope.Trajectory
		}
		return !e.At.Before(m.scope.Since)
	})
	if err != nil {
		return nil, err
	}
	for _, id := range c.touched {
		m.trajectory(id)
	}
	if err := m.log(ctx); err != nil {
		return nil, err
	}
	if len(m.of) == 0 {
		return nil, ErrUnknown
	}
	for _, id := range slices.Sorted(maps.Keys(m.of)) {
		if err := m.events(ctx, id, m.of[id]); err != nil {
			return nil, err
		}
	}
	if err := m.questions(ctx); err != nil {
		return nil, err
	}
	m.finish(d)
	d.LeftOut = append(d.LeftOut, c.left...)
	d.Scope.Whole = c.whole
	if d.Export, err = m.export(ctx, c); err != nil {
		return nil, err
	}
	l, _, err := ledgerOf(ctx, d.Export, m.cfg.Key.Public().(ed25519.PublicKey), nil)
	if err != nil {
		return nil, err
	}
	d.Ledger = *l
	return d.signed(m.cfg.Key)
}

// masked returns a text without secrets. Short texts hold none.
func (m *maker) masked(s string) string {
	if len(s) < 8 {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	if out, ok := m.cache[s]; ok {
		return out
	}
	if len(m.cache) > 1<<14 {
		clear(m.cache)
	}
	out := strings.ToValidUTF8(m.cfg.Mask(s), "\uFFFD")
	m.cache[s] = out
	return out
}

// text masks a text and bounds its length. It masks before it cuts, so that no
// part of a secret is left at the end.
func (m *maker) text(s string) string {
	if len(s) > 1<<20 {
		return "(a text that is too long for a report)"
	}
	if s = m.masked(s); len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + " …"
	}
	m.size += len(s)
	return s
}

// id returns one of Margay's own ids unchanged, and anything else as a text.
func (m *maker) id(s string) string {
	if u, err := ulid.ParseStrict(s); err == nil && u.String() == s {
		return s
	}
	return m.text(s)
}

// trajectory returns the part about one, or nil if there are too many.
func (m *maker) trajectory(id flow.TrajectoryID) *Trajectory {
	if t := m.of[id]; t != nil || id == "" || len(m.of) >= m.limits.trajectories {
		return t
	}
	t := &Trajectory{ID: flow.TrajectoryID(m.id(string(id))), Decisions: []Decision{}, Questions: []Question{}, Regions: []Region{}}
	m.of[id] = t
	return t
}

// start finds the trajectories that have events.
func (m *maker) start(ctx context.Context) error {
	if id := m.scope.Trajectory; id != "" {
		s, err := m.cfg.Events.Trajectory(ctx, id)
		if errors.Is(err, secret.ErrNotFound) {
			return nil
		}
		if err == nil {
			m.count(&s)
		}
		return err
	}
	for before := int64(0); ; {
		page, err := m.cfg.Events.Trajectories(ctx, before, pageSize)
		if err != nil {
			return err
		}
		for i := range page {
			if page[i].Last.Before(m.scope.Since) {
				continue // events are in order of arrival, which clocks need not follow
			}
			m.count(&page[i])
			before = page[i].LastSeq
		}
		if len(page) < pageSize || before != page[len(page)-1].LastSeq {
			return nil
		}
	}
}

func (m *maker) count(s *audit.Summary) {
	t := m.trajectory(s.ID)
	if t == nil {
		m.others = true
		return
	}
	t.First, t.Last, t.Answers = s.First.UTC(), s.Last.UTC(), s.Answers
}

// log reads all decisions of the log. A trajectory may be older than its id, and
// decisions of several processes come in any order, so it reads the whole log
// for one trajectory, too.
func (m *maker) log(ctx context.Context) error {
	for e, err := range audit.Since(ctx, m.cfg.Log, m.scope.Since) {
		if err != nil {
			return err
		}
		if !m.decision(e, "") {
			m.missed++
		}
	}
	return nil
}

// decision adds one, once. It reports false if there is no room.
func (m *maker) decision(e *audit.Entry, tool string) bool {
	if m.scope.Trajectory != "" && e.Trajectory != m.scope.Trajectory || e.At.Before(m.scope.Since) || m.seen[e.ID] {
		return true
	}
	t := m.trajectory(e.Trajectory)
	if t == nil {
		m.others = true
		return true
	}
	if len(m.seen) >= m.limits.decisions || m.size >= m.limits.texts {
		return false
	}
	m.seen[e.ID] = true
	m.totals[Total{Verb: flow.Verb(m.text(string(e.Verb))), Outcome: flow.Outcome(m.text(string(e.Outcome)))}] += e.N()
	out := Decision{
		ID: m.id(e.ID), At: e.At.UTC(), Verb: flow.Verb(m.text(string(e.Verb))), Sink: m.text(e.Sink.Name), Channel: m.text(string(e.Sink.Channel)), Trust: m.text(string(e.Sink.Trust)),
		Tool: m.text(tool), Outcome: flow.Outcome(m.text(string(e.Outcome))), Count: e.Count,
	}
	for i := range e.Reasons {
		if len(out.Reasons) == maxReasons {
			out.Reasons = append(out.Reasons, Reason{Code: "more", Detail: fmt.Sprintf("%d more reasons are not listed", len(e.Reasons)-i)})
			break
		}
		r := &e.Reasons[i]
		out.Reasons = append(out.Reasons, Reason{m.text(r.Code), m.text(r.Detail), m.text(string(r.Action))})
	}
	here := map[Found]int{}
	for i := range e.Findings {
		f := Found{Kind: m.text(string(e.Findings[i].Kind)), Source: m.text(string(e.Findings[i].Source)), Action: m.text(string(e.Findings[i].Action))}
		here[f]++
		m.found[f]++
	}
	out.Found = counted(here)
	t.Decisions = append(t.Decisions, out)
	if t.First.IsZero() || out.At.Before(t.First) {
		t.First = out.At
	}
	if out.At.After(t.Last) {
		t.Last = out.At
	}
	return true
}

func counted(by map[Found]int) []Found {
	out := make([]Found, 0, len(by))
	for f, n := range by {
		f.N = n
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Action, b.Action))
	})
	return out
}

// events adds what only events hold of a trajectory.
func (m *maker) events(ctx context.Context, id flow.TrajectoryID, t *Trajectory) error {
	tools := map[string]string{} // of decisions that came from the log
	for after := int64(0); ; {
		page, err := m.cfg.Events.Events(ctx, audit.Query{
			Trajectory: id, After: after, Since: m.scope.Since, Limit: pageSize, Kinds: []audit.Kind{audit.KindDecision},
		})
		if err != nil {
			return err
		}
		for i := range page {
			after = page[i].Seq
			if d := page[i].Payload.Decision; d != nil {
				tool := ""
				if s := page[i].Payload.Size; s != nil {
					tool = s.Tool
				}
				if m.seen[d.ID] && tool != "" {
					tools[d.ID] = tool
				}
				if !m.decision(d, tool) {
					m.unlisted++
				}
			}
		}
		if len(page) < pageSize {
			break
		}
	}
	for i := range t.Decisions {
		if d := &t.Decisions[i]; d.Tool == "" {
			d.Tool = m.text(tools[d.ID])
		}
	}
	slices.SortFunc(t.Decisions, func(a, b Decision) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	steps, err := m.cfg.Events.Events(ctx, audit.Query{
		Trajectory: id, Limit: maxSteps, Last: true, Kinds: []audit.Kind{audit.KindStep, audit.KindWithheld},
	})
	if err != nil {
		return err
	}
	shown, last := view.Regions(steps)
	t.Context = m.text(last)
	for _, r := range shown[max(0, len(shown)-maxRegions):] {
		if m.size >= m.limits.texts {
			m.cut = true
			break
		}
		t.Regions = append(t.Regions, Region{
			Message: r.Message, Role: m.text(r.Role), Tool: m.text(r.Tool), Field: m.text(r.Field), Label: m.text(r.Label), Bottom: r.Bottom, Bytes: r.Bytes,
			Withheld: r.Withheld,
		})
	}
	return nil
}

// questions adds what people were asked.
func (m *maker) questions(ctx context.Context) error {
	rows, err := m.cfg.Questions.Rows(ctx, true, maxQuestions)
	if err != nil {
		return err
	}
	m.asked = len(rows)
	for i := range rows {
		r := &rows[i]
		t := m.of[r.Trajectory]
		if t == nil || r.Asked.Before(m.scope.Since) {
			continue
		}
		if m.size >= m.limits.texts {
			m.cut = true
			break
		}
		q, err := m.cfg.Questions.Open(r)
		if err != nil {
			return fmt.Errorf("question %s: %w", r.ID, err)
		}
		out := Question{
			ID: m.id(r.ID), Asked: r.Asked.UTC(), Tool: m.text(q.Call.Name), Sink: m.text(q.Sink), Label: m.text(q.Label), Needs: m.text(q.Needs),
			Answer: m.text(string(r.Answer)), By: m.text(r.By),
		}
		if !r.Answered.IsZero() {
			out.Answered = r.Answered.UTC()
		}
		for k := range q.Faults[:min(len(q.Faults), maxReasons)] {
			f := &q.Faults[k]
			out.Faults = append(out.Faults, Fault{m.text(f.Source), m.text(f.Field), m.text(f.Label)})
		}
		t.Questions = append(t.Questions, out)
	}
	for _, t := range m.of {
		slices.SortFunc(t.Questions, func(a, b Question) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID)) })
	}
	return nil
}

// finish fills in what was counted.
func (m *maker) finish(d *Document) {
	for t, n := range m.totals {
		t.N = n
		d.Totals = append(d.Totals, t)
	}
	slices.SortFunc(d.Totals, func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Outcome, b.Outcome))
	})
	d.Found = counted(m.found)
	for _, id := range slices.Sorted(maps.Keys(m.of)) {
		d.Trajectories = append(d.Trajectories, *m.of[id])
	}
	if n := max(m.missed, m.unlisted); n > 0 {
		d.LeftOut = append(d.LeftOut, fmt.Sprintf("at least %d decisions, which are not counted: a report has room for %d, and for %d MiB of texts", n, m.limits.decisions, m.limits.texts>>20))
	}
	if m.others {
		d.LeftOut = append(d.LeftOut, fmt.Sprintf("trajectories beyond the %d that are listed, and their decisions", m.limits.trajectories))
	}
	if m.cut {
		d.LeftOut = append(d.LeftOut, "regions and questions: the room for texts is full")
	}
	if m.asked == maxQuestions {
		d.LeftOut = append(d.LeftOut, fmt.Sprintf("questions before the latest %d", maxQuestions))
	}
}
