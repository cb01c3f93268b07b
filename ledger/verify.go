package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// maxFindings bounds the findings that a report lists.
const maxFindings = 1000

// Finding is one thing that is wrong with an export.
type Finding struct {
	// Entry counts the entries of the export from 1; 0 for a finding about the
	// whole export. Those come last.
	Entry  uint64            `json:"entry,omitempty"`
	Family flow.TrajectoryID `json:"family,omitempty"` // of the entry; empty for none
	Seq    uint64            `json:"number,omitempty"` // of the entry, as it says or as it should be
	Rule   charge.Rule       `json:"rule"`
	Detail string            `json:"detail"` // one line
}

// String returns the finding as one line.
func (f *Finding) String() string {
	where := "the export"
	if f.Entry > 0 {
		where = fmt.Sprintf("entry %d (family %s, number %d)", f.Entry, f.Family, f.Seq)
	}
	return where + ": " + string(f.Rule) + ": " + f.Detail
}

// Report is the result of checking an export.
type Report struct {
	Entries    uint64 // read
	Families   uint64
	Rubrics    int
	Checkpoint *Checkpoint // nil where the export ends before it
	Findings   []Finding   // none if the export is sound
	More       int         // further findings
}

// Check is how an export is verified.
type Check struct {
	// Key is the ledger's public key, from a source other than the export.
	Key ed25519.PublicKey
	// Head is a checkpoint that was kept; nil for none. Without it an older
	// export, which was complete when it was made, passes for a new one.
	Head *Checkpoint
	// Limits returns what a rubric, by its canonical bytes, allows a family. A
	// family must have started within the limits of a rubric that its first
	// entry names. If Limits is nil, a family may start with any limits.
	Limits func(canonical []byte) (charge.Limits, error)
	// Judge is called for each entry of a family until one breaks its chain or
	// sums, with the state before it, which must be neither kept nor changed. An
	// error that wraps a rule is a finding about the entry. Nil: it is not called.
	Judge func(before *charge.State, e *charge.Entry) error
	// Entry is called for each entry that can be read, with its number in the
	// export, its family, and the states of the family before and after it. States
	// are nil once the family's chain or sums are broken. Nil: it is not called.
	Entry func(n uint64, family flow.TrajectoryID, before, after *charge.State, e *charge.Entry)
	// Unsigned skips all signatures, without which the rest proves nothing. It
	// is for measurements.
	Unsigned bool
}

