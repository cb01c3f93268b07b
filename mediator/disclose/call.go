package disclose

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// Arguments decides about the complete arguments of a call. It returns the edits
// and what was found. A refusal is what the model is told: the call is not made.
//
// A call is refused where its arguments hold a pseudonym that its tool's rubric
// does not turn back, or a private key, which must not leave. Otherwise findings
// are replaced so that JSON stays JSON. Withheld is what rubrics took out of a call
// that is made, in the form of a finding; the zero Finding for nothing.
func (v *Verbs) Arguments(ctx context.Context, cfg *stream.Config, name string, args []byte) (edits []stream.Edit, found []stream.Finding, withheld audit.Finding, refused string) {
	edits, found = cfg.Scan(args)
	if v.s.Observes() {
		return edits, found, withheld, ""
	}
	if made, less, refused, ok := v.releaseCall(ctx, name, args, edits, found); refused != "" && ok {
		return edits, found, withheld, refused
	} else if ok {
		return made, found, less, ""
	}
	if at := v.pseudonym(args); at != nil {
		return edits, found, withheld, refusal(v.s.Clean(name), at.Name, at.Kind)
	}
	if hasKey(found) {
		return edits, found, withheld, refusal(v.s.Clean(name), "a private key", secret.KindPrivateKey)
	}
	inside, ok := insideStrings(args, edits)
	if !ok {
		return edits, found, withheld, refusal(v.s.Clean(name), "a secret", secret.KindSecret)
	}
	return inside, found, withheld, ""
}

// hasKey reports whether a private key was found that is not only reported.
func hasKey(found []stream.Finding) bool {
	return slices.ContainsFunc(found, func(f stream.Finding) bool { return f.Kind == secret.KindPrivateKey && f.Action != flow.ActReport })
}

// pseudonym finds a pseudonym of the trajectory's in arguments, as they are
// written and as a tool reads them.
func (v *Verbs) pseudonym(args []byte) *secret.PseudonymAt {
	find := func(text string) *secret.PseudonymAt {
		if all := v.s.NamesIn(text); len(all) > 0 {
			return &all[0].PseudonymAt
		}
		return nil
	}
	if at := find(string(args)); at != nil || !bytes.ContainsRune(args, '\\') {
		return at
	}
	var d strictjson.Doc
	if d.Parse(args, strictjson.Limits{MaxBytes: session.MaxArguments}) != nil {
		return nil
	}
	for i := range d.Nodes {
		if d.Nodes[i].KeyEscaped {
			if at := find(d.Key(i)); at != nil {
				return at
			}
		}
		if d.Nodes[i].Escaped {
			if at := find(d.Text(i)); at != nil {
				return at
			}
		}
	}
	return nil
}

// replaced says what of a call's arguments was replaced, and how it is allowed;
// nothing where nothing was.
func replaced(name string, f audit.Finding) string {
	switch {
	case f.ID == "":
		return ""
	case f.Rule == byRubrics:
		return fmt.Sprintf("[margay: the call of %s was made with less than it says: %s. Its rubrics do not let the recipient have it; margay explain %s says more.]", cmp.Or(name, "a tool"), f.Kind, f.ID)
	}
	return fmt.Sprintf("[margay: the call of %s was made with a part of its arguments replaced: %s, found by %s. If it is no secret, a person can allow it: margay allow add %s.]", cmp.Or(name, "a tool"), f.Kind, f.Rule, f.ID)
}

// byRubrics is the rule of what rubrics withheld.
const byRubrics = "rubrics"

// withheld is what a release shows less of than its candidate, by field.
func (v *Verbs) withheld(r *declassify.Release) audit.Finding {
	var out []string
	for i := range r.Atoms {
		a := &r.Atoms[i]
		what := a.Field
		switch {
		case a.Op.Kind == rubric.Identity || a.Resolved:
			continue
		case a.Field == declassify.Unknown:
			what = "text that may be private"
		}
		how := "redacted"
		switch a.Op.Kind {
		case rubric.Generalize:
			how = "shown coarsely"
		case rubric.Substitute:
			how = "replaced"
		}
		out = append(out, what+" "+how)
	}
	if len(out) == 0 || r.Entry == nil {
		return audit.Finding{}
	}
	slices.Sort(out)
	text := strings.Join(slices.Compact(out), ", ")
	return audit.Finding{ID: r.Entry.Decision, Rule: byRubrics, Kind: secret.Kind(text), Fingerprint: v.s.Keys().FingerprintOf([]byte(text))}
}

// Note is what a model reads behind the result of a call that was made with a
// part of its arguments replaced.
type Note struct {
	Turn int
	On   *flow.Text // the last text of the result
	Text string
}

// Notes returns the notes on the results in a conversation, whose texts parts has
// by their ids.
func (v *Verbs) Notes(turns []flow.Turn, parts map[int]*flow.Text) []Note {
	var out []Note
	for _, r := range v.s.Altered.Results(turns) {
		for _, id := range slices.Backward(turns[r.Turn].Parts) {
			if t := parts[id]; !t.Fixed && t.Opaque == "" && told.MatchString(t.Path()) {
				out = append(out, Note{r.Turn, t, "\n\n" + replaced(v.s.Clean(r.Tool), r.Finding)})
				break
			}
		}
	}
	return out
}

// told matches the places of what a tool says in its result, in any API.
var told = regexp.MustCompile(`\.(?:content|output|text)$`)

func refusal(name, what string, kind secret.Kind) string {
	return fmt.Sprintf("[margay: the call of %s was not made: its arguments hold %s (%s), which must not leave. Refer to it by its environment variable or its file instead. If it is no secret, a person can allow it: margay log names the finding, margay allow add FINDING-ID allows it.]", cmp.Or(name, "a tool"), what, kind)
}
