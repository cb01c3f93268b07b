package body

import (
	"bytes"
	"slices"
	"strings"
)

// Interner makes strings of bytes, each only once. It keeps a bounded number of
// them. The zero Interner is ready; it is not safe for concurrent use.
type Interner map[string]string

// maxInterned bounds the strings that an Interner keeps.
const maxInterned = 8192

// String returns bytes as a string.
func (in *Interner) String(b []byte) string {
	if s, ok := (*in)[string(b)]; ok {
		return s
	}
	if *in == nil || len(*in) >= maxInterned {
		*in = Interner{}
	}
	s := string(b)
	(*in)[s] = s
	return s
}

// media distinguishes base64 content of media parts from text. A plain URL is
// text: it may carry a secret.
func media(key, raw []byte) string {
	switch {
	case isDataURI(raw):
		if bytes.HasPrefix(raw, []byte("data:image/")) {
			return "image"
		}
		return "file"
	case len(raw) > 64 && IsBase64(raw):
		switch string(key) {
		case "data":
			return "audio"
		case "file_data", "b64_json":
			return "file"
		}
	}
	return ""
}

// isDataURI reports whether a string is a data URI of base64 and nothing else.
func isDataURI(raw []byte) bool {
	if !bytes.HasPrefix(raw, []byte("data:")) {
		return false
	}
	head, body, ok := bytes.Cut(raw, []byte(","))
	return ok && len(head) <= 128 && bytes.HasSuffix(head, []byte(";base64")) && IsBase64(body)
}

// IsBase64 reports whether a string can be base64 of the standard alphabet.
// Anything else is text, whatever the field says.
func IsBase64(b []byte) bool {
	n, ok := base64Body(b, "+/")
	return ok && n%4 != 1
}

// IsEitherBase64 reports whether a string can be base64 of either alphabet, or
// of both.
func IsEitherBase64(b []byte) bool {
	_, ok := base64Body(b, "+/-_")
	return ok
}

// base64Body returns the length of base64 without its padding.
func base64Body(b []byte, more string) (n int, ok bool) {
	body := bytes.TrimRight(b, "=")
	return len(body), len(b)-len(body) <= 2 && isAlphanumeric(body, more)
}

// isAlphanumeric reports whether there are only letters, digits and a few more
// bytes.
func isAlphanumeric(b []byte, more string) bool {
	return !slices.ContainsFunc(b, func(c byte) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(more, c) >= 0)
	})
}

// IsModel reports whether a string can be the name of a model.
func IsModel(raw []byte) bool { return len(raw) <= 96 && isAlphanumeric(raw, "_-.:/") }

// IsName reports whether a string of at most so many bytes can be an
// identifier.
func IsName(b []byte, most int) bool { return len(b) <= most && isAlphanumeric(b, "_-.:") }
