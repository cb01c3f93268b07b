//go:build ignore

// generate writes docs/coverage.md.
package main

import (
	"fmt"
	"os"

	"github.com/margaydev/margay/connectortest"
)

func main() {
	if err := os.WriteFile(os.Args[1], []byte(connectortest.Coverage()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
