package rubric

import (
	"bytes"
	_ "embed"
	"encoding/json"

	"github.com/margaydev/margay/internal/yamldoc"
)

// Version is the only format version that this program reads.
const Version = 1

// MaxBytes bounds a rubric's text.
const MaxBytes = 4 << 20

// Schema is the JSON Schema of rubrics.
//
//go:embed schema.json
var Schema []byte

// ErrVersion says that a rubric, or a signed one, is of another format
// version.
var ErrVersion = yamldoc.ErrVersion

// Error is a mistake in a rubric.
type Error = yamldoc.Error

// where puts a place before an error's own.
func where(err error, at ...string) error { return yamldoc.Where(err, at...) }

// schema is the JSON Schema, compiled once.
var schema = yamldoc.NewSchema(Schema)

// Parse reads a rubric from YAML, compiles and checks it. Errors are of type
// *Error, with a position.
func Parse(file string, b []byte) (*Rubric, error) {
	src, err := yamldoc.Read(file, b, MaxBytes, "a rubric")
	if err != nil {
		return nil, err
	}
	return build(src)
}

// build makes a rubric of a document.
func build(src *yamldoc.Document) (*Rubric, error) {
	if err := src.Version(Version); err != nil {
		return nil, err
	}
	if err := src.Check(schema); err != nil {
		return nil, err
	}
	var doc any
	d := json.NewDecoder(bytes.NewReader(src.JSON))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, src.Place(err)
	}
	canonical, err := canonicalJSON(doc)
	if err != nil {
		return nil, src.Place(err)
	}
	d = json.NewDecoder(bytes.NewReader(canonical))
	d.UseNumber()
	r := &Rubric{source: src, canonical: canonical}
	if err := d.Decode(&r.doc); err != nil {
		return nil, src.Place(err)
	}
	if err := r.compile(); err != nil {
		return nil, src.Place(err)
	}
	return r, nil
}
