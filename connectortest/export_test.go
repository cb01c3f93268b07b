package connectortest

import "testing"

// Problems runs the suite and returns what it finds, by field.
func Problems(t testing.TB, c Connector, api *API) (out []string) {
	known, link := open(t, c)
	var ms []*matrix
	for i := range api.Fields {
		m := newMatrix(c, api, i, link, known)
		m.run()
		ms = append(ms, m)
		for _, p := range m.problems {
			out = append(out, api.Fields[i].Name+": "+p)
		}
	}
	return append(out, kept(link, ms)...)
}
