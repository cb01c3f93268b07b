package openaichat

import (
	"bytes"

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
