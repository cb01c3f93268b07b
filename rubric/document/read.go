package document

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/include"
)

// Version is the only format version that this program reads.
const Version = 1

// MaxBytes bounds a rubric's text, and its canonical bytes.
const MaxBytes = 4 << 20

// Schema is the JSON Schema of rubrics.
//
//go:embed schema.json
var Schema []byte

// schema is the JSON Schema, compiled once.
var schema = yamldoc.NewSchema(Schema)

// Read reads YAML, with the vocabularies that open reads; nil where a rubric may
// include none. Errors are of type *yamldoc.Error, with a position.
func Read(file string, b []byte, open include.Open) (*Document, error) {
	src, err := yamldoc.Read(file, b, MaxBytes, "a rubric", Version)
	if err != nil {
		return nil, err
	}
	if src, err = include.Expand(src, MaxBytes, open); err != nil {
		return nil, err
	}
	return build(src)
}

// ErrCanonical says that bytes are not the canonical ones of what they say.
var ErrCanonical = errors.New("these are not canonical bytes")

// ReadCanonical reads canonical bytes. It refuses all others with ErrCanonical,
// so that one rubric has one hash. Errors are of type *yamldoc.Error.
func ReadCanonical(file string, b []byte) (*Document, error) {
	if len(b) > MaxBytes {
		return nil, &yamldoc.Error{File: file, Detail: fmt.Sprintf("a rubric has at most %d bytes", MaxBytes)}
	}
	d, err := build(yamldoc.FromJSON(file, b))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(d.canonical, b) {
		return nil, &yamldoc.Error{File: file, Detail: ErrCanonical.Error(), Err: ErrCanonical}
	}
	return d, nil
}

func build(src *yamldoc.Document) (*Document, error) {
	if err := src.Version(Version); err != nil {
		return nil, err
	}
	if err := src.Check(schema); err != nil {
		return nil, err
	}
	d := &Document{source: src}
	var doc any
	err := yamldoc.Unmarshal(src.JSON, &doc)
	if err == nil {
		d.canonical, err = canonicalJSON(doc)
	}
	if err == nil {
		err = yamldoc.Unmarshal(d.canonical, d)
	}
	if err != nil {
		return nil, src.Place(err)
	}
	return d, nil
}

// Canonical returns the bytes that the rubric is hashed, signed and stored as.
// They do not depend on how its YAML was formatted, and hold what it includes.
func (d *Document) Canonical() []byte { return slices.Clone(d.canonical) }

// Place is a mistake's *yamldoc.Error, with the position of the place that
// yamldoc.Where gave it; nil for nil.
func (d *Document) Place(err error) error { return d.source.Place(err) }

// At returns the position of a place in the rubric's YAML, with the file that it
// is in. The line is 0 where there is none.
func (d *Document) At(at ...string) (file string, line, column int) { return d.source.At(at...) }
