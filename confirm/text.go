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

// Text is the question in words, for those who ask it by other means than a
// terminal of Margay's. What the model or whoever it read has chosen stands in
// quotes, with what can't be seen escaped, so that it can't pass for a word of
// Margay's.
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
		fmt.Fprintf(&b, "These are not all: %d bytes are left out. margay approve show %s shows them.\n", rest, q.ID)
	}
	b.WriteString("why: " + q.Why())
	if len(q.Flows) > 0 {
		fmt.Fprintf(&b, "\nit would tell: %s", strconv.Quote(strings.Join(q.Flows, ", ")))
	}
	if len(q.Free) > 0 && q.Grant != [32]byte{} {
		fmt.Fprintf(&b, "\na yes for the trajectory leaves open: %s", strings.Join(q.Free, ", "))
	}
	return b.String()
}

// Why says in words what forced the question.
func (q *Question) Why() string {
	var b strings.Builder
	fmt.Fprintf(&b, "it may follow from what is %s, and needs %s.", q.Label, q.Needs)
	for i := range q.Faults {
		f := &q.Faults[i]
		fmt.Fprintf(&b, "\n- %s", strconv.Quote(f.Source))
		if f.Field != "" {
			fmt.Fprintf(&b, ", %s", strconv.Quote(f.Field))
		}
		fmt.Fprintf(&b, " is %s", f.Label)
		if f.Excerpt != "" {
			fmt.Fprintf(&b, ". These are not Margay's words but its own: %s", strconv.Quote(f.Excerpt))
		}
	}
	return b.String()
}

// visible is JSON in which what can't be seen is escaped. It means the same.
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
