package disclose

import (
	"cmp"
	"context"

	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
)

// learnResults notes the values in what tools return, by the schema that the
// configuration has of it. A text that is no JSON has none.
func (v *Verbs) learnResults(ctx context.Context, texts []flow.Text) error {
	if v.cfg == nil || v.cfg.Results == nil {
		return nil
	}
	for i := range texts {
		t := &texts[i]
		args := v.cfg.Results(t.Tool)
		if t.Tool == "" || len(args) == 0 || t.Field == flow.FieldToolArguments {
			continue
		}
		key := v.s.Keyed("margay results v1", []byte(t.Tool), []byte(t.Text))
		if _, ok := v.s.Recall(key); ok {
			continue
		}
		l, ok := leavesOf([]byte(t.Text))
		if !ok {
			continue
		}
		schema := schema.Tool{Args: args}
		var values []known.Value
		for _, x := range l.at {
			if arg := schema.Arg(x.path); arg.Field != "" && !x.key && !x.literal {
				values = append(values, known.Value{Field: arg.Field, Text: x.text})
			}
		}
		if len(values) > 0 {
			if err := v.cfg.Verifier.Learn(ctx, cmp.Or(v.s.Family(), v.s.ID), values); err != nil {
				return err
			}
		}
		v.s.Remember(key, session.Mediated{})
	}
	return nil
}
