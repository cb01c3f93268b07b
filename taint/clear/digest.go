package clear

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// Key is the secret that calls' digests are keyed by.
type Key [32]byte

// Digest stands for one exact call: its name and its arguments in canonical
// form, without its id. It discloses nothing about them without the key.
type Digest [32]byte

// ErrCall says that a call has no digest: its arguments are not one strict
// JSON object.
var ErrCall = errors.New("the call's arguments are not one strict JSON object")

// Digests makes digests of calls. A person's yes is for the calls of one
// digest.
type Digests struct {
	Key Key
	// Canonical writes a call's arguments in the one form in which they are
	// compared, without those of some names; false where they have none. Two
	// calls that it writes alike are one to a person's yes.
	Canonical func(arguments string, without []string) (canonical []byte, ok bool)
}

// Digest returns the digest of a call.
func (d Digests) Digest(call flow.ToolCall) (Digest, error) { return d.digest("call", call, nil) }

func (d Digests) digest(what string, call flow.ToolCall, without []string) (Digest, error) {
	if d.Canonical == nil {
		return Digest{}, ErrCall
	}
	args, ok := d.Canonical(call.Arguments, without)
	if !ok {
		return Digest{}, ErrCall
	}
	free := slices.Clone(without)
	slices.Sort(free)
	mac := hmac.New(sha256.New, d.Key[:])
	fmt.Fprintf(mac, "margay taint %s 1\x00%q\x00%q\x00", what, call.Name, free)
	mac.Write(args)
	return Digest(mac.Sum(nil)), nil
}

// Grant is a yes for a trajectory: to calls of one tool, made under a label
// that flows to the one it was given for, whose arguments are those of the
// call that was asked about, but for the ones named as free; and to what that call
// does, whichever calls do it.
type Grant struct {
	Trajectory flow.TrajectoryID
	Tool       string
	Label      label.Label
	Free       []string
	Fixed      Digest // of tool and the other arguments
	// Kinds are what else it covers, of whatever tool: calls that do nothing but
	// things of these kinds, as Needs.Kinds says. None: such calls alone.
	Kinds []string
}

// Grant makes a grant for calls like this one.
func (d Digests) Grant(id flow.TrajectoryID, call flow.ToolCall, under label.Label, free []string) (Grant, error) {
	free = slices.Clone(free)
	slices.Sort(free)
	free = slices.Compact(free)
	fixed, err := d.digest("grant", call, free)
	return Grant{Trajectory: id, Tool: call.Name, Label: under, Free: free, Fixed: fixed}, err
}

// Covers reports whether a grant is for a call that is made under a label. The
// caller holds it to its trajectory.
func (g *Grant) Covers(lat label.Lattice, d Digests, call flow.ToolCall, under label.Label) bool {
	if call.Name != g.Tool || !lat.FlowsTo(under, g.Label) {
		return false
	}
	fixed, err := d.digest("grant", call, g.Free)
	return err == nil && hmac.Equal(fixed[:], g.Fixed[:])
}
