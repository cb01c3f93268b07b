package console

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/access"
)

const hashOne = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"

// shelf is a registry that says its name everywhere, and of what is tried what
// it was asked.
type shelf string

func (s shelf) row() RubricRow {
	return RubricRow{Hash: hashOne, Name: "name " + string(s), Title: "title " + string(s), Revision: 2, Actions: []string{"action " + string(s)}, Signer: "ab12", Own: true, State: "in force", Fields: 1, Budget: 12}
}

func (s shelf) found() []RubricFinding {
	return []RubricFinding{{Rubric: "name " + string(s), Code: "dead-clause", Detail: "detail " + string(s)}}
}

func (s shelf) Rubrics(context.Context) (*RubricList, error) {
	return &RubricList{
		Mode: "on", Defender: "rules", Rubrics: []RubricRow{s.row()}, Refused: []RefusedRubric{{File: "file " + string(s), Rule: "altered", Detail: "detail " + string(s)}}, Findings: s.found(),
		Targets: []RubricTarget{{Target: "tool:" + string(s), Name: "tool " + string(s), Action: "action " + string(s), Sink: "sink " + string(s), Class: "adversarial", Channel: "tool", Args: []string{"path " + string(s)}}}, Actions: []string{"action " + string(s)},
	}, nil
}

func (s shelf) Rubric(_ context.Context, hash string) (*Rubric, error) {
	if hash != hashOne {
		return nil, nil //nolint:nilnil // as the interface says
	}
	return &Rubric{
		RubricRow: s.row(), For: []string{"for " + string(s)}, Margin: 1, Classes: []RubricClass{{"required-service", 20, 1}}, Findings: s.found(),
		FieldList: []RubricField{{Field: "field " + string(s), Group: "group " + string(s), Needs: []string{"required"}, Must: []string{"level " + string(s)}, Operators: []RubricOperator{{"operator " + string(s), 3.5, []bool{true}}}}},
	}, nil
}

func (s shelf) Try(_ context.Context, t *Trial) (*Tried, error) {
	return &Tried{
		Outcome: flow.Rewrite, Rubrics: []string{"name " + string(s)}, Sink: "sink " + string(s), Class: "adversarial", Channel: "tool", Variant: "variant " + t.Payload, Charge: 1, Budget: 2,
		Atoms: []TriedAtom{{Path: "path " + string(s), Text: t.Payload, Field: "field " + string(s), Need: "useful", Operator: "operator " + string(s), Bits: 3}},
		Told:  []TriedTold{{"adversarial", 1, 2}}, Reasons: []TriedReason{{"code", "detail " + string(s)}}, Missing: []string{"missing " + string(s)},
	}, nil
}

