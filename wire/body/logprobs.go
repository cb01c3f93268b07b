package body

import (
	"bytes"
	"strconv"
	"unicode"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// maxToken bounds an alternative token of logprobs: longer ones are not tokens.
const maxToken = 32

// maxWord bounds an alternative with letters and anything else.
const maxWord = 12

// RepeatsText reports whether the tokens of logprobs are those of a text, their
// bytes are those of the tokens, and no alternative is longer than a token. The
// node is a list of tokens as in OpenAI's APIs, or an object of such lists.
func RepeatsText(d *strictjson.Doc, node int, text []byte) bool {
	var said []byte // the text's own token, which is mostly an alternative as well
	for i := node; i < d.Nodes[node].Next; i++ {
		n := &d.Nodes[i]
		if d.KeyIs(i, "bytes") && n.Kind != strictjson.Null && !spells(d, i, d.Find(n.Parent, "token")) {
			return false
		}
		if n.Kind != strictjson.String {
			continue
		}
		t := d.Bytes(i)
		if !d.KeyIs(i, "token") || len(t) > maxToken && !bytes.HasPrefix(text, t) {
			return false
		}
		// The text's own tokens are in the list itself, alternatives below. Nobody
		// scans these, so none may be a credential.
		own := false
		if list := d.Nodes[n.Parent].Parent; list == node || d.Nodes[node].Kind == strictjson.Object && d.Nodes[list].Parent == node {
			rest, ok := bytes.CutPrefix(text, t)
			if !ok {
				return false
			}
			text, said, own = rest, t, true
		}
		if !own && !bytes.Equal(t, said) && !isWord(t) {
			return false
		}
	}
	return len(text) == 0
}

// isWord reports whether a token is short, or has letters alone or none, besides
// space and signs around them: tokens of code start with a dot or an underscore.
func isWord(t []byte) bool {
	if t = bytes.TrimSpace(t); len(t) <= maxWord {
		return true
	}
	t = bytes.TrimFunc(t, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	letters, others := 0, 0
	for _, r := range string(t) {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			return false
		default:
			others++
		}
	}
	return letters == 0 || others == 0
}

// TokenReader reads logprobs into memory that it reuses. The zero value is ready;
// it is not safe for concurrent use.
type TokenReader struct {
	read         []flow.Token
	alternatives []flow.Alternative
	words        Interner
	buf          [64]byte
}

// Reset frees the memory of what was read.
func (p *TokenReader) Reset() { p.read, p.alternatives = p.read[:0], p.alternatives[:0] }

// Read reads a list of tokens. It returns nothing if the list lacks the text or
// the logprob of one. What it returns is valid until Reset.
func (p *TokenReader) Read(d *strictjson.Doc, list int) []flow.Token {
	if list < 0 || d.Nodes[list].Kind != strictjson.Array {
		return nil
	}
	from := len(p.read)
	for i := list + 1; i < d.Nodes[list].Next; i = d.Nodes[i].Next {
		t, ok := p.alternative(d, i)
		if !ok {
			p.read = p.read[:from]
			return nil
		}
		first := len(p.alternatives)
		if top := d.Find(i, "top_logprobs"); top >= 0 && d.Nodes[top].Kind == strictjson.Array {
			for j := top + 1; j < d.Nodes[top].Next; j = d.Nodes[j].Next {
				if a, ok := p.alternative(d, j); ok {
					p.alternatives = append(p.alternatives, a)
				}
			}
		}
		p.read = append(p.read, flow.Token{Text: t.Text, Logprob: t.Logprob, Top: p.alternatives[first:len(p.alternatives):len(p.alternatives)]})
	}
	return p.read[from:len(p.read):len(p.read)]
}

func (p *TokenReader) alternative(d *strictjson.Doc, node int) (a flow.Alternative, ok bool) {
	text, number := d.Find(node, "token"), d.Find(node, "logprob")
	if text < 0 || number < 0 || d.Nodes[text].Kind != strictjson.String || d.Nodes[number].Kind != strictjson.Number {
		return a, false
	}
	v, err := strconv.ParseFloat(string(d.Value(number)), 64)
	if err != nil {
		return a, false
	}
	return flow.Alternative{Text: p.word(d.AppendBytes(p.buf[:0], text)), Logprob: v}, true
}

// word returns a token's text as a string, mostly one from before.
func (p *TokenReader) word(b []byte) string {
	if len(b) > maxToken {
		return string(b) // not a token, so not kept
	}
	return p.words.String(b)
}

// spells reports whether an array has the bytes of a string.
func spells(d *strictjson.Doc, array, str int) bool {
	if str < 0 || d.Nodes[array].Kind != strictjson.Array {
		return false
	}
	rest := d.Bytes(str)
	for c := array + 1; c < d.Nodes[array].Next; c = d.Nodes[c].Next {
		if v, ok := d.Int(c); !ok || len(rest) == 0 || v != int(rest[0]) {
			return false
		}
		rest = rest[1:]
	}
	return len(rest) == 0
}
