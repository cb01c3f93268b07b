package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/margaydev/margay/internal/console/access"
	"github.com/margaydev/margay/internal/strictjson"
)

// fits reads the form of a request that has one, and reports whether it is
// within bounds. What else is wrong with it shows where it is used.
func fits(r *http.Request) bool {
	if !access.IsForm(r) {
		return true
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxTrial)
	var long *http.MaxBytesError
	return !errors.As(r.ParseForm(), &long)
}

// body reads a small strict JSON document.
func body(r *http.Request, into map[string]*string) error {
	return bodyOf(r, into, 1<<14, http.StatusBadRequest)
}

var errLarge = errors.New("it is too large")

// bodyOf is body with a bound in bytes, and the status of what is beyond it.
func bodyOf(r *http.Request, into map[string]*string, most, large int) error {
	bad := func(err error) error {
		status := http.StatusBadRequest
		if errors.Is(err, errLarge) {
			status = large
		}
		return &Problem{status, "strict-json", fmt.Sprintf("the body can't be read: %v", err), "docs/api/openapi.json says what it holds"}
	}
	b := make([]byte, most)
	n, err := readFull(r, b)
	if err != nil {
		return bad(err)
	}
	var d strictjson.Doc
	if err := d.Parse(b[:n], strictjson.Limits{MaxBytes: len(b)}); err != nil {
		return bad(err)
	}
	if len(d.Nodes) == 0 || d.Nodes[0].Kind != strictjson.Object {
		return bad(errors.New("it is no object"))
	}
	for i := 1; i < len(d.Nodes); i++ {
		to, ok := into[d.Key(i)]
		if !ok || d.Nodes[i].Kind != strictjson.String {
			return bad(errors.New("it holds what is not asked for"))
		}
		*to = d.Text(i)
	}
	return nil
}

// readFull reads all of a body that fits.
func readFull(r *http.Request, b []byte) (int, error) {
	n, err := io.ReadFull(r.Body, b)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return n, nil
	case err == nil:
		err = errLarge
	}
	return n, err
}
