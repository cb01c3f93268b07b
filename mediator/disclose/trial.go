package disclose

import (
	"context"
	"errors"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
)

// Trial is what a release would come to.
type Trial struct {
	// Release is what the verifier decided.
	Release declassify.Release
	// Asked are the parts that the payload was taken apart into; atoms are
	// places in them.
	Asked []declassify.Part
	// Variant is what would be sent in the payload's place; empty where
	// nothing may be.
	Variant string
}

// ErrAmbiguous says that a payload looks like JSON and can be read in several
// ways. A call with such arguments is refused.
var ErrAmbiguous = errors.New("ambiguous JSON: it can be read in several ways")

// Trier says what a release would come to; *declassify.Verifier is one.
type Trier interface {
	Try(ctx context.Context, c declassify.Candidate) (declassify.Release, []declassify.Part, error)
}

// Try takes a payload through a verifier as the arguments of a call of a tool
// are taken, or a message where the tool is a model. It is a trajectory of its
// own whose pseudonyms mean nothing elsewhere; nothing is recorded or charged,
// so that nothing of it may be sent.
func Try(ctx context.Context, v Trier, tool schema.Tool, payload string) (*Trial, error) {
	var l *leaves
	out := &Trial{}
	if tool.Channel == flow.ChannelModel {
		out.Asked = []declassify.Part{{Path: flow.FieldContent.String(), Text: payload}}
	} else {
		var ok bool
		if l, ok = leavesOf([]byte(payload)); !ok {
			return nil, ErrAmbiguous
		}
		out.Asked = l.parts(&tool)
	}
	keys, id := secret.NewKeys(), flow.NewID()
	r, parts, err := v.Try(ctx, declassify.Candidate{
		Trajectory: flow.TrajectoryID(id), Tool: tool, Parts: out.Asked,
		Names: &trialNames{keys: &keys, names: secret.NewPseudonymiser(&keys, id)},
	})
	if err != nil {
		return nil, err
	}
	if out.Release = r; parts == nil {
		return out, nil
	}
	if l == nil {
		out.Variant = parts[0].Text
		return out, nil
	}
	edits, ok := l.edits(parts)
	if !ok {
		out.Release.Outcome = flow.Deny
		out.Release.Reasons = append(out.Release.Reasons, flow.Reason{Code: "argument-name", Detail: "the name of an argument would have to be changed"})
		return out, nil
	}
	out.Variant = string(session.Apply(edits, 0, []byte(payload)))
	return out, nil
}

// trialNames are pseudonyms under keys that nobody keeps.
type trialNames struct {
	keys  *secret.Keys
	names *secret.Pseudonymiser
}

// Name implements declassify.Pseudonyms.
func (n *trialNames) Name(field, value string) string {
	return n.names.Name(secret.Kind(field), n.keys.FingerprintOf([]byte(value)))
}

// Find implements declassify.Pseudonyms: none has been given out before.
func (*trialNames) Find(string) []declassify.Pseudonym { return nil }
