// Package report makes one file about what agents did, for somebody who was
// not there: decisions with their reasons, what people answered, what was
// removed, the labels of what the model was shown, and what was disclosed in
// bits, with the ledger's own entries. The file is signed with the ledger's
// key and carries the export from which its ledger part is derived, so that
// anybody can check it offline. The format is specified in
// docs/format/report.md.
//
// A report holds no value of a secret: every text that others wrote is masked
// on its way in, and a family of the ledger in which a text would be masked is
// left out, since its entries can't be changed. A page runs nothing and loads
// nothing.
package report

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/view"
)

// Format names what Encode writes, and Page the way in which Render shows it:
// both are in the document, so that another version knows what it can't check.
const (
	Format = "margay-report/1"
	Page   = 2
)

// Bounds of one report. LeftOut counts what exceeds them.
const (
	maxTrajectories = 200
	maxDecisions    = 10_000 // of all trajectories
	maxQuestions    = 1_000
	maxRegions      = 500     // of a trajectory
	maxSteps        = 100     // of a trajectory that regions are put together from
	maxReasons      = 50      // of a decision
	maxText         = 2048    // bytes of one text
	maxTexts        = 8 << 20 // bytes of all texts, after which no other is added
	maxReleases     = 10_000
	maxAtoms        = 20_000   // that are listed, of all entries
	maxExport       = 16 << 20 // bytes of entries and rubrics
	pageSize        = 1000
)

// Document is a report. Texts are masked.
type Document struct {
	Format string `json:"format"`
	Page   int    `json:"page"`
	// Made is when. Besides it, Export, Ledger.Head and Signature, which hold
	// or follow from a time, a report of the same data is the same.
	Made         time.Time    `json:"made"`
	Version      string       `json:"version"` // of the program
	Scope        Scope        `json:"scope"`
	Totals       []Total      `json:"totals"`
	Found        []Found      `json:"found"` // what was found and what was done, in all decisions
	Trajectories []Trajectory `json:"trajectories"`
	Ledger       Ledger       `json:"ledger"`
	LeftOut      []string     `json:"left_out"`
	Key          string       `json:"key"`    // the ledger's public one, as text
	Export       []byte       `json:"export"` // of the families in Ledger
	Signature    []byte       `json:"signature,omitempty"`
}

// Scope is what a report was asked about: one trajectory, or all since a time.
type Scope struct {
	Trajectory flow.TrajectoryID `json:"trajectory,omitempty"`
	Since      time.Time         `json:"since,omitzero"`
	// Whole: the export is of the whole ledger, so that it can be held
	// against a head that was kept.
	Whole bool `json:"whole_ledger"`
}

// Total is how many decisions about a verb came out in which way.
type Total struct {
	Verb    flow.Verb    `json:"verb"`
	Outcome flow.Outcome `json:"outcome"`
	N       int          `json:"n"`
}

// Found is how often something of a kind was found and treated alike.
type Found struct {
	Kind   string `json:"kind"`
	Source string `json:"source,omitempty"` // registered, discovered, …
	Action string `json:"action"`
	N      int    `json:"n"`
}

// Trajectory is what is known of one.
type Trajectory struct {
	ID        flow.TrajectoryID `json:"id"`
	First     time.Time         `json:"first,omitzero"`
	Last      time.Time         `json:"last,omitzero"`
	Answers   int               `json:"answers"` // of models
	Decisions []Decision        `json:"decisions"`
	Questions []Question        `json:"questions"`
	// Context is the label that the latest answer followed from, and Regions
	// what its model was shown.
	Context string   `json:"context,omitempty"`
	Regions []Region `json:"regions"`
}

// Decision is one, with its reasons.
type Decision struct {
	ID      string       `json:"id"`
	At      time.Time    `json:"at"`
	Verb    flow.Verb    `json:"verb"`
	Sink    string       `json:"sink"`
	Channel string       `json:"channel,omitempty"`
	Trust   string       `json:"trust,omitempty"`
	Tool    string       `json:"tool,omitempty"`
	Outcome flow.Outcome `json:"outcome"`
	Count   int          `json:"count,omitempty"` // of refusals alike that it stands for; 0 for one
	Reasons []Reason     `json:"reasons,omitempty"`
	Found   []Found      `json:"found,omitempty"`
}

// Reason is one of a decision's.
type Reason struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Action string `json:"action,omitempty"`
}

