package rubric_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/signed"
)

// day is when tests take place.
var day = time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)

func example(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/booking.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, b []byte) *rubric.Rubric {
	t.Helper()
	r, err := rubric.Parse("booking.yaml", b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// edit changes the example.
func edit(t testing.TB, pairs ...string) []byte {
	t.Helper()
	s := string(example(t))
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			t.Fatalf("the example has no %q", pairs[i])
		}
		s = strings.Replace(s, pairs[i], pairs[i+1], 1)
	}
	return []byte(s)
}

func newKey(seed byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	k := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	pub, _ := k.Public().(ed25519.PublicKey)
	return pub, k
}

func keysOf(k ...ed25519.PublicKey) []ed25519.PublicKey { return k }

// TestCanonical: the bytes say all, are a fixpoint, and don't depend on how
// the YAML was written.
func TestCanonical(t *testing.T) {
	r := parse(t, example(t))
	again, err := rubric.ParseCanonical("x", r.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Canonical(), r.Canonical()) || again.Hash() != r.Hash() {
		t.Error("reading canonical bytes changes them")
	}
	other := parse(t, edit(t, "version: 1\nrubric: example-booking", "rubric:   'example-booking'\n# a comment\nversion: 0x1",
		"budget: 60\n", "budget: 60.0\n"))
	if other.Hash() != r.Hash() {
		t.Errorf("formatting changes the hash:\n%s\n%s", other.Canonical(), r.Canonical())
	}
	if r2 := parse(t, edit(t, "revision: 1", "revision: 2")); r2.Hash() == r.Hash() {
		t.Error("another revision has the same hash")
	}
	for name, b := range map[string]string{
		"space": " " + string(r.Canonical()), "yaml": string(example(t)), "twice": strings.Replace(string(r.Canonical()), `{"coverage"`, `{"version":1,"coverage"`, 1),
	} {
		if _, err := rubric.ParseCanonical(name, []byte(b)); err == nil {
			t.Errorf("%s: bytes that are not canonical were read", name)
		}
	}
}

// What holds where a rubric says nothing of limits but its budget.
func TestDefaultLimits(t *testing.T) {
	want := rubric.Limits{B: 60 * flow.Bit, Lambda: [4]int64{0, 1000, 2000, 4000}}
	got := parse(t, edit(t, "  margin: 0.5\n", "")).Limits()
	want.Cap = [4]flow.Bits{1: got.Cap[1], 2: 4 * flow.Bit, 3: flow.Bit} // a service's follows from what it needs
	if got != want || got.Cap[1] < got.Cap[2] {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRegistryRefuses(t *testing.T) {
	pub, key := newKey(1)
	_, stranger := newKey(2)
	r := parse(t, example(t))
	good := rubric.Sign(r, key)
	old := rubric.Sign(parse(t, edit(t, "expires: 2040-01-01", "expires: 2030-05-31")), key)
	last := rubric.Sign(parse(t, edit(t, "expires: 2040-01-01", "expires: 2030-06-01")), key)
	for _, c := range []struct {
		name string
		b    []byte
		want error
		rule string
	}{
		{"good", good, nil, ""},
		{"last day", last, nil, ""},
		{"unsigned YAML", example(t), signed.ErrUnsigned, "unsigned"},
		{"unsigned bytes", r.Canonical(), signed.ErrUnsigned, "unsigned"},
		{"no signature line", bytes.Replace(good, []byte("signature"), []byte("sig"), 1), signed.ErrUnsigned, "unsigned"},
		{"empty", nil, signed.ErrUnsigned, "unsigned"},
		{"stranger's", rubric.Sign(r, stranger), signed.ErrUnknownKey, "unknown-key"},
		{"altered", bytes.Replace(good, []byte(`"budget":60`), []byte(`"budget":99`), 1), signed.ErrAltered, "altered"},
		{"cut", good[:len(good)-2], signed.ErrAltered, "altered"},
		{"expired", old, rubric.ErrExpired, "expired"},
		{"future format", bytes.Replace(good, []byte("rubric-v1"), []byte("rubric-v2"), 1), rubric.ErrVersion, "unknown-version"},
	} {
		reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{pub}, Now: func() time.Time { return day }})
		_, err := reg.Add(c.name, c.b)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		var bad *rubric.Refusal
		if c.want != nil && (!errors.As(err, &bad) || bad.Rule != c.rule || !strings.Contains(err.Error(), c.rule)) {
			t.Errorf("%s: %v does not name the rule %s", c.name, err, c.rule)
		}
	}
	// A signature over the bytes alone, as the key may make for something else,
	// is none over a rubric.
	bare := fmt.Appendf(nil, "margay-rubric-v1\nkey %s\nsignature %s\n\n%s\n", signed.KeyID(pub), base64.StdEncoding.EncodeToString(ed25519.Sign(key, r.Canonical())), r.Canonical())
	if _, err := rubric.Verify("bare", bare, []ed25519.PublicKey{pub}); !errors.Is(err, signed.ErrAltered) {
		t.Errorf("a signature over something else: %v", err)
	}
	// Every flipped bit is found.
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{pub}, Now: func() time.Time { return day }})
	for i := 0; i < len(good); i += 7 {
		b := bytes.Clone(good)
		b[i] ^= 1 << (i % 8)
		if _, err := reg.Add("flipped", b); err == nil {
			t.Fatalf("a flipped bit in byte %d was not found", i)
		}
	}
}

func TestLoad(t *testing.T) {
	pub, key := newKey(1)
	folder := fstest.MapFS{
		"a.rubric":   {Data: rubric.Sign(parse(t, example(t)), key)},
		"b.rubric":   {Data: []byte("nonsense")},
		"notes.txt":  {Data: []byte("nonsense")},
		"c.rubric/x": {Data: []byte("nonsense")},
	}
	reg, refused, err := rubric.Load(folder, rubric.Config{Keys: []ed25519.PublicKey{pub}, Now: func() time.Time { return day }})
	if err != nil || len(reg.All()) != 1 || len(refused) != 1 || !errors.Is(refused[0], signed.ErrUnsigned) {
		t.Fatal(reg, refused, err)
	}
	if _, err := reg.Get(rubric.Hash{}); !errors.Is(err, rubric.ErrUnknown) {
		t.Error(err)
	}
}

// TestClockGoesBack: what has expired stays so.
func TestClockGoesBack(t *testing.T) {
	pub, key := newKey(1)
	now := day
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{pub}, Now: func() time.Time { return now }})
	r, err := reg.Add("x", rubric.Sign(parse(t, edit(t, "expires: 2040-01-01", "expires: 2030-06-02")), key))
	if err != nil {
		t.Fatal(err)
	}
	q := rubric.Query{Action: "book-seat", Class: flow.SemiTrusted}
	if got, err := reg.Resolve(q); err != nil || got.IsFallback() {
		t.Fatal(got, err)
	}
	now = day.AddDate(0, 0, 2)
	if _, err := reg.Resolve(q); !errors.Is(err, rubric.ErrExpired) {
		t.Errorf("resolved by an expired rubric: %v", err)
	}
	now = day
	if _, err := reg.Get(r.Hash()); !errors.Is(err, rubric.ErrExpired) {
		t.Errorf("the clock went back, and the rubric holds again: %v", err)
	}
	// A later revision takes its place.
	if _, err := reg.Add("y", rubric.Sign(parse(t, edit(t, "revision: 1", "revision: 2")), key)); err != nil {
		t.Fatal(err)
	}
	if got, err := reg.Resolve(q); err != nil || got.IsFallback() {
		t.Error(got, err)
	}
}
