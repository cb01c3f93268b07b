package wire

import (
	"bytes"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// maxToken bounds an alternative token of logprobs: longer ones are no tokens.
const maxToken = 32

// RepeatsText reports whether the tokens of logprobs are those of a text,
// their bytes those of the tokens, and the alternatives no longer than tokens
// are. The node is a list of tokens as OpenAI's APIs have it, or an object of
// such lists.
func RepeatsText(d *strictjson.Doc, node int, text []byte) bool {
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
		// The text's own stand in the list itself, alternatives below.
		if list := d.Nodes[n.Parent].Parent; list == node || d.Nodes[node].Kind == strictjson.Object && d.Nodes[list].Parent == node {
			rest, ok := bytes.CutPrefix(text, t)
			if !ok {
				return false
			}
			text = rest
		}
	}
	return len(text) == 0
}

// TokenReader reads what logprobs tell, into memory that it uses again. The
// zero value is ready; it is not safe for concurrent use.
type TokenReader struct {
	told         []flow.Token
	alternatives []flow.Alternative
	words        map[string]string
	buf          [64]byte
}

// Reset takes the memory of what was read back.
func (p *TokenReader) Reset() { p.told, p.alternatives = p.told[:0], p.alternatives[:0] }

// Read reads a list of tokens. It gives nothing where the list does not tell
// of all of them. What it gives is valid until Reset.
func (p *TokenReader) Read(d *strictjson.Doc, list int) []flow.Token {
	if list < 0 || d.Nodes[list].Kind != strictjson.Array {
		return nil
	}
	from := len(p.told)
	for i := list + 1; i < d.Nodes[list].Next; i = d.Nodes[i].Next {
		t, ok := p.alternative(d, i)
		if !ok {
			p.told = p.told[:from]
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
		p.told = append(p.told, flow.Token{Text: t.Text, Logprob: t.Logprob, Top: p.alternatives[first:len(p.alternatives):len(p.alternatives)]})
	}
	return p.told[from:len(p.told):len(p.told)]
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

// maxWords bounds the tokens that a parser keeps as strings.
const maxWords = 8192

// word returns a token's text as a string: most occur again and again.
func (p *TokenReader) word(b []byte) string {
	if len(b) > maxToken {
		return string(b) // no token: it is not kept
	}
	if s, ok := p.words[string(b)]; ok {
		return s
	}
	if p.words == nil || len(p.words) >= maxWords {
		p.words = map[string]string{}
	}
	s := string(b)
	p.words[s] = s
	return s
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
