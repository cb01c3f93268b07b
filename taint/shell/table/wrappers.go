package table

import (
	"regexp"
	"slices"
)

// Wrappers are flags of programs that run the rest of their words; those that take
// a value.
var Wrappers = map[string][]string{
	"env": {"-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-P"}, "timeout": {"-s", "--signal", "-k", "--kill-after"}, "gtimeout": {"-s", "-k"}, "nice": {"-n", "--adjustment"},
	"ionice": {"-c", "-n", "-p", "-P", "-u"}, "stdbuf": {"-i", "-o", "-e"}, "exec": {"-a"}, "chrt": {"-p"}, "taskset": {"-c", "-p"}, "time": {"-f", "-o", "--format", "--output"}, "flock": {"-w", "-E", "-c"},
	"dotenv": {"-f", "-e", "-p", "-v"}, "direnv": {}, "faketime": {"-f"}, "xvfb-run": {"-n", "-s", "-e", "-f", "-w", "-a"}, "arch": {"-arch", "-e"},
}

// Toolchain reports whether a program's first word chooses among the compilers that
// rustup has installed: cargo +nightly test.
func Toolchain(program, word string) bool {
	return slices.Contains([]string{"cargo", "rustc", "rustfmt"}, program) && toolchain.MatchString(word)
}

var toolchain = regexp.MustCompile(`^\+(?:stable|beta|nightly|[0-9]+\.[0-9.]+)(?:-[0-9a-z_-]+)?$`)
