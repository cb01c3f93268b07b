package hook

import "github.com/margaydev/margay/internal/strictjson"

// object writes a JSON object from names and values: strings are quoted, raw
// ones are not, and nil ones are left out. Harnesses refuse members that they
// do not know, so that every answer has its own.
func object(pairs ...any) raw {
	out := []byte{'{'}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		var value []byte
		switch v := pairs[i+1].(type) {
		case string:
			if v == "" {
				continue
			}
			value = strictjson.AppendQuote(nil, []byte(v))
		case bool:
			value = []byte("false")
			if v {
				value = []byte("true")
			}
		case raw:
			if v == nil {
				continue
			}
			value = v
		default:
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(strictjson.AppendQuote(out, []byte(name)), ':')
		out = append(out, value...)
	}
	return append(out, '}')
}

// raw is JSON as it is written.
type raw []byte

// answer ends with a line feed, and without an error.
func answer(o raw) Answer { return Answer{Exit: Done, Out: append([]byte(o), '\n')} }

// plain is a JSON value as a person reads it: a string without its quotes.
func plain(v []byte) string {
	var d strictjson.Doc
	if d.Parse(v, strictjson.Limits{MaxBytes: 2 * MaxEvent}) == nil && d.Nodes[0].Kind == strictjson.String {
		return d.Text(0)
	}
	return string(v)
}
