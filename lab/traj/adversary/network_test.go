package adversary

import (
	"math"
	"slices"
	"testing"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/traj/world"
)

// A classifier of what the network reads learns of people whom it has not seen, and
// a text without spans tells it nothing.
func TestTagged(t *testing.T) {
	m, err := tagger.Default()
	if err != nil {
		t.Fatal(err)
	}
	l := TrainTagged(world.Dev(), people, 210, 211, 600, m)
	if c := l.Cues(View{"The meeting is at noon.", "[REDACTED]"}); c != nil {
		t.Errorf("a harmless text has cues: %+v", c)
	}
	b := NewBayes(people)
	blind, reads := [3]float64{}, [3]float64{} // log2 of what the truth has
	for _, task := range world.Dev().Generate(212, 100).Tasks {
		for of, cues := range map[*[3]float64]*Cues{&blind: nil, &reads: l.Cues(l.texts(task))} {
			post, chapter := b.Infer(nil, cues), 0.0
			for i, w := range post.ill {
				if people.Ills[i].Chapter == people.Ills[task.Person.Ill].Chapter {
					chapter += w
				}
			}
			for k, share := range []float64{post.region[task.Person.Region], post.decade[task.Person.Decade], chapter} {
				of[k] += math.Log2(share) / 100
			}
		}
	}
	for k, least := range []float64{.2, .1, .05} {
		if reads[k] < blind[k]+least {
			t.Errorf("class %d: the truth has 2^%.3f after reading, 2^%.3f before", k, reads[k], blind[k])
		}
	}
}

// A pseudonym tells its field, and its letters nothing.
func TestTaggedReadsNoPseudonym(t *testing.T) {
	m, err := tagger.Default()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{model: m}
	read := func(pseudonym string) []string {
		return r.features("My diagnosis is " + pseudonym + " and I was born on 3 May 1971.")
	}
	first := read("margay-diagnosis-3fa94cbd0e12")
	if len(first) == 0 || !slices.Equal(first, read("margay-diagnosis-badcafe00fed")) || slices.Equal(first, read("migraine")) {
		t.Errorf("%v of one pseudonym, %v of another, %v of the value", first, read("margay-diagnosis-badcafe00fed"), read("migraine"))
	}
	x := people.Person(214, 1)
	part := x.Part("b", "", true, world.FromUser, "I have {diagnosis}. Call {phone}!")
	if got := pseudonymous(&part); got != "I have margay-diagnosis. Call margay-phone!" {
		t.Errorf("%q", got)
	}
}

// What typed arguments tell is kept apart from what texts tell.
func TestTypedFacts(t *testing.T) {
	x := people.Person(213, 1)
	var s Seen
	typed, free := x.Part("a", world.DOB, false, world.FromUser, "{dob}"), x.Part("b", "", true, world.FromUser, "call {phone}")
	s.Add(&typed, typed.Text)
	s.Add(&free, free.Text)
	if len(s.Typed) == 0 || len(s.Facts) <= len(s.Typed) || len(s.Texts) != 1 {
		t.Errorf("%d typed facts of %d, %d texts", len(s.Typed), len(s.Facts), len(s.Texts))
	}
	var both Seen
	both.Join(&s)
	if !slices.Equal(both.Typed, s.Typed) {
		t.Errorf("joined: %v", both.Typed)
	}
}
