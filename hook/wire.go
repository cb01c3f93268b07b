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
)

// One event a connection: a line of header, the event, and back a line of
// header and what the process writes. Whatever is not exactly that is an error,
// and an error blocks.
const (
	request  = "margay hook 1 %s %d\n"
	response = "margay 1 %d %d %d\n"
	maxLine  = 128
)

// Ask carries an event over a connection, and returns the answer. An error
// means that nothing is known of what was decided. It closes the connection.
func Ask(ctx context.Context, conn net.Conn, harness string, event []byte) (Answer, error) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	head := fmt.Sprintf(request, harness, len(event))
	if _, err := conn.Write(append([]byte(head), event...)); err != nil {
		return Answer{}, err
	}
	r := bufio.NewReaderSize(conn, 4096)
	line, err := readLine(r)
	if err != nil {
		return Answer{}, err
	}
	var exit, out, errs int
	if n, err := fmt.Sscanf(line, strings.TrimSuffix(response, "\n"), &exit, &out, &errs); err != nil || n != 3 || line+"\n" != fmt.Sprintf(response, exit, out, errs) {
		return Answer{}, errors.New("it answers in another version's words")
	}
	if exit != Done && exit != Block || out < 0 || errs < 0 || out > 2*MaxEvent || errs > MaxEvent {
		return Answer{}, errors.New("its answer makes no sense")
	}
	b := make([]byte, out+errs)
	if _, err := io.ReadFull(r, b); err != nil {
		return Answer{}, err
	}
	return Answer{Exit: exit, Out: b[:out], Err: b[out:]}, nil
}

// Serve answers one event on a connection, and closes it.
func (h *Handler) Serve(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	// Who says nothing is not waited for.
	_ = conn.SetReadDeadline(time.Now().Add(MaxTime))
	r := bufio.NewReaderSize(conn, 4096)
	line, err := readLine(r)
	if err != nil {
		return err
	}
	var name string
	var n int
	if k, err := fmt.Sscanf(line, strings.TrimSuffix(request, "\n"), &name, &n); err != nil || k != 2 || line+"\n" != fmt.Sprintf(request, name, n) || n < 0 || n > MaxEvent {
		return errors.New("the request is none of this version")
	}
	event := make([]byte, 0, min(n, 1<<16))
	for len(event) < n { // memory is taken as the bytes come
		k := len(event)
		event = append(event, make([]byte, min(n-k, 1<<16))...)
		if _, err := io.ReadFull(r, event[k:]); err != nil {
			return err
		}
	}
	a := h.Handle(ctx, name, event)
	_ = conn.SetWriteDeadline(time.Now().Add(MaxTime))
	out := append([]byte(fmt.Sprintf(response, a.Exit, len(a.Out), len(a.Err))), a.Out...)
	_, err = conn.Write(append(out, a.Err...))
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
