package differ

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/margaydev/margay/stream"
	"github.com/margaydev/margay/stream/cut"
)

// Text is a text that the reference has read. It is safe for concurrent use.
type Text struct {
	pair  *Pair
	text  []byte
	marks []stream.Finding
	want  *reading
}

// Read has the reference read a text whole. Marks are what another detector finds in
// it, in the order of their starts; see the product's Scanner.Mark. The text must not
// change.
func (p *Pair) Read(text []byte, marks ...stream.Finding) *Text {
	return &Text{pair: p, text: text, marks: marks, want: drive(p.reference.NewScanner(), text, marks, nil, nil)}
}

// Len returns the bytes of the text.
func (t *Text) Len() int { return len(t.text) }

// Found returns what the reference found.
func (t *Text) Found() []stream.Finding { return t.want.findings }

// Under has the product read the text cut at these offsets, which must grow, and
// compares it with the reference. Nil means that they agree.
func (t *Text) Under(cuts []int) *Difference {
	return t.want.compare(drive(t.pair.product.NewScanner(), t.text, t.marks, cuts, nil), cuts)
}

// Holds has both engines read the text cut at these offsets, and counts in h what each
// holds after each write. It compares as Under does, and the reference with itself:
// What is then "reference".
func (t *Text) Holds(cuts []int, h *Holds) *Difference {
	var ours, theirs []int
	r := drive(t.pair.reference.NewScanner(), t.text, t.marks, cuts, func(n int) { theirs = append(theirs, n) })
	if d := t.want.compare(r, cuts); d != nil {
		d.What, d.Product = "reference", "in pieces: "+d.Product
		return d
	}
	p := drive(t.pair.product.NewScanner(), t.text, t.marks, cuts, func(n int) { ours = append(ours, n) })
	if d := t.want.compare(p, cuts); d != nil {
		return d
	}
	h.Reference.add(theirs)
	h.Product.add(ours)
	return nil
}

// Difference is the first thing that the engines do not agree about. It has no byte of
// the text.
type Difference struct {
	What               string // "findings", "edits", "text", "order" or "reference"
	At                 int64  // offset in the text; in what goes out for "text"
	Cuts               []int  // where the text was cut
	Reference, Product string // what each said
}

// Error says what differs.
func (d *Difference) Error() string {
	return fmt.Sprintf("%s differ at %d, cut at %s: the reference has %s, the product %s", d.What, d.At, offsets(d.Cuts), d.Reference, d.Product)
}

func offsets(cuts []int) string {
	const most = 40
	if len(cuts) <= most {
		return fmt.Sprint(cuts)
	}
	return fmt.Sprintf("%v and %d more places", cuts[:most], len(cuts)-most)
}

func (r *reading) compare(p *reading, cuts []int) *Difference {
	d := &Difference{Cuts: cuts, Reference: "nothing", Product: "nothing"}
	if p.broken != "" {
		d.What, d.Reference, d.Product = "order", "none of it", p.broken
		return d
	}
	for i := 0; i < max(len(r.findings), len(p.findings)); i++ {
		if i < len(r.findings) && i < len(p.findings) && r.findings[i] == p.findings[i] {
			continue
		}
		d.What = "findings"
		if i < len(p.findings) {
			d.Product, d.At = show(&p.findings[i]), p.findings[i].Start
		}
		if i < len(r.findings) {
			d.Reference, d.At = show(&r.findings[i]), r.findings[i].Start
		}
		return d
	}
	for i := 0; i < max(len(r.edits), len(p.edits)); i++ {
		if i < len(r.edits) && i < len(p.edits) && same(&r.edits[i], &p.edits[i]) {
			continue
		}
		d.What = "edits"
		if i < len(p.edits) {
			d.Product, d.At = showEdit(&p.edits[i]), p.edits[i].Start
		}
		if i < len(r.edits) {
			d.Reference, d.At = showEdit(&r.edits[i]), r.edits[i].Start
		}
		return d
	}
	if !bytes.Equal(r.out, p.out) {
		n := 0
		for n < len(r.out) && n < len(p.out) && r.out[n] == p.out[n] {
			n++
		}
		d.What, d.At, d.Reference, d.Product = "text", int64(n), fmt.Sprintf("%d bytes", len(r.out)), fmt.Sprintf("%d bytes", len(p.out))
		return d
	}
	return nil
}

func same(a, b *cut.Edit) bool {
	return a.Start == b.Start && a.End == b.End && bytes.Equal(a.Text, b.Text)
}

func showEdit(e *cut.Edit) string {
	return fmt.Sprintf("%d-%d with a text of %d bytes", e.Start, e.End, len(e.Text))
}

func show(f *stream.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d-%d %s %s %s %s %s in %s", f.Start, f.End, f.Rule, f.Kind, f.Class, f.Source, f.ID, f.View)
	if f.Capped {
		b.WriteString(" capped")
	}
	if f.Fragment {
		b.WriteString(" fragment")
	}
	fmt.Fprintf(&b, " action %v", f.Action)
	return b.String()
}
