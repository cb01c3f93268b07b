// Package token makes the state that a client returns with its answer to one
// of Margay's questions: which question it was, when it expires, and what the
// call carried for the server.
//
// A state is text that nobody but Margay can make. It is bound to one server and,
// by the digest of the call, to one call.
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// Mark starts all states.
const Mark = "margay-state-1."

// Key makes and opens the states of one server.
type Key struct {
	Key    [32]byte
	Server string
}

// Ours reports whether a text looks like a state of Margay's.
func Ours(state string) bool { return strings.HasPrefix(state, Mark) }

// Carried is what a state carries of the server's. It is not believed before
// Open; a call that needs no answer goes on with it all the same, as with
// anything else that a client says to a server.
func Carried(state string) string {
	if _, head := parts(state); head != nil {
		return string(head[9+int(head[8]):])
	}
	return ""
}

// New is a state for a question about the call with a digest: its id, when it
// expires, and what the call carried for the server.
func (k *Key) New(question string, digest [32]byte, expires time.Time, carried string) string {
	head := binary.BigEndian.AppendUint64(nil, uint64(expires.UnixMilli())) //nolint:gosec // after 1970
	head = append(append(append(head, byte(len(question))), question...), carried...)
	return Mark + base64.RawURLEncoding.EncodeToString(append(k.mac(head, digest), head...))
}

// Open returns the question that a state is about, where it is Margay's own,
// about the call with a digest, and has not expired.
func (k *Key) Open(state string, digest [32]byte, now time.Time) (question string, ok bool) {
	mac, head := parts(state)
	if head == nil || !hmac.Equal(mac, k.mac(head, digest)) {
		return "", false
	}
	if !now.Before(time.UnixMilli(int64(binary.BigEndian.Uint64(head)))) { //nolint:gosec // as it was written
		return "", false
	}
	return string(head[9 : 9+int(head[8])]), true
}

func (k *Key) mac(head []byte, digest [32]byte) []byte {
	h := hmac.New(sha256.New, k.Key[:])
	h.Write([]byte("margay mcp request state v1\x00"))
	h.Write(digest[:])
	h.Write([]byte(k.Server + "\x00"))
	h.Write(head)
	return h.Sum(nil)
}

// parts are a state's MAC and what it is of; nil if the text is not a state.
func parts(state string) (mac, head []byte) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(state, Mark))
	if err != nil || len(b) < sha256.Size+9 || len(b) < sha256.Size+9+int(b[sha256.Size+8]) {
		return nil, nil
	}
	return b[:sha256.Size], b[sha256.Size:]
}
