package mcpproxy

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire/mcp"
)

// Pipes are the ends that Stdio stands between.
type Pipes struct {
	FromClient io.Reader
	ToClient   io.Writer
	FromServer io.Reader
	// ToServer is closed when the client has no more to say.
	ToServer io.WriteCloser
	// Trajectory of all that is said; empty for the engine's own.
	Trajectory flow.TrajectoryID
}

// Stdio carries messages, one a line, until the server's side ends. Then it
// answers the requests that the server left open, and returns: nil where the
// server's stream ended, else the error of reading it or of writing to the
// client. Reading from the client may go on in a goroutine of its own until
// FromClient ends; what it reads goes nowhere.
//
// Each side waits while the other does not read, so that at most one message
// of each is in memory, besides a few answers of Margay's own.
func (p *Proxy) Stdio(ctx context.Context, io Pipes) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := mediator.SessionRequest{Trajectory: string(io.Trajectory), Sink: p.sink}
	s := &stdio{
		link:     &link{p: p, open: func(ctx context.Context) (*mediator.Session, error) { return p.cfg.Engine.Session(ctx, &req) }},
		toClient: &lines{w: io.ToClient},
		toServer: &lines{w: io.ToServer},
		replies:  make(chan *cut.Released, 16),
	}
	var writing sync.WaitGroup
	writing.Go(s.answerServer)
	go s.fromClient(ctx, io.FromClient, io.ToServer)
	err := s.fromServer(ctx, io.FromServer)
	cancel()
	close(s.replies)
	_ = io.ToServer.Close() // wakes whoever writes there
	writing.Wait()
	s.finish()
	s.toServer.close()
	// What the client still sends is answered by nobody: its requests that
	// were under way get an error.
	for _, reply := range s.link.ended(context.WithoutCancel(ctx), reason("server-ended", "the server ended before it answered")) {
		err = errors.Join(err, s.toClient.write(reply, nil))
	}
	return err
}

type stdio struct {
	link               *link
	toClient, toServer *lines
	replies            chan *cut.Released // of Margay's to the server

	mu   sync.Mutex
	over bool
	held sync.WaitGroup // calls that wait for a person
}

// hold has a call wait for a person while others go on.
func (s *stdio) hold(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		h.cancel()
		return
	}
	s.held.Go(func() {
		out := h.settle(func(message *cut.Released) { _ = s.toClient.write(message, nil) })
		for _, reply := range out.replies {
			_ = s.toClient.write(reply, nil)
		}
		if out.forward != nil {
			_ = s.toServer.write(out.forward, nil)
		}
	})
}

// finish waits for the calls that are held, which have been given up.
func (s *stdio) finish() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.held.Wait()
}

// lines writes messages one a line. It is safe for concurrent use.
type lines struct {
	mu     sync.Mutex
	w      io.Writer
	closed bool
}

var lineEnd = []byte{'\n'}

// write writes a message and the end that it came with, or else a line feed.
func (l *lines) write(message *cut.Released, end []byte) error {
	if end == nil {
		end = lineEnd
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	message.Own(end)
	_, err := message.WriteTo(l.w)
	return err
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// answerServer writes Margay's own answers to the server. It is apart from who
// reads the server's messages, who must not wait for the server to read.
func (s *stdio) answerServer() {
	for reply := range s.replies {
		_ = s.toServer.write(reply, nil)
	}
}

// next reads a line of a side's and decides about it. It returns the line's
// end, too.
func (s *stdio) next(ctx context.Context, from *side, in *mcp.Reader, parser *mcp.Parser) (out outcome, end []byte, err error) {
	line, err := in.Next()
	switch {
	case err != nil:
		return outcome{}, nil, err
	case line.TooLarge:
		return s.link.tooLarge(ctx, from, line.About), nil, nil
	case line.Blank():
		return outcome{}, nil, nil
	case line.Cut:
		return s.link.unreadable(ctx, from, mcp.CodeParse, reason("cut-off", "the %s's stream ended inside a message", from.name), mcp.Skim(line.Raw)), nil, nil
	}
	raw := line.Raw
	n := len(raw) - 1
	if n > 0 && raw[n-1] == '\r' {
		n--
	}
	out = s.link.take(ctx, from, parser, raw[:n], false)
	return out, raw[n:], nil
}

// carry decides about a side's messages, one after the other, until its stream
// ends. What goes on is written to the other side, and answers are given to reply.
func (s *stdio) carry(ctx context.Context, from *side, r io.Reader, to *lines, reply func(*cut.Released)) error {
	in, parser := mcp.NewReader(r, s.link.p.cfg.MaxMessage), &mcp.Parser{}
	for {
		out, end, err := s.next(ctx, from, in, parser)
		if err == nil && from == client {
			err = ctx.Err() // nobody is there any more
		}
		if err != nil {
			return err
		}
		for _, message := range out.replies {
			reply(message)
		}
		if out.held != nil {
			s.hold(out.held)
		}
		if out.forward == nil {
			continue
		}
		if out.refused {
			end = nil
		}
		if err := to.write(out.forward, end); err != nil {
			return err
		}
	}
}

func (s *stdio) fromClient(ctx context.Context, r io.Reader, server io.Closer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // nobody waits for what is held
	// Where the server does not read any more, it has ended, or will: reading
	// from it tells.
	_ = s.carry(ctx, client, r, s.toServer, func(message *cut.Released) { _ = s.toClient.write(message, nil) })
	_ = server.Close()
}

func (s *stdio) fromServer(ctx context.Context, r io.Reader) error {
	err := s.carry(ctx, server, r, s.toClient, func(message *cut.Released) {
		select {
		case s.replies <- message:
		default: // it does not read: it knows that nobody answers
		}
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
