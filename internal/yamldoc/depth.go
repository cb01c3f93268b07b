package yamldoc

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep a document's brackets nest, and how many lists one line
// begins.
const maxDepth = 64

// Shallow says whether a document nests no deeper than people write. The
// parser's time grows with the square of the depth, so nothing is parsed that
// was not asked for it. Errors are of type *Error.
func Shallow(file string, b []byte) error {
	deep, begun, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(b)) {
		if t.Position.Line != line {
			begun, line = 0, t.Position.Line
		}
		switch t.Type { //nolint:exhaustive // the others do not nest within a line
		case token.SequenceStartType, token.MappingStartType:
			deep++
		case token.SequenceEndType, token.MappingEndType:
			deep--
		case token.SequenceEntryType, token.MappingKeyType:
			begun++
		}
		if deep > maxDepth || begun > maxDepth {
			return &Error{File: file, Line: line, Column: t.Position.Column, Detail: fmt.Sprintf("it nests deeper than %d", maxDepth)}
		}
	}
	return nil
}
