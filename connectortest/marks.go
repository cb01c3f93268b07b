package connectortest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
)

// marks are the placeholders for the marks of a frame.
type marks struct {
	piece, text, say string
	stream           bool
	choices, number  int
}

// segment is a part of a frame: literal text, or a mark that holds text.
type segment struct {
	lit  string
	mark string // "p", "P", "t", "T", "r", "%", "b", "j", "l", "L"; empty for literal text
}

// segments takes a frame apart, with the marks that hold no text filled in.
func segments(raw string, m *marks) []segment {
	var out []segment
	lit := ""
	for {
		head, rest, ok := strings.Cut(raw, "«")
		lit += head
		if !ok {
			return append(out, segment{lit: lit})
		}
		name, rest, _ := strings.Cut(rest, "»")
		raw = rest
		switch name {
		case "n":
			lit += fmt.Sprint(m.number)
		case "say":
			lit += quoted(m.say)
		case "stream":
			lit += fmt.Sprint(m.stream)
		case "choices":
			lit += fmt.Sprint(m.choices)
		case "p", "P", "t", "T", "r", "%", "b", "l", "L", "j":
			out = append(out, segment{lit: lit}, segment{mark: name})
			lit = ""
		default:
			panic("connectortest: no such mark: " + name)
		}
	}
}

// carries reports whether a frame has a mark that holds text.
func carries(raw string) bool {
	for _, s := range segments(raw, &marks{}) {
		if s.mark != "" {
			return true
		}
	}
	return false
}

// write returns a frame with its marks filled in.
func write(raw string, m *marks) []byte {
	var b []byte
	for _, s := range segments(raw, m) {
		switch s.mark {
		case "":
			b = append(b, s.lit...)
		case "p":
			b = append(b, quoted(m.piece)...)
		case "P":
			b = append(b, escaped(m.piece)...)
		case "t":
			b = append(b, quoted(m.text)...)
		case "T":
			b = append(b, escaped(m.text)...)
		case "r", "j":
			b = append(b, m.text...)
		case "b":
			b = append(b, base64.StdEncoding.EncodeToString([]byte(m.text))...)
		case "%":
			b = append(b, url.QueryEscape(m.text)...)
		case "l":
			b = append(b, `{"content":[`+logprobs(m.piece)+`],"refusal":null}`...)
		case "L":
			b = append(b, `[`+logprobs(m.piece)+`]`...)
		}
	}
	return b
}

// read returns the texts that a frame as it arrived has for its marks: the
// piece, and the whole text. It reports false where anything else differs.
func read(raw string, m *marks, got []byte) (piece, text *string, ok bool) {
	rest := string(got)
	segs := segments(raw, m)
	for i, s := range segs {
		switch s.mark {
		case "":
			if rest, ok = strings.CutPrefix(rest, s.lit); !ok {
				return nil, nil, false
			}
		case "l":
			if after, ok := strings.CutPrefix(rest, `{"content":[`+logprobs(m.piece)+`],"refusal":null}`); ok {
				rest = after
			} else if rest, ok = strings.CutPrefix(rest, "null"); !ok {
				return nil, nil, false
			}
		case "L":
			if after, ok := strings.CutPrefix(rest, `[`+logprobs(m.piece)+`]`); ok {
				rest = after
			} else if rest, ok = strings.CutPrefix(rest, "[]"); !ok {
				return nil, nil, false
			}
		case "j":
			d := json.NewDecoder(strings.NewReader(rest))
			var v json.RawMessage
			if d.Decode(&v) != nil {
				return nil, nil, false
			}
			s := rest[:d.InputOffset()]
			text, rest = &s, rest[d.InputOffset():]
		case "r", "%", "b":
			next := segs[i+1].lit
			n := len(rest)
			if next != "" {
				if n = strings.Index(rest, next); n < 0 {
					return nil, nil, false
				}
			}
			v := rest[:n]
			if s.mark == "%" {
				d, err := url.QueryUnescape(v)
				if err != nil {
					return nil, nil, false
				}
				v = d
			}
			if s.mark == "b" {
				d, err := base64.StdEncoding.DecodeString(v)
				if err != nil {
					return nil, nil, false
				}
				v = string(d)
			}
			if text != nil && *text != v {
				return nil, nil, false // two copies that differ
			}
			text, rest = &v, rest[n:]
		default:
			n := contentEnd(rest)
			var v string
			if n < 0 || json.Unmarshal([]byte(`"`+rest[:n]+`"`), &v) != nil {
				return nil, nil, false
			}
			rest = rest[n:]
			into := &piece
			if s.mark == "t" || s.mark == "T" {
				into = &text
			}
			if *into != nil && **into != v {
				return nil, nil, false // two copies that differ
			}
			*into = &v
		}
	}
	return piece, text, rest == ""
}

// contentEnd returns where the content of a JSON string ends, -1 for nowhere.
func contentEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// quoted returns text as the content of a JSON string.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return ""
	}
	s := strings.TrimSuffix(b.String(), "\n")
	return s[1 : len(s)-1]
}

// escaped is quoted with every character escaped.
func escaped(text string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u%04x`, u)
	}
	return b.String()
}

// logprobs returns those of a piece of content, in tokens of three characters.
func logprobs(piece string) string {
	var b strings.Builder
	for i, tok := range tokens(piece) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"token":"%s","logprob":-0.25,"bytes":[`, quoted(tok))
		for k := range len(tok) {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, tok[k])
		}
		fmt.Fprintf(&b, `],"top_logprobs":[{"token":"%s","logprob":-0.25,"bytes":null}]}`, quoted(tok))
	}
	return b.String()
}

func tokens(s string) (out []string) {
	r := []rune(s)
	for len(r) > 0 {
		n := min(3, len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}
