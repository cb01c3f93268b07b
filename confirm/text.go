package confirm

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// maxShown bounds the arguments that Text shows.
const maxShown = 4096

// Text is the question in words, for front ends other than Margay's terminal. It
// quotes every text that the model, or anybody whom it read, has chosen, and
// escapes invisible characters, so that none of it passes for Margay's own
// words.
func (q *Question) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Margay asks: may the agent make this call?\ntool: %s\ngoes to: %s\n", strconv.Quote(q.Call.Name), strconv.Quote(q.Sink))
	args, rest := q.Call.Arguments, 0
	if len(args) > maxShown {
		rest = len(args) - maxShown
		args = strings.ToValidUTF8(args[:maxShown], "")
	}
	fmt.Fprintf(&b, "arguments: %s\n", visible(args))
	if rest > 0 {
		fmt.Fprintf(&b, "%d more bytes are left out here. margay approve show %s shows them.\n", rest, q.ID)
	}
	b.WriteString("why: " + q.Why())
	if len(q.Flows) > 0 {
		fmt.Fprintf(&b, "\nit would disclose: %s", strconv.Quote(strings.Join(q.Flows, ", ")))
	}
	if len(q.Free) > 0 && q.Grant != [32]byte{} {
		fmt.Fprintf(&b, "\na yes for the trajectory leaves open: %s", strings.Join(q.Free, ", "))
	}
	if len(q.Kinds) > 0 && q.Grant != [32]byte{} {
		b.WriteString("\na yes for the trajectory covers what does nothing but:")
		for _, k := range q.Kinds {
			b.WriteString("\n- " + strconv.Quote(k))
		}
	}
	if q.Folder != "" {
		b.WriteString("\n" + q.Trusting())
	}
	return b.String()
}

// Trusting says what it means to trust the folder that the question offers.
func (q *Question) Trusting() string {
	return fmt.Sprintf("if you trust %s, its files, and what commands print that read, build or test in it, count as yours", strconv.Quote(q.Folder))
}

// Why explains in words what forced the question.
func (q *Question) Why() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the call may follow from what is %s, and needs %s.", q.Label, q.Needs)
	if q.First != nil {
		fmt.Fprintf(&b, "\n- nothing is known of this tool. By its name and its own words it %s. So that it is not asked about again: ", q.First.Profile)
		if q.First.Definition == "" {
			fmt.Fprintf(&b, "margay trust tool %s --does observe, or what it does", strconv.Quote(q.Call.Name))
		} else {
			b.WriteString("margay approve allow --as reads, or changes, or asks")
		}
	}
	for i := range q.Deeds {
		fmt.Fprintf(&b, "\n- it would %s", q.Deeds[i].Text())
	}
	if q.Folder != "" {
		fmt.Fprintf(&b, "\n- it works in a folder that you do not trust. If it is your own: margay trust add %s", strconv.Quote(q.Folder))
	}
	for i := range q.Values {
		fmt.Fprintf(&b, "\n- %s", q.Values[i].Text())
	}
	for i := range q.Faults {
		f := &q.Faults[i]
		fmt.Fprintf(&b, "\n- %s", strconv.Quote(f.Source))
		if f.Field != "" {
			fmt.Fprintf(&b, ", %s", strconv.Quote(f.Field))
		}
		fmt.Fprintf(&b, " is %s", f.Label)
		if f.Excerpt != "" {
			fmt.Fprintf(&b, ". Its own words, not Margay's: %s", strconv.Quote(f.Excerpt))
		}
	}
	return b.String()
}

// Text is a deed in words, with the model's own quoted.
func (d *Deed) Text() string {
	var b strings.Builder
	b.WriteString(d.Effect)
	if d.To != "" {
		fmt.Fprintf(&b, " %s", strconv.Quote(d.To))
	}
	if d.Part != "" {
		fmt.Fprintf(&b, " by %s", strconv.Quote(d.Part))
	}
	return b.String() + ": " + d.Why
}

// Text says in words where a value comes from.
func (v *Value) Text() string {
	out := fmt.Sprintf("%s of %s ", strconv.Quote(v.Value), strconv.Quote(v.Name))
	switch len(v.From) {
	case 0:
		return out + "stands in nothing that was read: the model put it together"
	case 1:
		return out + "stands in what " + strconv.Quote(v.From[0]) + " gave, and nowhere else"
	}
	quoted := make([]string, len(v.From))
	for i, f := range v.From {
		quoted[i] = strconv.Quote(f)
	}
	return out + "stands in what " + strings.Join(quoted, ", ") + " gave"
}

// visible escapes the invisible characters of JSON. The JSON means the same.
func visible(json string) string {
	var b strings.Builder
	for _, r := range json {
		switch {
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		}
	}
	return b.String()
}
