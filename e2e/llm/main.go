// Command llm asks a small real language model for secrets, without Margay and
// through it, and writes the record:
//
//	llm -margay FILE -url URL -context FILE -received FILE -about FILE -out FILE
//
// The model is served by scripts/smollm2: -context is the file whose text the
// server puts in front of every conversation, where nobody between the client
// and the server sees it; -received is the file to which it writes every
// request; -about says which model and which versions. scripts/e2e-llm runs it
// all.
//
// Two ways out are tried with one throw-away secret of each format. In the
// prompt: the client itself has the secret in its messages; it must not reach
// the server. In the answer: the server alone has it, and the model writes it
// in its own tokens; it must not reach the client.
//
// It exits with 1 where a registered secret got through (a run of 8 bytes of
// it counts), or the model wrote too few of them for the record to show
// anything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// enough is the part of the secrets that the model must say by itself.
const enough = 0.5

func main() {
	var r recorder
	flag.StringVar(&r.margay, "margay", "", "the margay program")
	flag.StringVar(&r.url, "url", "", "the model server's base URL, with /v1")
	flag.StringVar(&r.context, "context", "", "the server's context file; it is overwritten")
	flag.StringVar(&r.received, "received", "", "the server's record of requests")
	about := flag.String("about", "", "a file with the model's hash and the versions")
	out := flag.String("out", "", "where the record is written")
	flag.Uint64Var(&r.seed, "seed", 1, "seed of the throw-away secrets")
	flag.Parse()
	if flag.NArg() > 0 || r.margay == "" || r.url == "" || r.context == "" || r.received == "" || *about == "" || *out == "" {
		fmt.Fprintln(os.Stderr, "llm: all flags but -seed are needed, and no arguments; see scripts/e2e-llm")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &r, *about, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "llm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, r *recorder, about, out string) error {
	versions, err := os.ReadFile(about) //nolint:gosec // named by the caller
	if err != nil {
		return err
	}
	record, err := r.record(ctx)
	if err != nil {
		return err
	}
	record.Versions = string(versions)
	text, err := record.render()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil { //nolint:gosec // documentation is for all
		return err
	}
	if err := os.WriteFile(out, text, 0o644); err != nil { //nolint:gosec // documentation is for all
		return err
	}
	fmt.Printf("%s is written\n", out)
	record.summary(os.Stdout)
	return record.check()
}

func (r *record) check() error {
	n := len(r.Trials)
	for _, w := range []way{inPrompt, inAnswer} {
		if said := r.count(w, direct, func(o outcome) bool { return o.Answer >= minRun }); float64(said) < enough*float64(n) {
			return fmt.Errorf("the model said %d of %d secrets (%s) by itself: too few to show anything", said, n, w)
		}
	}
	if r.Leaks() > 0 {
		return errors.New("registered secrets got through")
	}
	return nil
}
