package inline

import (
	"slices"
	"strings"
)

// Interpreter is how an interpreter takes code.
type Interpreter struct {
	Code     []string               // flags that are followed by code
	Taking   []string               // other flags that take a value
	Harmless func(text string) bool // says whether code only computes; nil: never
}

var interpreters = map[string]Interpreter{
	"python": {[]string{"-c"}, []string{"-W", "-X"}, Python},
	"node":   {[]string{"-e", "--eval", "-p", "--print", "-pe"}, []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C"}, JavaScript},
	"perl":   {[]string{"-e", "-E"}, []string{"-I", "-M", "-m"}, nil},
	"ruby":   {[]string{"-e"}, []string{"-I", "-r", "-C"}, nil},
	"php":    {[]string{"-r", "-B", "-R", "-E"}, []string{"-d", "-c", "-S", "-t"}, nil},
}

// Clusters reports whether a word may be flags with the one that code follows among
// them, or with code behind it: python3 -Ic, ruby -ne.
func (i *Interpreter) Clusters(word string) bool {
	return len(i.Code) > 0 && len(word) > 2 && word[0] == '-' && word[1] != '-' && !slices.Contains(i.Code, word) && strings.Contains(word, i.Code[0][1:2])
}

// InterpreterOf is how a program takes code, by its name.
func InterpreterOf(program string) Interpreter {
	switch {
	case strings.HasPrefix(program, "python") || strings.HasPrefix(program, "pypy"):
		return interpreters["python"]
	case program == "nodejs":
		return interpreters["node"]
	}
	if it, ok := interpreters[program]; ok {
		return it
	}
	return Interpreter{Code: []string{"-e", "-c", "-ex", "--eval", "-E", "--batch", "-x"}}
}
