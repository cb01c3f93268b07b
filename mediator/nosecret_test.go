package mediator_test

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// A UUID is a finding only where the policy says what is done with UUIDs, where
// it stands under a secret's name, or where it is registered.
func TestBareUUID(t *testing.T) {
	const uuid = "9476c8ce-2d51-4dee-b246-d89a9a0d8771"
	for _, c := range []struct {
		name, text string
		policy     mediator.Policy
		registered []string
		action     flow.Action
	}{
		{name: "bare", text: "request " + uuid + " failed"},
		{name: "the policy asks", text: "request " + uuid + " failed", policy: mediator.Policy{Prompt: map[secret.Kind]flow.Action{secret.KindUUID: flow.ActRedact}}, action: flow.ActRedact},
		{name: "a secret's name", text: "api_token: " + uuid, action: flow.ActPseudonym},
		{name: "registered", text: "request " + uuid + " failed", registered: []string{uuid}, action: flow.ActPseudonym},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, _ := engine(t, func(cfg *mediator.Config) { cfg.Policy = c.policy }, c.registered...)
			r := session(t, e, nil).Texts(t.Context(), texts(c.text))
			var got flow.Action
			for _, f := range r.Findings {
				got = f.Action
			}
			if got != c.action || strings.Contains(r.Edits[0], uuid) || (c.action != "") != (r.Edits[0] != "") {
				t.Errorf("action %q, want %q; edits %v", got, c.action, r.Edits)
			}
		})
	}
}
