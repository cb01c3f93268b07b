//go:build unix

package app

import (
	"context"
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// tripLimits is a rubric with the limits of the releases below.
const tripLimits = `
version: 1
rubric: trip
revision: 1
title: A trip (for tests)
expires: 2040-01-01
signature: {actions: [book-seat]}
fields:
  dob: {population: {numbers: [1930, 2009, 1]}, levels: [{name: decade, by: band 10, bits: 3}, {name: half, by: band 40, bits: 1}]}
  email: {population: {uniform: 10^9}}
coverage: [{id: date, field: dob, text: '\b\d{4}-\d{2}-\d{2}\b'}, {id: mail, field: email, entity: email}]
necessity: {dob: {required-service: required, semi-trusted: useful}}
operators: {dob: {required-service: [half], semi-trusted: [half]}, email: {required-service: [pseudonym], semi-trusted: [pseudonym]}}
utility: {required-service: {dob: half}}
limits: {budget: 40, caps: {required-service: 20, semi-trusted: 4, adversarial: 1}}
samples: [{text: "1985-03-02", find: {dob: 1985-03-02}}, {text: "an aisle seat", find: {}}]
`

// release commits releases of a trajectory to the ledger in $STATE: a date of
// birth by the year to an airline and to a curious broker in turn, one bit
// more each time: release FAMILY TRAJECTORY N [BUDGET [forged]]. Forged ones show
// the date itself, at no cost.
func release(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	c := config.Default()
	c.StateDir = ts.Getenv("STATE")
	st, err := state.Open(ctx, c)
	ts.Check(err)
	defer st.Close()
	b, err := st.Book(ctx, c)
	ts.Check(err)
	r, err := rubric.Parse("trip.yaml", []byte(tripLimits))
	ts.Check(err)
	h, err := b.KeepRubric(ctx, r.Canonical())
	ts.Check(err)
	budget := 40
	if len(args) > 3 {
		budget, err = strconv.Atoi(args[3])
		ts.Check(err)
	}
	for i := range n {
		s, err := b.Head(ctx, flow.TrajectoryID(args[0]))
		ts.Check(err)
		e := &charge.Entry{
			Trajectory: flow.TrajectoryID(args[1]), Channel: flow.ChannelTool, Sink: "airline", Class: flow.RequiredService,
			Rubrics: []charge.Hash{h}, Variant: charge.Hash{1}, Outcome: flow.Rewrite, Models: []charge.Model{{Name: "rules", Version: "1"}},
			Limits: charge.Limits{B: flow.Bits(budget) * flow.Bit, Cap: [4]flow.Bits{0, 20 * flow.Bit, 4 * flow.Bit, flow.Bit}, Lambda: [4]int64{0, 1000, 2000, 4000}},
		}
		dob := charge.Atom{Field: "dob", Op: charge.Generalize, Level: 2, Value: charge.Hash{1}, Cost: flow.Bit, After: s.After(charge.Hash{1})}
		mail := charge.Atom{Field: "email", Op: charge.Substitute, Template: "pseudonym", Value: charge.Hash{2}, After: s.After(charge.Hash{2})}
		dob.After[1] += flow.Bit
		if i%2 == 1 {
			e.Sink, e.Class = "broker", flow.SemiTrusted
			dob.After[2] += flow.Bit
		}
		if len(args) > 4 {
			dob.Op, dob.Level, dob.Cost, dob.After = charge.Identity, 0, 0, s.After(dob.Value)
		}
		e.Atoms = []charge.Atom{dob, mail}
		ts.Check(s.Next(e))
		_, err = b.Commit(ctx, e)
		ts.Check(err)
	}
}

// flip flips a bit of a file: flip FILE BYTE, from the end where it is
// negative.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	ts.Check(os.WriteFile(path, b, 0o600))
}
