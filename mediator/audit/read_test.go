package audit

import (
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
)

func TestFirstID(t *testing.T) {
	now := time.Now()
	id := flow.NewID()
	if FirstID(now.Add(-time.Second)) >= id || FirstID(now.Add(time.Second)) <= id || FirstID(time.Time{}) != "" {
		t.Error("an id is on the wrong side of its time")
	}
}
