package saliency

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the record
)

//go:embed testdata/features.jsonl.gz
var shipped []byte

// Shipped is the record that comes with the repository.
func Shipped() (*Record, error) {
	r := &Record{byKey: map[string]*Line{}}
	z, err := gzip.NewReader(bytes.NewReader(shipped))
	if err != nil {
		return nil, err
	}
	return r, r.read(z, true)
}
