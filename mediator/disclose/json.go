package disclose

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/stream"
)

// leaves are the strings, numbers and names of a JSON document, or one text that
// is not JSON.
type leaves struct {
	raw []byte
	at  []leaf
}

type leaf struct {
	path       string
	text       string
	start, end int // of the content
	key, quote bool
	literal    bool // true, false or null
}

// leavesOf reads a document. It fails for what looks like one and can be read
// in several ways.
func leavesOf(raw []byte) (*leaves, bool) {
	l := &leaves{raw: raw}
	var d strictjson.Doc
	if err := d.Parse(raw, strictjson.Limits{MaxBytes: 2 * session.MaxArguments}); err != nil {
		if t := bytes.TrimSpace(raw); len(t) > 0 && (t[0] == '{' || t[0] == '[' || t[0] == '"') {
			return nil, false
		}
		l.at = append(l.at, leaf{text: string(raw), end: len(raw)})
		return l, true
	}
	paths := make([]string, len(d.Nodes))
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Parent >= 0 {
			name := strconv.Itoa(n.Index)
			if d.Nodes[n.Parent].Kind == strictjson.Object {
				// A name is one segment, whatever it is.
				name = cmp.Or(strings.ReplaceAll(d.Key(i), ".", "_"), "_")
				l.at = append(l.at, leaf{path: join(paths[n.Parent], name), text: d.Key(i), start: n.KeyStart, end: n.KeyEnd, key: true})
			}
			paths[i] = join(paths[n.Parent], name)
		}
		switch n.Kind {
		case strictjson.String:
			l.at = append(l.at, leaf{path: paths[i], text: d.Text(i), start: n.Start + 1, end: n.End - 1})
		case strictjson.Number:
			l.at = append(l.at, leaf{path: paths[i], text: string(d.Value(i)), start: n.Start, end: n.End, quote: true})
		case strictjson.True, strictjson.False, strictjson.Null:
			l.at = append(l.at, leaf{path: paths[i], text: string(d.Value(i)), start: n.Start, end: n.End, quote: true, literal: true})
		}
	}
	return l, true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// parts are the leaves as parts of a candidate. Names that the tool's schema
// has are no parts.
func (l *leaves) parts(tool *schema.Tool) []declassify.Part {
	kept := l.at[:0]
	var out []declassify.Part
	tool.Args = append(slices.Clip(tool.Args), schema.Arg{Path: "#"})
	for _, x := range l.at {
		path := x.path
		switch {
		case x.literal && settled(tool, &x):
			continue
		case x.key && tool.Declares(x.path):
			continue
		case x.key && identifier.MatchString(x.text) && tool.Holds(x.path):
			path = "#" // of names that the schema leaves open; it passes unless a clause matches
		case x.key:
			// A model may write anything into a name that the schema lacks: it
			// is text like any other of its argument.
			path = join(x.path, "##")
		}
		kept = append(kept, x)
		out = append(out, declassify.Part{Path: path, Text: x.text, Fixed: x.key})
	}
	l.at = kept
	return out
}

// settled reports whether a literal says nothing that is to be decided: in a
// plain argument, or none in any that the schema has. What a tool tells has
// any number of them, and they are nobody's secret.
func settled(tool *schema.Tool, x *leaf) bool {
	if tool.Channel == flow.ChannelModel {
		return true
	}
	arg := tool.Arg(x.path)
	return tool.Holds(x.path) && (x.text == "null" || arg.Field == "" && !arg.Free)
}

// identifier is a name that programs give.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// edits are what makes the document of the parts that were released. A name
// can't be changed.
func (l *leaves) edits(parts []declassify.Part) ([]stream.Edit, bool) {
	var out []stream.Edit
	for i := range l.at {
		x := &l.at[i]
		if parts[i].Text == x.text {
			continue
		}
		if x.key {
			return nil, false
		}
		text := []byte(parts[i].Text)
		if len(l.at) > 1 || x.path != "" || x.start > 0 || x.quote {
			if text = strictjson.AppendQuote(nil, text); !x.quote {
				text = text[1 : len(text)-1]
			}
		}
		out = append(out, stream.Edit{Start: int64(x.start), End: int64(x.end), Text: text})
	}
	return out, true
}

// insideStrings fits edits to JSON: in a string only its content is replaced,
// so that one over several strings leaves the structure; a number becomes a
// string. Text that is no JSON is edited as it is. It fails where the result
// would not be JSON any more.
func insideStrings(args []byte, edits []stream.Edit) ([]stream.Edit, bool) {
	var d strictjson.Doc
	if len(edits) == 0 || d.Parse(args, strictjson.Limits{MaxBytes: session.MaxArguments}) != nil {
		return edits, true
	}
	var out []stream.Edit
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.KeyEnd > n.KeyStart {
			out = append(out, within(edits, int64(n.KeyStart), int64(n.KeyEnd))...)
		}
		switch n.Kind {
		case strictjson.String:
			out = append(out, within(edits, int64(n.Start)+1, int64(n.End)-1)...)
		case strictjson.Number:
			if e := within(edits, int64(n.Start), int64(n.End)); len(e) > 0 {
				text := append([]byte{'"'}, e[0].Text...)
				out = append(out, stream.Edit{Start: int64(n.Start), End: int64(n.End), Text: append(text, '"')})
			}
		default:
		}
	}
	slices.SortFunc(out, func(a, b stream.Edit) int { return int(a.Start - b.Start) })
	var check strictjson.Doc
	return out, check.Parse(session.Apply(out, 0, args), strictjson.Limits{MaxBytes: 2 * session.MaxArguments}) == nil
}

// within cuts edits to the bytes [from, to), at most one to each region.
func within(edits []stream.Edit, from, to int64) []stream.Edit {
	var out []stream.Edit
	var text []byte
	for _, e := range edits {
		if len(e.Text) > 0 {
			text = e.Text
		}
		if e.Start >= to || e.End <= from {
			continue
		}
		x := stream.Edit{Start: max(e.Start, from), End: min(e.End, to), Text: text}
		if n := len(out); n > 0 && out[n-1].End == x.Start && len(e.Text) == 0 {
			out[n-1].End = x.End // the same region goes on
			continue
		}
		out = append(out, x)
	}
	return out
}
