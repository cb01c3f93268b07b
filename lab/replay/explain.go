package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
)

// Asked is a call that was asked about.
type Asked struct {
	Mode, Suite, Session string
	Message              int // from 1
	Tool                 string
	Codes                string // of the reasons, with the number of the tool's rule
	Attacker             bool
	// Note is why the step that was made again did not stand in.
	Note string
	// Excerpt is the start of the arguments, with credentials masked.
	Excerpt string
}

// maxExcerpt bounds an excerpt, in bytes.
const maxExcerpt = 120

// explain reports the calls that were asked about.
func (o *Options) explain(ctx context.Context, modes []string, out [][]*outcome) error {
	mask, err := masker(ctx)
	if err != nil {
		return err
	}
	for k, mode := range modes {
		for _, s := range out[k] {
			for i := range s.calls {
				c := &s.calls[i]
				if !c.asked {
					continue
				}
				o.Explain(&Asked{
					Mode: mode, Suite: s.session.Suite, Session: s.session.ID, Message: c.message + 1, Tool: c.Name,
					Codes: codes(&c.clearance), Attacker: c.attacker, Note: c.note, Excerpt: excerpt(mask(c.Arguments)),
				})
			}
		}
	}
	return nil
}

// masker masks the credentials that margay serve would recognise.
func masker(ctx context.Context) (func(string) string, error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: memory.New()}})
	if err != nil {
		return nil, err
	}
	return e.Masker(ctx)
}

// codes are the codes of the reasons for a question.
func codes(c *taint.Clearance) string {
	var out []string
	for _, r := range c.Reasons {
		code := r.Code
		if code == taint.CodeRule {
			code = fmt.Sprintf("%s:%d", code, c.Rule)
		}
		out = append(out, code)
	}
	if !c.Confirm { // it would be asked whatever its label is
		out = append(out, taint.CodeLabel)
	}
	return strings.Join(out, "+")
}

func excerpt(s string) string {
	if len(s) > maxExcerpt {
		const more = "…"
		s = strings.ToValidUTF8(s[:maxExcerpt-len(more)], "") + more
	}
	return s
}
