package schema

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type inner struct {
	N  int       `json:"n"`
	At time.Time `json:"at,omitzero"`
}

type outer struct {
	inner
	Name   string             `json:"name"`
	Took   time.Duration      `json:"took,omitempty"`
	Next   *outer             `json:"next"`
	Shares map[string]float64 `json:"shares"`
	Hidden bool               `json:"-"`
	Plain  []inner
	own    int
}

// A schema has the fields that encoding/json writes, and requires those that it
// always does.
func TestRef(t *testing.T) {
	s := New(Description{"outer": "the outer", "outer.Name": "its name", "outer.Next": "the next"})
	_ = outer{own: 1}
	ref, err := json.Marshal(s.Ref(reflect.TypeFor[outer]()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s.Of)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"inner":{"properties":{"at":{"format":"date-time","type":"string"},"n":{"type":"integer"}},"required":["n"],"type":"object"},` +
		`"outer":{"description":"the outer","properties":{"Plain":{"items":{"$ref":"#/components/schemas/inner"},"type":"array"},"at":{"format":"date-time","type":"string"},"n":{"type":"integer"},` +
		`"name":{"description":"its name","type":"string"},"next":{"allOf":[{"$ref":"#/components/schemas/outer"}],"description":"the next"},"shares":{"additionalProperties":{"type":"number"},"type":"object"},` +
		`"took":{"description":"nanoseconds","type":"integer"}},"required":["n","name","next","shares","Plain"],"type":"object"}}`
	if string(got) != want || string(ref) != `{"$ref":"#/components/schemas/outer"}` {
		t.Errorf("%s\n%s\nwant %s", ref, got, want)
	}
}