// Question is a call that a person was asked about. It has no arguments: they may
// hold private data.
type Question struct {
	ID       string    `json:"id"`
	Asked    time.Time `json:"asked"`
	Tool     string    `json:"tool"`
	Sink     string    `json:"sink,omitempty"`
	Label    string    `json:"label,omitempty"` // that the call was made under
	Needs    string    `json:"needs,omitempty"` // that its policy admits
	Faults   []Fault   `json:"faults,omitempty"`
	Answer   string    `json:"answer,omitempty"` // empty: none
	By       string    `json:"by,omitempty"`
	Answered time.Time `json:"answered,omitzero"`
}

// Fault is a region that forced a question.
type Fault struct {
	Source string `json:"source"`
	Field  string `json:"field,omitempty"`
	Label  string `json:"label"`
}

// Region is a part of what a model was shown.
type Region struct {
	Message  int    `json:"message"`
	Role     string `json:"role,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Field    string `json:"field,omitempty"`
	Label    string `json:"label"`
	Bottom   bool   `json:"bottom,omitempty"` // trusted and public
	Bytes    int    `json:"bytes"`
	Withheld bool   `json:"withheld,omitempty"` // the latest step was made without it
}

// Ledger is derived from the export and the key alone, so that it can be derived
// again. Amounts are in millionths of a bit.
type Ledger struct {
	Head     string   `json:"head"`     // the export's checkpoint
	Findings []string `json:"findings"` // of the export's verification; none: sound
	Families []Family `json:"families"`
	Hidden   int      `json:"hidden"` // entries that are in the export and not listed
}

// Family is a family of trajectories, which have one budget.
type Family struct {
	ID      flow.TrajectoryID `json:"id"`
	Entries uint64            `json:"entries"`
	Total   flow.Bits         `json:"total"`
	Budget  flow.Bits         `json:"budget"`
	Classes []Class           `json:"classes"`
	Sinks   []SinkBudget      `json:"sinks"`
	Fields  []FieldBudget     `json:"fields"`
	Listed  []Entry           `json:"listed"`
}

// Class is what sinks of a class or worse learnt.
type Class struct {
	Class  string    `json:"class"`
	Learnt flow.Bits `json:"learnt"`
	Cap    flow.Bits `json:"cap"`
}

// SinkBudget is what releases to one sink were charged.
type SinkBudget struct {
	Channel  flow.Channel `json:"channel"`
	Sink     string       `json:"sink"`
	Class    string       `json:"class"`
	Releases int          `json:"releases"`
	Charge   flow.Bits    `json:"charge"`
}

// FieldBudget is what was charged for one field. A value that was released as
// several fields counts under the first that disclosed more of it.
type FieldBudget struct {
	Field  string    `json:"field"`
	Values int       `json:"values"`
	Charge flow.Bits `json:"charge"`
}

// Entry is one of the ledger's.
type Entry struct {
	Number     uint64            `json:"number"`
	Hash       string            `json:"hash"`
	Trajectory flow.TrajectoryID `json:"trajectory"`
	At         time.Time         `json:"at"`
	Channel    flow.Channel      `json:"channel"`
	Sink       string            `json:"sink"`
	Class      string            `json:"class"`
	Outcome    flow.Outcome      `json:"outcome"`
	Decision   string            `json:"decision,omitempty"`
	Answer     string            `json:"answer,omitempty"`
	Atoms      []Atom            `json:"atoms"`
	Charge     flow.Bits         `json:"charge"`
	Total      flow.Bits         `json:"total"`
	// Verified: its signature, its place in the chain and its charge hold,
	// and those of all before it in its family.
	Verified bool   `json:"verified"`
	place    uint64 // in the export
}

// Atom is one part of a release.
type Atom struct {
	Field    string    `json:"field"`
	Operator string    `json:"operator"`
	Cost     flow.Bits `json:"cost"`
}

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// page shows a document. Its output must stay the same: a change of it needs
// another number in Page.
var page = template.Must(template.New("page").Funcs(view.Functions).Funcs(template.FuncMap{"bits": flow.Bits.String}).Parse(pageText))

// Render returns the document as a page of one file. It runs nothing, loads
// nothing, and carries the document, from which it can be made again.
func (d *Document) Render() ([]byte, error) {
	data, err := encode(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src " + styleHash(pageStyle) + "; base-uri 'none'; form-action 'none'\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>Margay: what was done</title>\n<style>")
	b.WriteString(pageStyle)
	b.WriteString("</style>\n</head>\n<body>\n")
	if err := page.Execute(&b, d); err != nil {
		return nil, err
	}
	b.WriteString(dataBegin)
	b.Write(data)
	b.WriteString(dataEnd)
	return fits(b.Bytes(), nil)
}
