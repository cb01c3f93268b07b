package httpedge

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/sse"
)

// Form is how the body of an answer is written. It follows from the body: a
// label that says otherwise would decide what is looked for in it.
type Form uint8

// Forms.
const (
	Unknown  Form = iota // not text, or text with events or JSON somewhere in it
	Prose                // text for a person
	Document             // JSON: an object
	List                 // JSON: a list, such as of errors
	Events               // server-sent events
)

// Labels of the forms.
var labels = [...]string{Unknown: "application/octet-stream", Prose: "text/plain; charset=utf-8", Document: "application/json", List: "application/json", Events: "text/event-stream"}

// FormOf returns the form of a whole body. It looks at how the body begins; a
// Document or a List need not be valid.
func FormOf(b []byte) Form {
	text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n\f\v")
	switch {
	case len(text) > 0 && text[0] == '{':
		return Document
	case len(text) > 0 && text[0] == '[':
		return List
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return Unknown
	}
	for i, line := range bytes.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		switch {
		case i == 0 && sse.Framed(line):
			return Events
		case bytes.HasPrefix(line, []byte("data:")), bytes.HasPrefix(line, []byte(`{"`)):
			return Unknown
		}
	}
	return Prose
}

// Label makes the header Content-Type true. One that is true stays as it is.
func (f Form) Label(h http.Header) {
	if all := h["Content-Type"]; len(all) == 1 {
		typ, params, err := mime.ParseMediaType(all[0])
		charset := strings.ToLower(params["charset"])
		if err == nil && strings.HasPrefix(all[0], typ) && f.is(typ) && (charset == "" || charset == "utf-8" || charset == "us-ascii") {
			return
		}
	}
	h["Content-Type"] = []string{labels[f]}
}

func (f Form) is(typ string) bool {
	switch f {
	case Events:
		return IsEvents(typ)
	case Document, List:
		return typ == labels[f] || strings.HasPrefix(typ, "application/") && strings.HasSuffix(typ, "+json")
	case Prose:
		return strings.HasPrefix(typ, "text/") && !IsEvents(typ)
	default:
		return false
	}
}

// IsEvents reports whether a media type is that of server-sent events.
func IsEvents(typ string) bool { return typ == labels[Events] }

// MediaType returns the media type of a header in lower case, without its
// parameters; empty if it has none, or several.
func MediaType(h http.Header) string {
	if len(h["Content-Type"]) != 1 {
		return ""
	}
	typ, _, _ := mime.ParseMediaType(h["Content-Type"][0])
	return typ
}

// Errors of Decode.
var (
	ErrEncoding = errors.New("the body is compressed in a way that can't be looked at")
	ErrGzip     = errors.New("the body is not valid gzip")
)

// Decode makes the body of an answer plain: it undoes gzip, and takes the
// header that says so out. Any other encoding is an error.
func Decode(resp *http.Response) error {
	enc := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header["Content-Encoding"], ",")))
	switch enc {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return ErrGzip
		}
		resp.Body = reread{z, resp.Body}
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
	default:
		return ErrEncoding
	}
	resp.Header.Del("Content-Encoding")
	return nil
}

// reread is a body that is read through another reader.
type reread struct {
	io.Reader
	io.Closer
}
