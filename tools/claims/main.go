// Command claims holds README.md, SECURITY.md and docs to tests. A sentence
// with always, never, every, whole, or no and ever, claims something of all
// cases, and names after it the tests that hold it, in a comment that readers
// do not see:
//
//	No byte is lost. <!-- test: TestBytes, stream.TestSplit, TestScript/run -->
//
// A name is that of a test or a fuzz target, in any module of the repository;
// the end of its package's folder stands before it where two have the name. A
// mark belongs to the sentence, item or cell that it follows at once. Code,
// fenced or not, is no text.
//
// Without flags, the command checks that each such sentence has a mark and that
// each test is there. With --run, it also runs the tests, and fails if one does
// not pass; if one skips, it says NOT CHECKED, and fails if MARGAY_REQUIRE
// names claims. Flags after -- go to go test. Run it as scripts/claims.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the folder of the repository")
	runs := flag.Bool("run", false, "run the tests")
	list := flag.Bool("list", false, "print the claims with their tests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *root, *runs, *list, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "claims:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, root string, runs, list bool, flags []string, out io.Writer) error {
	claims, tests, problems, err := static(root)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(out, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d sentences are held by no test; hint: name one after the sentence, <!-- test: TestName -->, or say what is so", len(problems))
	}
	for _, c := range claims {
		if list {
			fmt.Fprintf(out, "%s:%d: %s\n\t%s\n", c.Page, c.Line, c.Text, strings.Join(c.Tests, ", "))
		}
	}
	fmt.Fprintf(out, "claims: %d sentences, %d tests\n", len(claims), len(tests))
	if !runs {
		return nil
	}
	got, err := run(ctx, root, flags, tests, out)
	if err != nil {
		return err
	}
	failed, skipped := got.judge(func(p place) string { return importPath(root, p) }, tests)
	for _, f := range failed {
		fmt.Fprintln(out, f)
	}
	for _, s := range skipped {
		fmt.Fprintln(out, "NOT CHECKED: "+s)
	}
	if required := slices.Contains(strings.Split(os.Getenv("MARGAY_REQUIRE"), ","), "claims"); len(failed) > 0 || required && len(skipped) > 0 {
		return fmt.Errorf("%d tests that pages name do not pass, %d skip", len(failed), len(skipped))
	}
	return nil
}

// static is what needs no run of a test.
func static(root string) ([]Claim, []named, []string, error) {
	claims, problems, err := claimsOf(root)
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := functions(root)
	if err != nil {
		return nil, nil, nil, err
	}
	tests, missing := held(claims, all)
	return claims, tests, append(problems, missing...), nil
}
