// Command demo shows four agents leak, and stop leaking: margay-lab demo without
// the laboratory, so that it builds in less time.
package main

import (
	"os"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/demo"
)

func main() {
	c := &cli.Command{Name: "demo", In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Args: os.Args[1:], Hint: "run it again; if it fails again, please report it"}
	root := demo.Command(c)
	c.Prepare(root)
	os.Exit(c.Execute(root))
}