// Verify reads an export and holds every entry to every rule that commits hold
// it to. It needs nothing but the export and the key. Memory is bounded by the
// largest entry and by what is known of the values of one family, not by the
// length of the export. The error is one of reading; what is wrong with the
// export is in the report.
//
// In each family whose chain or sums break, the first such entry is reported;
// the entries after it can't be judged. Each signature is judged by itself.
func Verify(ctx context.Context, r io.Reader, c Check) (*Report, error) {
	if len(c.Key) != ed25519.PublicKeySize {
		return nil, errors.New("ledger: an Ed25519 public key is needed to verify an export")
	}
	v := &verifier{
		check: c, in: bufio.NewReaderSize(r, 1<<16), sum: sha256.New(),
		named: map[charge.Hash]bool{}, roots: newRoots(), known: newRoots(),
		started: map[start]bool{}, asked: map[charge.Hash]bool{}, allowed: map[charge.Hash]charge.Limits{},
	}
	if !c.Unsigned {
		v.sigs = newSignatures(c.Key)
	}
	err := v.run(ctx)
	if v.sigs != nil {
		v.findings = append(v.findings, v.sigs.wait()...)
		v.more += v.sigs.more
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(v.findings, func(a, b Finding) int { return cmp.Compare(a.Entry-1, b.Entry-1) })
	if n := len(v.findings) - maxFindings; n > 0 {
		v.findings, v.more = v.findings[:maxFindings], v.more+n
	}
	v.report.Findings, v.report.More = v.findings, v.more
	return &v.report, nil
}

// verifier reads one export.
type verifier struct {
	check    Check
	in       *bufio.Reader
	sum      hash.Hash
	buf      []byte
	report   Report
	findings []Finding
	more     int
	sigs     *signatures

	stage  int                  // kind of the last record
	head   charge.Head          // of the family that is being read; Seq 0 for none
	state  *charge.State        // of its entries so far; nil once one broke
	last   charge.Head          // of its entries so far
	before charge.Head          // the same as of check.Head
	roots  *roots               // over the heads that were read
	known  *roots               // over the heads as of check.Head
	named  map[charge.Hash]bool // rubrics, and whether they were read
	rub    charge.Hash          // the last rubric

	started  map[start]bool                // what families started with
	starters []starter                     // the first family of each
	asked    map[charge.Hash]bool          // rubrics whose limits matter
	allowed  map[charge.Hash]charge.Limits // what they allow
}

func (v *verifier) found(f *Finding) {
	if len(v.findings) >= maxFindings {
		v.more++
		return
	}
	v.findings = append(v.findings, *f)
}

// whole reports a finding about the whole export.
func (v *verifier) whole(rule charge.Rule, format string, args ...any) {
	v.found(&Finding{Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// breaks reports the entry that is being read, by an error that wraps a rule.
func (v *verifier) breaks(seq uint64, err error) {
	rule := Framing
	_ = errors.As(err, &rule)
	detail := err.Error()
	if _, after, ok := strings.Cut(detail, rule.Error()+": "); ok {
		detail = after
	}
	v.found(&Finding{Entry: v.report.Entries, Family: v.head.Family, Seq: seq, Rule: rule, Detail: detail})
}

// errEnd ends the reading of an export, at its end or where the rest can't be
// read.
var errEnd = errors.New("the rest can't be read")

func (v *verifier) run(ctx context.Context) error {
	err := v.start()
	for n := 0; err == nil; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err = v.record()
	}
	if !errors.Is(err, errEnd) {
		return err
	}
	return nil
}

// cut reports an export that ends early, or the reader's error.
func (v *verifier) cut(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	v.whole(Framing, "it is cut short behind entry %d", v.report.Entries)
	return errEnd
}

func (v *verifier) misplaced(format string, args ...any) error {
	v.whole(Framing, "behind entry %d, %s", v.report.Entries, fmt.Sprintf(format, args...))
	return errEnd
}

// start reads the magic and the key, which precede the records.
func (v *verifier) start() error {
	var b [len(exportMagic) + ed25519.PublicKeySize]byte
	if _, err := io.ReadFull(v.in, b[:]); err != nil {
		return v.cut(err)
	}
	if string(b[:len(exportMagic)]) != exportMagic {
		v.whole(Framing, "it does not start like an export of version 1")
		return errEnd
	}
	if !bytes.Equal(b[len(exportMagic):], v.check.Key) {
		v.whole(Foreign, "it says that it was made with another key than the given one")
	}
	v.sum.Write(b[:])
	return nil
}

// most is the greatest length of a record, by its kind.
var most = [...]uint32{
	recFamily: 2 + charge.MaxName + 8 + 32, recEntry: 8 + charge.MaxEntry, recRubric: MaxRubric,
	recCheckpoint: uint32(checkpointSize), recSeal: ed25519.SignatureSize,
}

// record reads a record, and judges it.
func (v *verifier) record() error {
	var h [5]byte
	if _, err := io.ReadFull(v.in, h[:]); err != nil {
		return v.cut(err)
	}
	kind, n := h[0], binary.BigEndian.Uint32(h[1:])
	if kind == 0 || int(kind) >= len(most) || n > most[kind] {
		return v.misplaced("a record of kind %d has %d bytes, more than the limit", kind, n)
	}
	if uint32(cap(v.buf)) < n {
		v.buf = make([]byte, max(n, 4096))
	}
	b := v.buf[:n]
	if _, err := io.ReadFull(v.in, b); err != nil {
		return v.cut(err)
	}
	was := v.stage
	v.stage = int(kind)
	if int(kind) < was && !(kind == recFamily && was == recEntry) || kind == recEntry && was == 0 ||
		kind == recRubric && was == recFamily || kind >= recCheckpoint && int(kind) == was || kind == recSeal && was != recCheckpoint {
		return v.misplaced("a record of kind %d follows one of kind %d", kind, was)
	}
	if kind != recEntry && v.head.Seq > 0 {
		v.endFamily()
	}
	if kind == recSeal {
		return v.seal(b)
	}
	v.sum.Write(h[:])
	v.sum.Write(b)
	switch kind {
	case recFamily:
		return v.family(b)
	case recEntry:
		v.entry(b)
	case recRubric:
		v.rubric(b)
	case recCheckpoint:
		return v.checkpoint(b)
	}
	return nil
}

func (v *verifier) family(b []byte) error {
	h, ok := parseHead(b)
	if !ok {
		return v.misplaced("a family can't be read")
	}
	if h.Family <= v.head.Family {
		return v.misplaced("family %s is out of order", h.Family)
	}
	v.report.Families++
	v.roots.add(&h)
	v.head, v.state = h, charge.NewState(h.Family)
	v.last, v.before = charge.Head{Family: h.Family}, charge.Head{Family: h.Family}
	return nil
}

func (v *verifier) entry(b []byte) {
	v.report.Entries++
	should := v.last.Seq + 1
	if len(b) < 8+ed25519.SignatureSize {
		v.breaks(should, charge.Encoding.Errorf("it is too short"))
		v.state = nil
		return
	}
	arrival, b := int64(binary.BigEndian.Uint64(b)), b[8:]
	e, err := charge.Decode(b)
	if err != nil {
		v.breaks(should, err)
		v.state, v.last.Seq = nil, should
		return
	}
	for _, r := range e.Rubrics {
		if _, ok := v.named[r]; !ok && len(v.named) < maxRubrics {
			v.named[r] = false
		}
	}
	if e.Seq == 1 {
		v.starts(e)
	}
	h := charge.HashOf(charge.Body(b))
	if v.sigs != nil {
		v.sigs.check(&signed{entry: v.report.Entries, family: e.Family, seq: e.Seq, hash: h, sig: e.Sig})
	}
	var before *charge.State
	if v.state != nil {
		if v.check.Entry != nil {
			before = v.state.Clone()
		}
		v.follow(e, h)
	}
	if v.check.Entry != nil {
		v.check.Entry(v.report.Entries, v.head.Family, before, v.state, e)
	}
	if arrival <= v.last.Arrival {
		v.breaks(e.Seq, Arrival.Errorf("it arrived as number %d, the entry before as %d", arrival, v.last.Arrival))
	}
	v.last.Seq, v.last.Hash, v.last.Arrival = e.Seq, h, arrival
	if v.check.Head != nil && arrival >= 0 && uint64(arrival) <= v.check.Head.Entries {
		v.before = v.last
	}
}

// follow applies an entry to the state of its family.
func (v *verifier) follow(e *charge.Entry, h charge.Hash) {
	var wrong error
	if v.check.Judge != nil {
		wrong = v.check.Judge(v.state, e)
	}
	err := v.state.ApplyDecoded(e, h)
	if err != nil {
		v.state, wrong = nil, err
	}
	if wrong != nil {
		v.breaks(e.Seq, wrong)
	}
}

// endFamily compares a family's last entry with its head.
func (v *verifier) endFamily() {
	switch {
	case v.last.Seq == 0:
		v.whole(Ending, "family %s has no entries, but its head is entry %d", v.head.Family, v.head.Seq)
	case v.last.Seq != v.head.Seq || v.last.Hash != v.head.Hash:
		v.breaks(v.last.Seq, Ending.Errorf("family %s ends with entry %d, but its head is entry %d", v.head.Family, v.last.Seq, v.head.Seq))
	}
	if v.before.Seq > 0 {
		v.known.add(&v.before)
	}
	v.head.Seq = 0
}

func (v *verifier) rubric(b []byte) {
	v.report.Rubrics++
	h := charge.Hash(sha256.Sum256(b))
	if _, named := v.named[h]; named {
		v.named[h] = true
	} else {
		v.whole(Rubrics, "no entry names rubric %s", h)
	}
	if bytes.Compare(h[:], v.rub[:]) <= 0 {
		v.whole(Rubrics, "rubric %s is out of order", h)
	}
	v.rub = h
	if v.asked[h] {
		if l, err := v.check.Limits(b); err == nil {
			v.allowed[h] = l
		}
	}
}

func (v *verifier) checkpoint(b []byte) error {
	for h, there := range v.named {
		if !there {
			v.whole(Rubrics, "rubric %s is missing, but entries name it", h)
		}
	}
	v.lax()
	c, err := decodeCheckpoint(b)
	if err != nil {
		return v.misplaced("a checkpoint can't be read")
	}
	v.report.Checkpoint = c
	if !v.check.Unsigned && c.Verify(v.check.Key) != nil {
		v.whole(charge.Signature, "the checkpoint is not signed by this ledger's key")
	}
	if c.Root != v.roots.root() || c.Families != v.roots.families || c.Entries != v.report.Entries {
		v.whole(Anchor, "the checkpoint is of %d entries of %d families, the export has %d of %d%s", c.Entries, c.Families, v.report.Entries, v.report.Families,
			map[bool]string{true: ", and heads differ"}[c.Root != v.roots.root()])
	}
	v.history(c)
	return nil
}

// history compares the export with a checkpoint that was kept.
func (v *verifier) history(c *Checkpoint) {
	old := v.check.Head
	if old == nil {
		return
	}
	switch {
	case old.Verify(v.check.Key) != nil:
		v.whole(charge.Signature, "the checkpoint that was kept is not signed by this ledger's key")
	case c.Entries < old.Entries:
		v.whole(Older, "it has %d entries, but there were %d at %s", c.Entries, old.Entries, old.At.Format("2006-01-02 15:04:05"))
	case v.known.root() != old.Root || v.known.entries != old.Entries || v.known.families != old.Families:
		v.whole(Forked, "its first %d entries are not those of the checkpoint that was kept", old.Entries)
	}
}

func (v *verifier) seal(b []byte) error {
	if len(b) != ed25519.SignatureSize || !v.check.Unsigned && !ed25519.Verify(v.check.Key, sealedText(v.sum), b) {
		v.whole(Seal, "bytes were changed after the export was made")
	}
	if _, err := v.in.ReadByte(); err == nil {
		v.whole(Framing, "bytes follow its end")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return errEnd
}
