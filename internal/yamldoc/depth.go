package yamldoc

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep a document's brackets may nest, and how many lists one
// line may start.
const maxDepth = 64

// CheckDepth refuses a document that nests deeper than people write. The parser's
// time grows with the square of the depth, so this check comes before any
// parsing. Errors are of type *Error.
func CheckDepth(file string, b []byte) error {
	deep, started, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(b)) {
		if t.Position.Line != line {
			started, line = 0, t.Position.Line
		}
		switch t.Type { //nolint:exhaustive // the others do not nest within a line
		case token.SequenceStartType, token.MappingStartType:
			deep++
		case token.SequenceEndType, token.MappingEndType:
			deep--
		case token.SequenceEntryType, token.MappingKeyType:
			started++
		}
		if deep > maxDepth || started > maxDepth {
			return &Error{File: file, Line: line, Column: t.Position.Column, Detail: fmt.Sprintf("it nests deeper than %d", maxDepth)}
		}
	}
	return nil
}
