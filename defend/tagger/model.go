package tagger

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the weights
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"sync"
)

// The sizes of the network.
const (
	Dim    = 32 // of an embedding
	Hidden = 40 // of a convolution
	Layers = 3  // convolutions of width 3, each twice as wide apart as the one below
	Steps  = 32 // of the table that calibrates sentences
)

// fields are the classes of a token, after "none". The last one is everything
// else that is private to a person: health in general, conflicts, legal cases,
// relationships, money, beliefs.
var fields = [...]string{
	"legal-name", "dob", "payment-token", "diagnosis", "address", "phone", "email", "account-id",
	"national-id", "passport", "api-key", "password", "private-key", "salary", "location", Private,
}

// Private is the field of what is private and has no field of the ontology.
const Private = "private"

// Classes are none and the fields; an output more says whether a span is inferential.
const (
	Classes = 1 + len(fields)
	Outputs = Classes + 1
)

// Fields are the fields of classes 1 and up.
func Fields() []string { return append([]string(nil), fields[:]...) }

// Dense are the weights of the network besides the embeddings.
type Dense struct {
	First    [3 * Dim][Hidden]float32
	Conv     [Layers - 1][3 * Hidden][Hidden]float32
	Bias     [Layers][Hidden]float32
	Token    [Outputs][Hidden]float32 // by the token
	Pool     [Outputs][Hidden]float32 // by the maximum of its sentence
	Out      [Outputs]float32
	Max      [Hidden]float32 // of the sentence's score, by the maximum
	Mean     [Hidden]float32 // by the mean
	Sentence [1]float32
}

// Calibration turns scores into probabilities. It is fitted to texts that the
// training did not see.
type Calibration struct {
	Temperature float32          // of the classes of tokens
	Threshold   [Classes]float32 // probability of being private from which a token of a class is in a span
	Score       [Steps]float32   // of sentences, increasing
	Private     [Steps]float32   // probability of something private from that score on
	Floor       float32          // the same below the first score
}

// Model is a trained network. It is safe for concurrent use.
type Model struct {
	rows   []byte // Buckets rows of Dim signed bytes
	scale  [Buckets]float32
	senses Senses
	dense  Dense
	cal    Calibration
	hash   string
}

const (
	magic   = "margay tagger 1\n"
	maxFile = 8 << 20
)

var errFile = errors.New("not a tagger's weights of version 1")

// body is what follows the magic and the hash, besides the rows.
type body struct {
	Scale  [Buckets]float32
	Senses Senses
	Dense  Dense
	Cal    Calibration
}

// Encode writes a model's file: the magic line, SHA-256 of the rest, the rows of
// embeddings as signed bytes, and in little endian their scales, the senses of words,
// the other weights and the calibration.
func Encode(rows []int8, scale *[Buckets]float32, senses *Senses, d *Dense, c *Calibration) ([]byte, error) {
	if len(rows) != Buckets*Dim {
		return nil, errFile
	}
	var b bytes.Buffer
	for _, r := range rows {
		b.WriteByte(byte(r))
	}
	if err := binary.Write(&b, binary.LittleEndian, &body{*scale, *senses, *d, *c}); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	out := append(append([]byte(magic), sum[:]...), b.Bytes()...)
	_, err := Load(out)
	return out, err
}

// Load reads a model's file. The file must not change afterwards.
func Load(file []byte) (*Model, error) {
	const table = Buckets * Dim
	var rest body
	head := len(magic) + sha256.Size
	if len(file) > maxFile || len(file) != head+table+binary.Size(&rest) || string(file[:len(magic)]) != magic {
		return nil, errFile
	}
	if sum := sha256.Sum256(file[head:]); !bytes.Equal(sum[:], file[len(magic):head]) {
		return nil, errors.New("the tagger's weights are damaged: their hash is another")
	}
	for at := head + table; at < len(file); at += 4 {
		if at == head+table+4*Buckets { // senses are integers, not floats
			at += 4 * maxSenses
		}
		if v := math.Float32frombits(binary.LittleEndian.Uint32(file[at:])); !(v > -1e6 && v < 1e6) {
			return nil, errors.New("a weight of the tagger is no number, or too large")
		}
	}
	if _, err := binary.Decode(file[head+table:], binary.LittleEndian, &rest); err != nil {
		return nil, errFile
	}
	if !rest.Senses.sound() {
		return nil, errors.New("the tagger's table of words is not sorted")
	}
	if !rest.Cal.sound() {
		return nil, errors.New("the tagger's calibration is not sound")
	}
	sum := sha256.Sum256(file)
	return &Model{rows: file[head : head+table], scale: rest.Scale, senses: rest.Senses, dense: rest.Dense, cal: rest.Cal, hash: hex.EncodeToString(sum[:])}, nil
}

// sound reports whether probabilities are probabilities, and rise with the score.
func (c *Calibration) sound() bool {
	last := c.Floor
	for i, p := range c.Private {
		if p < last || i > 0 && c.Score[i] < c.Score[i-1] {
			return false
		}
		last = p
	}
	for _, t := range c.Threshold {
		if !(t > 0 && t <= 1) {
			return false
		}
	}
	return c.Floor >= 0 && last <= 1 && c.Temperature > 0.01
}

// Hash is the SHA-256 of the model's file, in hex.
func (m *Model) Hash() string { return m.hash }

//go:embed weights.bin
var shipped []byte

// Default returns the model that comes with Margay.
var Default = sync.OnceValues(func() (*Model, error) { return Load(shipped) })
