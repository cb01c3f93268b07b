package rubric_test

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// What a rubric does not mention is unnecessary, and is not shown: redact and
// drop alone are admitted, as they are for all fields and classes.
func TestUnmentionedIsNotShown(t *testing.T) {
	r := rubric.Combine(parse(t, example(t)))
	for field, class := range map[string]flow.Class{"payment-token": flow.SemiTrusted, "dob": flow.Adversarial, "of-no-rubric": flow.RequiredService} {
		if n := r.Necessity(field, class); n != rubric.Unnecessary {
			t.Errorf("%s is %s", field, n)
		}
		if ops := r.Operators(field, class); len(ops) != 2 {
			t.Errorf("%s: %v", field, ops)
		}
	}
	for _, field := range r.Fields() {
		for _, class := range classes {
			if ops := r.Operators(field, class); len(ops) < 2 || ops[0].Kind != rubric.Drop || ops[1].Kind != rubric.Redact {
				t.Errorf("%s: %v", field, ops)
			}
		}
	}
	// A rubric that shows as it is what nobody needs is none.
	bare := edit(t, "  card-brand: {required-service: [pseudonym]}", "  card-brand: {required-service: [identity]}")
	if _, err := rubric.Parse("booking.yaml", bare); err == nil || !strings.Contains(err.Error(), "unnecessary") {
		t.Errorf("what nobody needs may be shown as it is: %v", err)
	}
}
