package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
)

// A connection carries one question: a header line and a JSON document, and the
// same back. Anything else is an error, and an error refuses the call in question.
const (
	labelsHead = "margay labels 1 %d\n"
	labelsWord = "margay labels "
	maxShare   = 64 << 10
	shareTime  = 5 * time.Second
)

// peer is the mediator of the run that this process belongs to.
type peer struct {
	dial func(ctx context.Context) (net.Conn, error)
}

// Share implements step.Peer.
func (p *peer) Share(ctx context.Context, s mediator.Share) (mediator.Shared, error) {
	// Labels are shared even if nobody waits for the answer any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shareTime)
	defer cancel()
	conn, err := p.dial(ctx)
	if err != nil {
		return mediator.Shared{}, fmt.Errorf("the run's mediator: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var out mediator.Shared
	if err := writeShare(conn, s); err != nil {
		return out, fmt.Errorf("the run's mediator: %w", err)
	}
	if err := readShare(bufio.NewReaderSize(conn, 4096), &out); err != nil {
		return mediator.Shared{}, fmt.Errorf("the run's mediator: %w", err)
	}
	return out, nil
}

// serveLabels answers one question on a connection, and closes it.
func serveLabels(ctx context.Context, conn net.Conn, in *bufio.Reader, e *mediator.Engine) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(shareTime))
	var s mediator.Share
	if err := readShare(in, &s); err != nil {
		return err
	}
	out, err := e.Share(&s)
	if err != nil {
		return err
	}
	return writeShare(conn, out)
}

func writeShare(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(fmt.Appendf(nil, labelsHead, len(b)), b...))
	return err
}

func readShare(r *bufio.Reader, v any) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	var n int
	if k, err := fmt.Sscanf(string(line), labelsHead, &n); err != nil || k != 1 || string(line) != fmt.Sprintf(labelsHead, n) || n < 0 || n > maxShare {
		return errors.New("unknown version of the labels protocol")
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	var doc strictjson.Doc
	if err := doc.Parse(b, strictjson.Limits{MaxBytes: maxShare}); err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// peeked is a connection with a buffer of what was read from it.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }
