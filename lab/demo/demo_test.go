package demo

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func imported(r *repository) func(string, []byte) []Credential {
	return func(string, []byte) []Credential {
		var out []Credential
		for _, n := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "STRIPE_SECRET_KEY", "DATABASE_PASSWORD"} {
			out = append(out, Credential{n, secret.KindAPIKey, r.value(n)})
		}
		return out
	}
}

func TestPlay(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		repo, err := newRepository(seed)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Play(t.Context(), Options{Seed: seed, Import: imported(repo), Pace: 1})
		if err != nil {
			t.Fatal(err)
		}
		// Without Margay every secret gets out somewhere, in every way that
		// the story tells.
		all := map[string]bool{}
		for _, a := range r.Without.Agents {
			for _, n := range slices.Concat(a.Model, a.Next, a.Others) {
				all[n] = true
			}
		}
		if len(all) != len(repo.planted) {
			t.Errorf("seed %d: without Margay %d of %d leak", seed, len(all), len(repo.planted))
		}
		if a := r.Without.Agents[2]; !slices.Contains(a.Next, remembered) {
			t.Errorf("seed %d: the coder's base64 was not seen: %v", seed, a.Next)
		}
		if a := r.Without.Agents[3]; !slices.Equal(a.Others, []string{"GITHUB_TOKEN"}) {
			t.Errorf("seed %d: the tool call leaked %v", seed, a.Others)
		}
		if r.With.Leaks != 0 {
			t.Errorf("seed %d: with Margay %+v", seed, r.With.Agents)
		}
		if !r.Without.Done || !r.With.Done {
			t.Errorf("seed %d: the task was done without %v, with %v", seed, r.Without.Done, r.With.Done)
		}
		if r.With.Refused != 1 || r.With.Pseudonyms < 5 || len(r.With.Findings) == 0 {
			t.Errorf("seed %d: refused %d, pseudonyms %d, findings %v", seed, r.With.Refused, r.With.Pseudonyms, r.With.Findings)
		}
	}
}

// The oracle sees a value in every form that it claims to know, at every
// place of a longer text.
func TestOracle(t *testing.T) {
	r, err := newRepository(7)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.planted {
		first := strings.Split(p.value, "\n")
		v := first[len(first)/2]
		for name, text := range map[string]string{
			"plain": v, "hex": hex.EncodeToString([]byte(v)), "reversed": reversed(v), "rot13": rot13(v), "spaced": strings.Join(strings.Split(v, ""), " "),
			"zero width": strings.Join(strings.Split(v, ""), "\u200b"),
		} {
			if !slices.Contains(r.in("a "+text+" b"), p.name) {
				t.Errorf("%s is not seen in %s", p.name, name)
			}
		}
		for shift := range 3 {
			for tail := range 3 {
				text := strings.Repeat("x", shift) + v + strings.Repeat("y", tail)
				if !slices.Contains(r.in(base64.StdEncoding.EncodeToString([]byte(text))), p.name) {
					t.Errorf("%s is not seen in base64, shifted by %d with %d behind", p.name, shift, tail)
				}
			}
		}
	}
	if got := r.in("nothing of the kind, margay-api-key-abcdefghijklmn"); len(got) != 0 {
		t.Errorf("seen where it is not: %v", got)
	}
}

// No value is in the source.
func TestNothingPlantedInSource(t *testing.T) {
	r, err := newRepository(1)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.in(string(b)); len(got) > 0 {
			t.Errorf("%s holds %v", f.Name(), got)
		}
	}
}
