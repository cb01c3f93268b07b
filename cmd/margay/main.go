// Command margay keeps LLM agents from leaking secrets and private data.
package main

import (
	"os"

	"github.com/margaydev/margay/internal/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
