package connectortest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// run is the number of characters of a secret in a row that count as a leak.
const run = 8

// newSecret makes up a value: a prefix and n random characters.
func newSecret(prefix string, n int, seed uint64) string {
	const set = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // the value is no secret, and must be the same in each run
	b := []byte(prefix)
	for range n {
		b = append(b, set[r.IntN(len(set))])
	}
	return string(b)
}

// secretParts are the parts of a value that are secret: all of it, or the lines
// of a private key between the first and the last. What all keys begin with is
// no secret.
func secretParts(value string) []string {
	head, rest, ok := strings.Cut(value, "KEY-----")
	if !ok || !strings.HasPrefix(head, "-----BEGIN") {
		return []string{value}
	}
	rest, _, _ = strings.Cut(rest, "-----END")
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '\n' || r == '\\' })
	for i, p := range parts {
		parts[i] = strings.TrimPrefix(p, "n") // of an escape
	}
	parts[0] = strings.TrimPrefix(parts[0], "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj")
	return parts
}

// prints find parts of secrets in text, in any of the forms that a reader
// could undo at a glance.
type prints map[[run]byte][]string // by their beginning: what counts as a leak

func newPrints(secrets ...string) prints {
	p := prints{}
	add := func(s string, n, step int) {
		for i := 0; i+n <= len(s); i += step {
			k := [run]byte([]byte(s[i : i+run]))
			p[k] = append(p[k], s[i:i+n])
		}
	}
	for _, s := range secrets {
		add(s, run, 1)
		rev := []byte(s)
		for i, j := 0, len(rev)-1; i < j; i, j = i+1, j-1 {
			rev[i], rev[j] = rev[j], rev[i]
		}
		add(string(rev), run, 1)
		h := hex.EncodeToString([]byte(s))
		add(h, 2*run, 2)
		add(strings.ToUpper(h), 2*run, 2)
		for skip := range min(3, len(s)) {
			whole := s[skip : skip+(len(s)-skip)/3*3]
			add(base64.StdEncoding.EncodeToString([]byte(whole)), 12, 1)
			add(base64.URLEncoding.EncodeToString([]byte(whole)), 12, 1)
		}
	}
	return p
}

// in reports whether a text contains a part of a secret.
func (p prints) in(text string) bool {
	for i := 0; i+run <= len(text); i++ {
		for _, s := range p[[run]byte([]byte(text[i:i+run]))] {
			if strings.HasPrefix(text[i:], s) {
				return true
			}
		}
	}
	return false
}

// leaks names the reading of a text that contains a part of a secret; empty for
// none.
func (p prints) leaks(raw []byte, frames [][]byte) string {
	s := string(raw)
	if p.in(s) {
		return "as it is written"
	}
	if strings.ContainsAny(s, `\%&`) && p.in(unescaped(s)) {
		return "behind escapes"
	}
	for _, text := range joined(frames) {
		if p.in(text) || strings.ContainsAny(text, `\%&`) && p.in(unescaped(text)) {
			return "joined over events"
		}
	}
	return ""
}

// unescaped returns text with the escapes of JSON, URLs and HTML undone, however
// often they are escaped themselves.
func unescaped(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\':
			for i < len(s) && s[i] == '\\' {
				i++
			}
			if v, ok := number(s, i, "u", 4, 16); ok {
				out, i = utf8.AppendRune(out, v), i+5
			} else if v, ok := number(s, i, "x", 2, 16); ok {
				out, i = append(out, byte(v)), i+3
			}
			continue
		case c == '%':
			if v, ok := number(s, i, "%", 2, 16); ok {
				out, i = append(out, byte(v)), i+3
				continue
			}
		case c == '&':
			if n := strings.IndexByte(s[i:min(len(s), i+12)], ';'); n > 2 {
				v, ok := number(s, i, "&#", n-2, 10)
				if !ok {
					v, ok = number(s, i, "&#x", n-3, 16)
				}
				if ok {
					out, i = utf8.AppendRune(out, v), i+n+1
					continue
				}
			}
		}
		out = append(out, s[i])
		i++
	}
	return string(out)
}

// number reads so many digits behind a mark.
func number(s string, at int, mark string, digits, base int) (rune, bool) {
	from := at + len(mark)
	if digits < 1 || from+digits > len(s) || !strings.HasPrefix(s[at:], mark) {
		return 0, false
	}
	v, err := strconv.ParseUint(s[from:from+digits], base, 21)
	return rune(v), err == nil
}

// joined joins the strings that stand at one place of several frames: the
// texts that a client would put together, whatever the API. A place is the path
// of keys, and the numbers and identifiers that stand beside them.
func joined(frames [][]byte) (out []string) {
	if len(frames) < 2 {
		return nil
	}
	texts := map[string]*strings.Builder{}
	for _, f := range frames {
		var v any
		if json.Unmarshal(payload(f), &v) == nil {
			walk(texts, "", v)
		}
	}
	keys := make([]string, 0, len(texts))
	for k := range texts {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		out = append(out, texts[k].String())
	}
	return out
}

func walk(texts map[string]*strings.Builder, path string, v any) {
	switch v := v.(type) {
	case string:
		b := texts[path]
		if b == nil {
			b = &strings.Builder{}
			texts[path] = b
		}
		b.WriteString(v)
	case []any:
		for i, c := range v {
			if m, ok := c.(map[string]any); ok && m["index"] != nil {
				walk(texts, path+"[]", c)
				continue
			}
			walk(texts, fmt.Sprintf("%s[%d]", path, i), c)
		}
	case map[string]any:
		for _, k := range [...]string{"index", "output_index", "content_index", "summary_index", "item_id", "type", "event"} {
			if n, ok := v[k]; ok {
				path += fmt.Sprintf("{%s %v}", k, n)
			}
		}
		for k, c := range v {
			walk(texts, path+"."+k, c)
		}
	}
}

// payload returns the JSON of a frame: the data of an event, or all of it.
func payload(frame []byte) []byte {
	var out []byte
	found := false
	for line := range strings.Lines(string(frame)) {
		if d, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:"); ok {
			if found {
				out = append(out, '\n')
			}
			found, out = true, append(out, strings.TrimPrefix(d, " ")...)
		}
	}
	if found {
		return out
	}
	return frame
}

// events cuts a stream of server-sent events behind each empty line.
func events(raw []byte) (out [][]byte) {
	for len(raw) > 0 {
		n := len(raw)
		for i := range raw {
			if raw[i] != '\n' {
				continue
			}
			if rest := raw[i+1:]; len(rest) > 0 && rest[0] == '\n' {
				n = i + 2
				break
			} else if len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n' {
				n = i + 3
				break
			}
		}
		out, raw = append(out, raw[:n]), raw[n:]
	}
	return out
}

// veil takes values out of what is about to be shown, with all that encodes
// them whole.
func veil(s string, secrets ...string) string {
	for _, v := range secrets {
		for _, form := range []string{v, escaped(v), url.QueryEscape(v)} {
			s = strings.ReplaceAll(s, form, "<secret>")
		}
	}
	return s
}
