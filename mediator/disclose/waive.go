package disclose

import (
	"context"
	"strings"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/flow"
)

// A call whose sink needs what may not be shown, or what there is no budget for,
// is not made. A person may agree to do without: then the same call, made again,
// goes out without those fields. A yes allows nothing more: what is released is
// held to every rule and to the budget, as ever. It is for one release, with the
// same arguments to the same sink, without the same fields, and used once.
//
// Nobody waits: the model reads that a person is asked, and may go on.

// codeAsked is the reason that a person is asked about a release.
const codeAsked = "release-asked"

// maxAsked bounds the questions among which an answer is looked for.
const maxAsked = 100

// waive puts a release that a person could resolve before one, and makes it
// where they said yes. It returns what becomes of the release.
func (v *Verbs) waive(ctx context.Context, c *declassify.Candidate, r declassify.Release) declassify.Release {
	d := v.cfg
	if r.Outcome != flow.Confirm {
		return r
	}
	if d.Desk == nil || d.Report || c.Tool.Channel == flow.ChannelModel || len(r.Missing) == 0 {
		r.Outcome = flow.Deny // there is nobody to ask
		return r
	}
	digest := v.releaseDigest(c, r.Missing)
	because := func(detail string) declassify.Release {
		r.Outcome = flow.Deny
		r.Reasons = append(r.Reasons, flow.Reason{Code: codeAsked, Detail: detail, Action: flow.ActBlock})
		return r
	}
	rows, err := d.Desk.Rows(ctx, true, maxAsked)
	if err != nil {
		return because("nobody could be asked")
	}
	asked := ""
	for i := range rows {
		row := &rows[i]
		if row.Digest != digest || row.Trajectory != v.s.ID || !v.s.Now.Before(row.Expires) {
			continue
		}
		switch {
		case row.Answer == confirm.Once && !row.Used:
			q := &confirm.Question{ID: row.ID, Digest: digest, Expires: row.Expires}
			if got, err := d.Desk.Wait(ctx, q); err != nil || got != confirm.Once {
				continue
			}
			c.Waived, c.Answer = r.Missing, row.ID
			again, err := d.Verifier.Release(ctx, *c)
			if err != nil {
				return because("the release was not decided in time")
			}
			again.Reasons = append(again.Reasons, flow.Reason{Code: codeAsked, Detail: "a person agreed to do without " + named(r.Missing) + " (question " + row.ID + ")", Action: flow.ActAllow})
			if again.Outcome == flow.Confirm { // what they agreed to is not enough
				again.Outcome = flow.Deny
			}
			return again
		case row.Answer == confirm.Deny:
			return because("a person did not agree to do without " + named(r.Missing))
		case row.Answer == "":
			asked = row.ID
		}
	}
	if asked == "" {
		q := &confirm.Question{
			Trajectory: v.s.ID, Digest: digest, Sink: c.Tool.Sink, Label: "the rubrics of " + c.Tool.Action,
			Call:  flow.ToolCall{Name: c.Tool.Name}, // without its arguments, which may be what is secret
			Needs: "a yes to make it without " + named(r.Missing) + ": " + details(v.s.CleanReasons(r.Reasons)),
		}
		if err := d.Desk.Put(ctx, q); err != nil {
			return because("nobody could be asked: " + err.Error())
		}
		asked = q.ID
	}
	r.Reasons = append(r.Reasons, flow.Reason{Code: codeAsked, Detail: "a person is asked whether it may be made without " + named(r.Missing) + " (question " + asked + ")", Action: flow.ActBlock})
	return r
}

// releaseDigest is the keyed digest of a release that does without fields: of
// the sink, the arguments as they would be asked for again, and the fields.
func (v *Verbs) releaseDigest(c *declassify.Candidate, missing []string) [32]byte {
	t := &c.Tool
	parts := [][]byte{[]byte(t.Name), []byte(t.Action), []byte(t.Sink), []byte(t.Channel), {byte(t.Class)}, []byte(strings.Join(missing, "\n"))}
	for i := range c.Parts {
		parts = append(parts, []byte(c.Parts[i].Path), []byte(c.Parts[i].Text))
	}
	return v.s.Keyed("margay release digest v1", parts...)
}

func named(fields []string) string { return strings.Join(fields, ", ") }

// details are why a release was refused, for whoever is asked. They say fields,
// arguments of the schema and bits.
func details(reasons []flow.Reason) string {
	const most = 4
	var out []string
	for _, r := range reasons {
		switch rule.Rule(r.Code) {
		case rule.Utility, rule.Budget, rule.Audit:
			out = append(out, r.Detail)
		}
	}
	return strings.Join(out[:min(len(out), most)], "; ")
}

// waiting is what a model also reads about a release that a person is asked
// about, or was.
func waiting(r *declassify.Release) string {
	for i := range r.Reasons {
		if x := &r.Reasons[i]; x.Code == codeAsked {
			if r.Outcome == flow.Confirm {
				return "; " + x.Detail + ": once they have said yes, make the same call again"
			}
			return "; " + x.Detail
		}
	}
	return ""
}
