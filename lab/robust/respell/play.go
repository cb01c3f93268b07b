package respell

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
)

// Verifier decides about releases. It keeps what families released.
type Verifier interface {
	// Release decides about a candidate.
	Release(ctx context.Context, c *declassify.Candidate) (Outcome, error)
	// Price is what a whole value of a field costs.
	Price(t *schema.Tool, f world.Field) (flow.Bits, error)
}

// actions are those whose library rubric admits the whole value of each field at
// a required service.
var actions = map[world.Field]string{
	world.LegalName: "travel-booking", world.DOB: "travel-booking", world.Passport: "travel-booking", world.PaymentToken: "e-commerce",
	world.Address: "e-commerce", world.Diagnosis: "healthcare-intake", world.Phone: "customer-support", world.Email: "customer-support",
	world.AccountID: "customer-support", world.NationalID: "financial-onboarding", world.Salary: "financial-onboarding", world.Location: "flight-search",
	world.APIKey: "software-operations", world.Password: "software-operations", world.PrivateKey: "software-operations",
}

// others are fields for arguments of another field.
var others = []world.Field{world.Location, world.LegalName, world.AccountID, world.DOB, world.Diagnosis}

// carriers are what stands around a spelling.
var carriers = [][2]string{
	{"", ""},
	{"see also ", " for the rest"},
	{"", ""},
	{"ok, it was ", ", as agreed before."},
	{"", ""},
	{"as written above: ", "; thanks again"},
	{"", ""},
	{"{\"ref\": \"", "\"}"},
}

// plainPaths are names of arguments of no field.
var plainPaths = []string{"tag", "topic", "label_text", "ref"}

// Sinks are those that a spelling goes to.
var Sinks = []struct {
	Name  string
	Class flow.Class
}{{"curious", flow.SemiTrusted}, {"adversarial", flow.Adversarial}}

// Played is one case at one sink, in one argument.
type Played struct {
	*Case
	Sink    string
	Arg     Arg
	Alone   bool
	Seen    Cause // where the family had released the value
	Control Cause // where it had released another
}

// player plays cases against a verifier.
type player struct {
	v    Verifier
	seed uint64
}

// all plays every case in every cell.
func (p *player) all(ctx context.Context, cases []Case, progress func(string)) ([]Played, error) {
	var out []Played
	for i := range cases {
		for s := range Sinks {
			for k, arg := range Args {
				// Each cell has another half of the cases in sentences.
				around := carriers[(i+s+k)%len(carriers)]
				out = append(out, Played{Case: &cases[i], Sink: Sinks[s].Name, Arg: arg, Alone: around[0] == ""})
			}
		}
	}
	workers := runtime.NumCPU()
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w; i < len(out) && errs[w] == nil; i += workers {
				if w == 0 && i%600 == 0 {
					progress(fmt.Sprintf("respellings %d of %d", i, len(out)))
				}
				errs[w] = p.one(ctx, &out[i])
			}
		}()
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

func (p *player) one(ctx context.Context, x *Played) (err error) {
	if x.Seen, err = p.family(ctx, x, x.Value); err == nil {
		x.Control, err = p.family(ctx, x, x.Decoy)
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", x.Field, x.Form, err)
	}
	return nil
}

// family is one family that releases a value, and then the spelling.
func (p *player) family(ctx context.Context, x *Played, released string) (Cause, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%t\x00%s\x00%s\x00%t", p.seed, x.index, x.Negative, x.Sink, x.Arg, released == x.Value))
	id := flow.TrajectoryID("0" + strings.ToUpper(hex.EncodeToString(sum[:]))[:25])
	action := actions[x.Field]
	first := declassify.Candidate{
		Trajectory: id, Decision: "step-0",
		Tool: schema.Tool{
			Name: "submit", Action: action, Sink: "service", Class: flow.RequiredService, Channel: flow.ChannelTool,
			Args: []schema.Arg{{Path: "value", Field: string(x.Field)}},
		},
		Parts: []declassify.Part{{Path: "value", Text: released}},
	}
	o, err := p.v.Release(ctx, &first)
	if err != nil {
		return notSeeded, err
	}
	if o.Parts == nil || o.Parts[0] != released {
		return notSeeded, nil
	}
	second, at := x.second(id, action)
	o, err = p.v.Release(ctx, second)
	if err != nil {
		return notSeeded, err
	}
	price, err := p.v.Price(&second.Tool, x.Field)
	if err != nil {
		return notSeeded, err
	}
	return x.judge(&o, 0, at, x.Arg == Typed, price), nil
}

// second is the release of the spelling, and where in its text it is.
func (x *Played) second(id flow.TrajectoryID, action string) (*declassify.Candidate, int) {
	var s, k int
	for i := range Sinks {
		if Sinks[i].Name == x.Sink {
			s = i
		}
	}
	for i := range Args {
		if Args[i] == x.Arg {
			k = i
		}
	}
	around := carriers[(x.index+s+k)%len(carriers)]
	arg := schema.Arg{Path: plainPaths[x.index%len(plainPaths)]}
	switch x.Arg {
	case Typed:
		arg = schema.Arg{Path: "value", Field: string(others[x.index%len(others)])}
		if arg.Field == string(x.Field) {
			arg.Field = string(others[(x.index+1)%len(others)])
		}
	case Free:
		arg = schema.Arg{Path: "query", Free: true}
	}
	return &declassify.Candidate{
		Trajectory: id, Decision: "step-1",
		Tool: schema.Tool{
			Name: "send", Action: action, Sink: "listener", Class: Sinks[s].Class, Channel: flow.ChannelTool, Args: []schema.Arg{arg},
		},
		Parts: []declassify.Part{{Path: arg.Path, Text: around[0] + x.Spelled + around[1]}},
	}, len(around[0])
}
