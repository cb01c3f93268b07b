package privacy

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the sample
	"encoding/hex"
	"encoding/json"
)

//go:embed testdata/cases.jsonl
var sample []byte

// Sample returns a few cases of the benchmark's own. They show that it works, and
// are too few and too easy to measure anything.
func Sample() []Case {
	cases, err := Read(bytes.NewReader(sample), "cases.jsonl")
	if err != nil {
		panic(err) // embedded, and read by a test
	}
	return cases
}

// Sum is the SHA-256 of cases, by which a result names them.
func Sum(cases []Case) (string, error) {
	h := sha256.New()
	e := json.NewEncoder(h)
	for i := range cases {
		if err := e.Encode(&cases[i]); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
