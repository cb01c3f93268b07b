package wire

import "github.com/margaydev/margay/internal/strictjson"

// Tags reads a text that is a JSON object of what clients know their sessions
// and turns by, and returns its texts to look at: each value with its name, as
// the name tells of a credential, but for UUIDs, which stand alone: a
// session_id that is one is no credential. It reports false for other texts.
func Tags(text []byte) ([]string, bool) {
	var d strictjson.Doc
	if len(text) < 2 || text[0] != '{' || d.Parse(text, Limits{MaxDepth: 4}) != nil {
		return nil, false
	}
	var out []string
	for i := range d.Nodes {
		n := &d.Nodes[i]
		key := ""
		if n.KeyEnd > n.KeyStart {
			key = d.Key(i)
		}
		switch {
		case n.Kind == strictjson.String && isUUID(d.Bytes(i)):
			out = append(out, key, d.Text(i))
		case n.Kind == strictjson.Object || n.Kind == strictjson.Array:
			out = append(out, key)
		case n.Kind == strictjson.String:
			out = append(out, key+": "+d.Text(i))
		default:
			out = append(out, key+": "+string(d.Value(i)))
		}
	}
	return out, true
}

// isUUID reports whether a string is a UUID in its usual form.
func isUUID(b []byte) bool {
	if len(b) != 36 {
		return false
	}
	for i, c := range b {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'):
			return false
		}
	}
	return true
}