func (u *user) form(path string, values url.Values) (int, string) {
	u.r.t.Helper()
	req, err := http.NewRequestWithContext(u.r.t.Context(), "POST", u.r.srv.URL+path, strings.NewReader(values.Encode()))
	must(u.r.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, body := u.do(req)
	return resp.StatusCode, body
}

// What is tried is in no log, no event and no address, and a known secret in it
// is on no page; what is hostile is text.
func TestTrialLeavesNothing(t *testing.T) {
	var log strings.Builder
	r := newRig(t, func(c *Config) {
		c.Rubrics, c.Log = shelf("ordinary"), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	u := r.user()
	before, err := r.store.LastEvent(t.Context())
	must(t, err)
	for _, payload := range []string{"it is " + planted + " now", hostile} {
		pageStatus, page := u.form("/console/rubrics", url.Values{"csrf": {u.csrf}, "payload": {payload}, "args": {payload}, "sink": {"s"}})
		apiStatus, api := u.send("POST", "/api/rubrics/try", fmt.Sprintf(`{"payload":%s}`, mustJSON(t, payload)))
		if pageStatus != http.StatusOK || apiStatus != http.StatusOK || !strings.Contains(page, "What would be sent") || !strings.Contains(api, `"variant":"variant `) {
			t.Errorf("%d %d %s %s", pageStatus, apiStatus, page, api)
		}
		for _, bad := range []string{planted, planted[4:18], "<script>alert", "<img src=x", "\x1b", "\u202e", "\x00"} {
			if strings.Contains(page, bad) || !strings.ContainsAny(bad, "\u202e") && strings.Contains(api, bad) {
				t.Errorf("an answer holds %q", bad)
			}
		}
	}
	if _, page := u.form("/console/rubrics", url.Values{"csrf": {u.csrf}, "payload": {"an ordinary payload\r\nof two lines"}}); !strings.Contains(page, "an ordinary payload\nof two lines</textarea>") || !strings.Contains(page, "variant an ordinary payload\nof two lines") {
		t.Error("what was tried does not stand on the page")
	}
	if _, page := u.get("/console/rubrics?trajectory=" + trajectoryOne); !strings.Contains(page, `name="trajectory" value="`+trajectoryOne+`"`) {
		t.Error("the trajectory that a link names is not in the form")
	}
	if _, page := u.get("/console/rubrics?trajectory=" + url.QueryEscape(hostile)); !strings.Contains(page, `name="trajectory" value=""`) {
		t.Error("what is not a trajectory is in the form")
	}
	after, err := r.store.LastEvent(t.Context())
	must(t, err)
	if before != after || log.Len() > 0 {
		t.Errorf("events %d to %d, log %q", before, after, log.String())
	}
}

// Nobody but an operator with a page of the session tries releases.
func TestTrialAccess(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("battery staple"), bcrypt.MinCost)
	must(t, err)
	r := newRig(t, func(c *Config) {
		c.Rubrics, c.Access.Users = shelf("x"), map[string]access.User{"ben": {Hash: string(hash), Role: access.Viewer}}
	})
	u := r.user()
	values := url.Values{"payload": {"p"}}
	for name, got := range map[string]func() (int, string){
		"no token in JSON": func() (int, string) {
			v := *u
			v.csrf = ""
			return v.send("POST", "/api/rubrics/try", `{"payload":"p"}`)
		},
		"no token in a form": func() (int, string) { return u.form("/console/rubrics", values) },
	} {
		if status, body := got(); status != http.StatusForbidden || !strings.Contains(body, "csrf") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _ := r.stranger().send("POST", "/api/rubrics/try", `{"payload":"p"}`); status != http.StatusUnauthorized {
		t.Errorf("a stranger: %d", status)
	}
	u = r.login(`{"user":"ben","password":"battery staple"}`)
	values.Set("csrf", u.csrf)
	if status, body := u.form("/console/rubrics", values); status != http.StatusForbidden || strings.Contains(body, "<textarea") {
		t.Errorf("a viewer's form: %d %s", status, body)
	}
	if status, body := u.send("POST", "/api/rubrics/try", `{"payload":"p"}`); status != http.StatusForbidden || !strings.Contains(body, "read-only") {
		t.Errorf("a viewer: %d %s", status, body)
	}
	if status, body := u.get("/console/rubrics"); status != http.StatusOK || !strings.Contains(body, "You may read") || strings.Contains(body, "<textarea") {
		t.Errorf("a viewer's page: %d", status)
	}
}

// What can't be tried is told with what to do.
func TestTrialBounds(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Rubrics = shelf("x") })
	u := r.user()
	for name, x := range map[string]struct {
		body string
		want int
	}{
		"as much as may be":  {`{"payload":"` + strings.Repeat("a", maxPayload) + `"}`, 200},
		"one byte more":      {`{"payload":"` + strings.Repeat("a", maxPayload+1) + `"}`, 413},
		"far more":           {`{"payload":"` + strings.Repeat("a", 2*maxTrial) + `"}`, 413},
		"many arguments":     {`{"payload":"p","args":"` + strings.Repeat("a", maxArgs+1) + `"}`, 413},
		"a long sink":        {`{"payload":"p","sink":"` + strings.Repeat("a", access.MaxName+1) + `"}`, 413},
		"nothing":            {`{"payload":" "}`, 400},
		"another field":      {`{"payload":"p","x":"y"}`, 400},
		"a field twice":      {`{"payload":"p","payload":"q"}`, 400},
		"no string":          {`{"payload":{}}`, 400},
		"no JSON":            {`payload`, 400},
		"no object":          {`[]`, 400},
		"a half of a letter": {"{\"payload\":\"\xc3\"}", 400},
	} {
		if status, body := u.send("POST", "/api/rubrics/try", x.body); status != x.want || status != 200 && !strings.Contains(body, `"hint":"`) {
			t.Errorf("%s: %d %.300s", name, status, body)
		}
	}
	if status, body := u.form("/console/rubrics", url.Values{"csrf": {u.csrf}, "payload": {strings.Repeat("\r\n", maxPayload)}}); status != http.StatusBadRequest || !strings.Contains(body, "the payload is empty") {
		t.Errorf("as many lines as may be: %d", status)
	}
	for _, n := range []int{maxPayload + 1, maxTrial} {
		if status, body := u.form("/console/rubrics", url.Values{"csrf": {u.csrf}, "payload": {strings.Repeat("a", n)}}); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "at most") || !strings.Contains(body, "the part of it that matters") {
			t.Errorf("a form with %d bytes: %d", n, status)
		}
	}
	if status, body := u.get("/console/rubrics/" + strings.Repeat("0", 64)); status != http.StatusNotFound || !strings.Contains(body, "no rubric with this hash") {
		t.Errorf("an unknown rubric: %d %s", status, body)
	}
	// Others are at it.
	for range maxTrials {
		r.c.trials <- struct{}{}
	}
	if status, body := u.send("POST", "/api/rubrics/try", `{"payload":"p"}`); status != http.StatusTooManyRequests || !strings.Contains(body, "hint") {
		t.Errorf("while others try: %d %s", status, body)
	}
}

// Without a registry there is no such section.
func TestNoRegistry(t *testing.T) {
	r := newRig(t, nil)
	u := r.user()
	if _, body := u.get("/console/"); strings.Contains(body, "/console/rubrics") {
		t.Error("the pages lead to a section that is not there")
	}
	if status, body := u.get("/console/rubrics"); status != http.StatusNotFound || !strings.Contains(body, "margay rubric new") {
		t.Errorf("the page: %d", status)
	}
	if status, _ := u.send("POST", "/api/rubrics/try", `{"payload":"p"}`); status != http.StatusNotFound {
		t.Errorf("a trial: %d", status)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}
