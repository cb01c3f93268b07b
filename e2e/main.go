// Command e2e puts real client libraries through Margay, against a scripted
// upstream with planted secrets, and reports the result of each scenario:
//
//	e2e [-margay FILE] [-only NAME] -client NAME[@API]=COMMAND...
//
// Every client runs all scenarios of its API three times: straight to the
// upstream, which shows that the scenarios hold for the library and that the
// judge sees the planted leaks; through margay serve, with the secret
// registered; and as the child of margay run, with the secret in its
// environment. Without -margay only the first runs. A client is a program
// that speaks the protocol of package scenario.
//
// It prints a line for each client and scenario, and exits with 1 if any
// failed, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/margaydev/margay/e2e/scenario"
	"github.com/margaydev/margay/e2e/upstream"
)

// client is a program around a client library.
type client struct {
	name    string
	api     string // of package scenario
	command []string
}

type clients []client

func (c *clients) String() string { return fmt.Sprint(len(*c)) }

func (c *clients) Set(s string) error {
	name, command, ok := strings.Cut(s, "=")
	if !ok || name == "" || len(strings.Fields(command)) == 0 {
		return errors.New("a client looks like python=/path/to/python client.py")
	}
	name, api, ok := strings.Cut(name, "@")
	if !ok {
		api = scenario.APIChat
	}
	if len(scenario.Of(api)) == 0 {
		return fmt.Errorf("unknown API %s", api)
	}
	*c = append(*c, client{name, api, strings.Fields(command)})
	return nil
}

func main() {
	var cs clients
	margay := flag.String("margay", "", "the margay program; without it the clients run straight to the upstream alone")
	only := flag.String("only", "", "run the scenarios whose name contains this")
	flag.Var(&cs, "client", "a client, as NAME=COMMAND or, where it speaks another API than chat, NAME@API=COMMAND; can be given again")
	flag.Parse()
	if flag.NArg() > 0 || len(cs) == 0 {
		fmt.Fprintln(os.Stderr, "e2e: give at least one -client NAME=COMMAND, and no arguments")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, os.Stdout, cs, *margay, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	if failed {
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, cs clients, margay, only string) (failed bool, err error) {
	begin := time.Now()
	s := &session{out: out, up: upstream.New(), only: only}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return false, err
	}
	s.control = "http://" + ln.Addr().String()
	server := &http.Server{Handler: s.up, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(ln) // http.ErrServerClosed
	}()
	defer func() {
		_ = server.Close()
		<-served
	}()

	for _, c := range cs {
		if err := s.direct(ctx, c); err != nil {
			return true, err
		}
	}
	if margay != "" {
		if err := s.serve(ctx, margay, cs); err != nil {
			return true, err
		}
		for _, c := range cs {
			if err := s.run(ctx, margay, c); err != nil {
				return true, err
			}
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed in %.1f s\n", s.passed, s.failed, time.Since(begin).Seconds())
	return s.failed > 0, nil
}
