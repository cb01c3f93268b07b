package openaichat

import (
	"bytes"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// maxToken bounds an alternative token of logprobs: longer ones are no tokens.
const maxToken = 32

// repeats reports whether the tokens of logprobs are those of a text, their
// bytes those of the tokens, and the alternatives no longer than tokens are.
func repeats(d *strictjson.Doc, node int, text []byte) bool {
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
		// Tokens of the text stand two levels below: content[i].token.
		if up := n.Parent; d.Nodes[d.Nodes[up].Parent].Parent == node {
			rest, ok := bytes.CutPrefix(text, t)
			if !ok {
				return false
			}
			text = rest
		}
	}
	return len(text) == 0
}

// tokens reads what logprobs tell, into memory that it uses again.
type tokens struct {
	told         []flow.Token
	alternatives []flow.Alternative
	words        map[string]string
	buf          [64]byte
}

func (p *tokens) reset() { p.told, p.alternatives = p.told[:0], p.alternatives[:0] }

// read reads what logprobs tell about the tokens of a choice's content. It
// gives nothing where they don't tell it of all of them.
func (p *tokens) read(d *strictjson.Doc, node int) []flow.Token {
	content := d.Find(node, "content")
	if content < 0 || d.Nodes[content].Kind != strictjson.Array {
		return nil
	}
	from := len(p.told)
	for i := content + 1; i < d.Nodes[content].Next; i = d.Nodes[i].Next {
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

func (p *tokens) alternative(d *strictjson.Doc, node int) (a flow.Alternative, ok bool) {
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
func (p *tokens) word(b []byte) string {
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
