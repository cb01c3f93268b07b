package mediator_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/mediator"
)

// vals keeps values in memory, or fails.
type vals struct {
	err  error
	puts int
	kept map[string][]byte
	by   [32]byte
}

func (v *vals) PutValues(_ context.Context, owner [32]byte, values map[string][]byte, _ time.Time) error {
	if v.err != nil {
		return v.err
	}
	v.puts++
	v.by = owner
	for name, sealed := range values {
		v.kept[name] = sealed
	}
	return nil
}

func (v *vals) Value(context.Context, [32]byte, string) ([]byte, error) { return nil, nil }

// What a pseudonym stands for is sealed before the pseudonym goes anywhere,
// once, and bound to its trajectory and caller.
func TestValuesAreSealed(t *testing.T) {
	const value = "k4Qz7mfp9Lw2XrT8vB1n"
	v := &vals{err: errors.New("disk full"), kept: map[string][]byte{}}
	e, _ := engine(t, func(c *mediator.Config) { c.Values = v }, value)
	ask := func() mediator.Result {
		return session(t, e, nil).Texts(context.Background(), texts("the key is "+value))
	}
	if res := ask(); !res.Denied() {
		t.Fatal("a value that could not be kept was replaced and forwarded")
	}
	v.err = nil
	res := ask()
	if res.Denied() || len(v.kept) != 1 {
		t.Fatalf("kept %d values: %+v", len(v.kept), res.Decision)
	}
	for name, sealed := range v.kept {
		if !strings.Contains(res.Edits[0], name) || strings.Contains(string(sealed), value[:6]) {
			t.Errorf("%s", res.Edits[0])
		}
		if raw, err := keys.OpenValue(sealed, hex.EncodeToString(v.by[:])+"/"+name); err != nil || string(raw) != value {
			t.Error("it does not open in its place")
		}
		if _, err := keys.OpenValue(sealed, "elsewhere/"+name); err == nil {
			t.Error("it opens elsewhere")
		}
	}
	ask()
	if v.puts != 1 {
		t.Errorf("kept %d times", v.puts)
	}
	other := *v
	session(t, e, &mediator.SessionRequest{Caller: "somebody else", Trajectory: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}).Texts(context.Background(), texts("the key is "+value))
	if v.by == other.by {
		t.Error("two callers of one trajectory's name share their values")
	}
}
