// Command margay-lab measures Margay and fits its models.
package main

import (
	"os"

	"github.com/margaydev/margay/lab/internal/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
