// Package connectortest is the suite that every connector runs. It drives a
// connector from both ends, as the client and as the far side, over every
// combination of a text-bearing field of an API, a place where its value may
// be split, a choice, streaming or not, and a secret: a registered one, one
// with a known shape, a pseudonym, none.
//
// Four oracles judge each exchange:
//
//  1. Nothing of a secret passes: no eight characters of it in a row,
//     unchanged, unescaped, joined over events, in base64 or in hexadecimal.
//  2. Everything else passes unchanged. Bodies and events are compared byte
//     by byte with what was sent; in the place of a secret there may be one
//     pseudonym or redaction.
//  3. A stream stays valid: by the strict reader of the API here, and by
//     Connector.Valid, where official client libraries can be plugged in.
//  4. A streamed text is the text of the whole answer.
//
// An API is one file here, mostly data: its fields, how each is written, and
// what happens to secrets in it. docs/coverage.md is generated from the same
// data.
package connectortest

import (
	"testing"
)

//go:generate go run generate.go ../docs/coverage.md

// Connector is what the suite drives.
type Connector struct {
	// Open starts the connector with these secrets registered, until the
	// test's end.
	Open func(t testing.TB, registered []string) Link
	// Valid, where not nil, reads what a client received as a client library
	// does. It is called for answers that are not refused. Partial says that
	// the answer was ended before its time. It may be called concurrently.
	Valid func(api *API, stream, partial bool, raw []byte) error
	// Thin makes the suite try one in so many places to split; 0 all.
	Thin int
}

// Link carries exchanges over a connector. It is safe for concurrent use.
type Link interface {
	// Do sends a request as the client, answers it as the far side, and
	// returns what arrived at either end.
	Do(x *Exchange) (*Result, error)
	// Kept returns all that the connector wrote besides: its log, its store.
	Kept() []byte
}

// Exchange is one request and what the far side answers.
type Exchange struct {
	// Caller names whose request it is. Requests of different callers have
	// nothing in common.
	Caller       string
	Method, Path string // of HTTP; Path has the query
	Header       []Header
	Body         []byte // nil for none: the far side speaks unasked
	// First is what the far side asks first, where the request answers it.
	First  []byte
	Answer Answer
}

// Header is a header of HTTP.
type Header struct{ Name, Value string }

// Answer is what the far side says.
type Answer struct {
	Status int // 0 means 200
	Type   string
	Header []Header
	Chunks [][]byte // each arrives apart
}

// Result is what arrived.
type Result struct {
	Far    *Arrived // nil where nothing reached the far side
	Status int
	Header []Header
	Body   []byte
}

// Arrived is a request as the far side received it.
type Arrived struct {
	Path   string // with the query
	Header []Header
	Body   []byte
}

// Run runs the suite for one API.
func Run(t *testing.T, c Connector, api *API) {
	if testing.Short() {
		c.Thin = max(c.Thin, 8)
	}
	c.Thin = max(c.Thin, thinnest)
	known, link := open(t, c)
	ms := make([]*matrix, len(api.Fields))
	t.Cleanup(func() {
		for _, p := range kept(link, ms) {
			t.Error(p)
		}
	})
	t.Run("every string", func(t *testing.T) {
		t.Parallel()
		problems, tried := everyLeaf(api, link, known, c.Thin)
		for _, p := range problems {
			t.Error(p)
		}
		t.Logf("%d strings", tried)
	})
	for i := range api.Fields {
		ms[i] = newMatrix(c, api, i, link, known)
		t.Run(api.Fields[i].Name, func(t *testing.T) {
			t.Parallel()
			ms[i].run()
			for _, p := range ms[i].problems {
				t.Error(p)
			}
			t.Logf("%d exchanges", ms[i].n)
		})
	}
}

func open(t testing.TB, c Connector) (known string, link Link) {
	known = newSecret("", 24, 1)
	return known, c.Open(t, []string{known})
}

func newMatrix(c Connector, api *API, i int, link Link, known string) *matrix {
	return &matrix{api: api, field: &api.Fields[i], link: link, valid: c.Valid, thin: c.Thin, known: known, seed: uint64(i+1) << 32, stands: map[string]string{}}
}

// kept judges what the connector wrote besides.
func kept(link Link, ms []*matrix) []string {
	var secrets []string
	for _, m := range ms {
		if m != nil {
			secrets = append(secrets, m.secrets...)
		}
	}
	if at := newPrints(secrets...).leaks(link.Kept(), nil); at != "" {
		return []string{"a part of a secret is in what the connector wrote besides, " + at}
	}
	return nil
}
