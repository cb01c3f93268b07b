package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
)

func bounded(t *testing.T, family flow.TrajectoryID) *Registry {
	t.Helper()
	p, err := taint.New(taint.Config{Scheme: observe.FourPoint()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Store: memory.New(), Labels: NewLabelBook(p, 0), Keys: secret.NewKeys(), Family: family})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// counted is what all trajectories that are found hold, by their own accounts.
func counted(r *Registry) (n, found int) {
	for el := r.traj.used.Front(); el != nil; el = el.Next() {
		found++
		n += el.Value.(*entry).t.held.own
	}
	return n, found
}

// However many conversations there are and however long, what is held of them
// is within a bound; whoever was forgotten starts anew, with nothing known.
func TestTrajectoriesAreBoundedInBytes(t *testing.T) {
	r := bounded(t, "")
	ctx := context.Background()
	open := func(i int) *Session {
		s, err := r.Open(ctx, &Request{Caller: "c", Messages: [][]byte{fmt.Append(nil, "conversation ", i)}, Roles: []flow.Role{flow.RoleUser}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const conversations, size = 137, 4 << 20
	filler := strings.Repeat("x", 900)
	long := strings.Repeat(filler, 16)
	var first *Session
	for i := range conversations {
		s := open(i)
		if i == 0 {
			first = s
		}
		s.Labels.Rise(r.cfg.Labels.Policy.Scheme().Lattice, label.Label{})
		mem := s.Labels.Memory(r.cfg.Labels)
		for k := range size / len(filler) {
			text := fmt.Sprint(i, " ", k, filler)
			mem.Remember(taint.Turn{Role: flow.RoleAssistant, Text: text}, label.Label{})
			if k%16 == 0 {
				s.Remember(r.Keyed("t", []byte(text)), Mediated{Text: long, Changed: true})
			}
			if held := r.traj.bytes.Load(); held > DefaultTrajectoryBytes {
				t.Fatalf("%d bytes are held in conversation %d", held, i)
			}
		}
	}
	n, found := counted(r)
	if held := r.traj.bytes.Load(); int(held) != n || n < DefaultTrajectoryBytes/2 || found >= conversations {
		t.Errorf("%d bytes are held, %d by the accounts of %d trajectories", held, n, found)
	}
	if s := open(conversations - 1); !s.Labels.Known() {
		t.Error("the latest conversation is not known")
	}
	again := open(0)
	if again.Trajectory == first.Trajectory || again.Labels.Known() {
		t.Error("the first conversation is still there, or is said to be known")
	}
	first.Remember([32]byte{1}, Mediated{Text: filler}) // by a request that is still under way
	if n, _ := counted(r); int(r.traj.bytes.Load()) != n {
		t.Errorf("%d bytes are held, %d by the accounts", r.traj.bytes.Load(), n)
	}
}

// The family's trajectory, which everything of a run shares, is not forgotten
// for others that are larger.
func TestTheFamilyIsKept(t *testing.T) {
	const family = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	r := bounded(t, family)
	r.traj.maxBytes = 1 << 20
	open := func(id string) *Session {
		s, err := r.Open(context.Background(), &Request{Caller: "c", Trajectory: id})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := open("").Trajectory
	for i := range 20 {
		s := open(fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ69G5F%02d", i))
		for k := range 4 {
			s.Remember([32]byte{byte(k)}, Mediated{Text: strings.Repeat("y", 1<<16)})
		}
	}
	if _, found := counted(r); open("").Trajectory != first || found > 6 {
		t.Errorf("the family's trajectory was forgotten, or %d are there", found)
	}
}
