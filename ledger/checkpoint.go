package ledger

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

const (
	checkpointMagic  = "mglc\x01"
	checkpointDomain = "margay ledger checkpoint v1\x00"
	headsDomain      = "margay ledger heads v1\x00"
	checkpointPrefix = "margay-ledger-head:"
	checkpointSize   = len(checkpointMagic) + 3*8 + 32 + 64
)

// Checkpoint is a signed statement of what a whole ledger holds. If it is kept
// where the ledger's owner can't change it, it shows later whether the ledger
// still has that history.
type Checkpoint struct {
	Entries  uint64 // of all families; the arrival of the last
	Families uint64
	At       time.Time // UTC, whole milliseconds
	// Root is over the heads of all families, in the order of their names.
	Root charge.Hash
	Sig  [64]byte
}

// ErrCheckpoint says that a text is not a checkpoint.
var ErrCheckpoint = errors.New("not a checkpoint of a ledger: expected the one line that margay ledger head prints")

func (c *Checkpoint) body() []byte {
	b := append(make([]byte, 0, checkpointSize), checkpointMagic...)
	b = binary.BigEndian.AppendUint64(b, c.Entries)
	b = binary.BigEndian.AppendUint64(b, c.Families)
	b = binary.BigEndian.AppendUint64(b, uint64(c.At.UnixMilli()))
	return append(b, c.Root[:]...)
}

// Append appends the checkpoint's canonical encoding.
func (c *Checkpoint) Append(b []byte) []byte { return append(append(b, c.body()...), c.Sig[:]...) }

// String returns the checkpoint as one line of text, for ParseCheckpoint.
func (c *Checkpoint) String() string {
	return checkpointPrefix + base64.RawURLEncoding.EncodeToString(c.Append(nil))
}

// ParseCheckpoint reads what String wrote, and ignores space around it. It does
// not verify the signature.
func ParseCheckpoint(s string) (*Checkpoint, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(s), checkpointPrefix)
	if !ok || strings.ContainsAny(text, "\r\n") {
		return nil, ErrCheckpoint
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, ErrCheckpoint
	}
	return decodeCheckpoint(b)
}

func decodeCheckpoint(b []byte) (*Checkpoint, error) {
	if len(b) != checkpointSize || string(b[:len(checkpointMagic)]) != checkpointMagic {
		return nil, ErrCheckpoint
	}
	b = b[len(checkpointMagic):]
	c := &Checkpoint{Entries: binary.BigEndian.Uint64(b), Families: binary.BigEndian.Uint64(b[8:])}
	c.At = time.UnixMilli(int64(binary.BigEndian.Uint64(b[16:]))).UTC()
	if !charge.ValidTime(c.At) {
		return nil, ErrCheckpoint
	}
	n := copy(c.Root[:], b[24:])
	copy(c.Sig[:], b[24+n:])
	return c, nil
}

// Sign signs the checkpoint.
func (c *Checkpoint) Sign(key ed25519.PrivateKey) {
	copy(c.Sig[:], ed25519.Sign(key, append([]byte(checkpointDomain), c.body()...)))
}

// Verify reports whether the checkpoint is signed by the owner of a key: an
// error that wraps Signature, or nil.
func (c *Checkpoint) Verify(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, append([]byte(checkpointDomain), c.body()...), c.Sig[:]) {
		return charge.Signature.Errorf("the checkpoint is not signed by this ledger's key")
	}
	return nil
}

// roots adds up heads, in the order of their families' names.
type roots struct {
	sum               hash.Hash
	entries, families uint64
	buf               []byte
}

func newRoots() *roots {
	r := &roots{sum: sha256.New()}
	r.sum.Write([]byte(headsDomain))
	return r
}

func (r *roots) add(h *charge.Head) {
	r.buf = appendHead(r.buf[:0], h)
	r.sum.Write(r.buf)
	r.families++
	r.entries += h.Seq
}

// appendHead writes a head as exports have it, too.
func appendHead(b []byte, h *charge.Head) []byte {
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(h.Family))), h.Family...)
	b = binary.BigEndian.AppendUint64(b, h.Seq)
	return append(b, h.Hash[:]...)
}

// parseHead reads what appendHead writes.
func parseHead(b []byte) (h charge.Head, ok bool) {
	if len(b) < 2 {
		return h, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if b = b[2:]; len(b) != n+8+len(h.Hash) {
		return h, false
	}
	h.Family, h.Seq = flow.TrajectoryID(b[:n]), binary.BigEndian.Uint64(b[n:])
	copy(h.Hash[:], b[n+8:])
	return h, charge.ValidID(h.Family) && h.Seq > 0
}

func (r *roots) root() charge.Hash { return charge.Hash(r.sum.Sum(nil)) }

// Checkpoint signs what the store holds now.
func (b *Book) Checkpoint(ctx context.Context) (*Checkpoint, error) {
	if b.cfg.Key == nil {
		return nil, charge.ErrNoKey
	}
	r := newRoots()
	for h, err := range b.cfg.Store.Heads(ctx) {
		if err != nil {
			return nil, err
		}
		r.add(&h)
	}
	return b.sign(r), nil
}

func (b *Book) sign(r *roots) *Checkpoint {
	c := &Checkpoint{Entries: r.entries, Families: r.families, At: b.cfg.Now().UTC().Truncate(time.Millisecond), Root: r.root()}
	c.Sign(b.cfg.Key)
	return c
}
