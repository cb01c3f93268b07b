package hook

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/margaydev/margay/stream/cut"
)

// A connection carries one event: a header line and the event, and back a
// header line and what the process writes. Anything else is an error, and an
// error blocks.
const (
	request  = "margay hook 1 %s %d\n"
	response = "margay 1 %d %d %d\n"
	maxLine  = 128
)

// Ask sends an event over a connection, returns the answer, and closes the
// connection. After an error, it is unknown what was decided.
func Ask(ctx context.Context, conn net.Conn, harness string, event []byte) (Answer, error) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	head := fmt.Sprintf(request, harness, len(event))
	if _, err := cut.Own(append([]byte(head), event...)).WriteTo(conn); err != nil {
		return Answer{}, err
	}
	r := bufio.NewReaderSize(conn, 4096)
	line, err := readLine(r)
	if err != nil {
		return Answer{}, err
	}
	var exit, out, errs int
	if n, err := fmt.Sscanf(line, strings.TrimSuffix(response, "\n"), &exit, &out, &errs); err != nil || n != 3 || line+"\n" != fmt.Sprintf(response, exit, out, errs) {
		return Answer{}, errors.New("its answer has another version's format")
	}
	if exit != Done && exit != Block || out < 0 || errs < 0 || out > 2*MaxEvent || errs > MaxEvent {
		return Answer{}, errors.New("its answer is malformed")
	}
	b := make([]byte, out+errs)
	if _, err := io.ReadFull(r, b); err != nil {
		return Answer{}, err
	}
	return Answer{Exit: exit, Out: *cut.Own(b[:out]), Err: *cut.Own(b[out:])}, nil
}

// Serve answers one event on a connection, and closes it.
func (h *Handler) Serve(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	// A silent client is not waited for.
	_ = conn.SetReadDeadline(time.Now().Add(MaxTime))
	r := bufio.NewReaderSize(conn, 4096)
	line, err := readLine(r)
	if err != nil {
		return err
	}
	var name string
	var n int
	if k, err := fmt.Sscanf(line, strings.TrimSuffix(request, "\n"), &name, &n); err != nil || k != 2 || line+"\n" != fmt.Sprintf(request, name, n) || n < 0 || n > MaxEvent {
		return errors.New("the request does not have this version's format")
	}
	event := make([]byte, 0, min(n, 1<<16))
	for len(event) < n { // memory is allocated as the bytes arrive
		k := len(event)
		event = append(event, make([]byte, min(n-k, 1<<16))...)
		if _, err := io.ReadFull(r, event[k:]); err != nil {
			return err
		}
	}
	a := h.Handle(ctx, name, event)
	_ = conn.SetWriteDeadline(time.Now().Add(MaxTime))
	out := cut.Own([]byte(fmt.Sprintf(response, a.Exit, a.Out.Len(), a.Err.Len())))
	out.Append(a.Out)
	out.Append(a.Err)
	_, err = out.WriteTo(conn)
	return err
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	if len(line) > maxLine {
		return "", errors.New("the first line is too long")
	}
	return string(line[:len(line)-1]), nil
}
