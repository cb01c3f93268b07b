// Package sexpr reads S-expressions as solvers print them in answers: lists,
// symbols and numbers, bounded in depth and in digits. Strings, quoted
// symbols and comments are refused: no expected answer has any.
package sexpr

import (
	"bytes"
	"errors"
	"math/big"
)

// Expr is a symbol or a number, or a list.
type Expr struct {
	Word string // empty: a list
	List []Expr
}

// Limits of an expression. The time to read a number grows faster than the
// number of its digits.
const (
	maxDepth  = 16
	maxDigits = 4_096
)

// Errors of reading. They quote nothing of what was read.
var (
	errDepth = errors.New("it ends early, or is too deep")
	errChar  = errors.New("a character is not one of an answer")
	errList  = errors.New("not exactly one list")
	errPairs = errors.New("not one value for each symbol, in order")
	errNum   = errors.New("a value is not a number")
)

// ReadList reads out, which must be one list.
func ReadList(out []byte) ([]Expr, error) {
	e, rest, err := read(out, 0)
	if err != nil {
		return nil, err
	}
	if e.Word != "" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errList
	}
	return e.List, nil
}

// ReadValues reads the answer to get-value for some symbols: a list of pairs, of
// each symbol and its value. It returns the values.
func ReadValues(out []byte, symbols []string) ([]Expr, error) {
	pairs, err := ReadList(out)
	if err != nil {
		return nil, err
	}
	if len(pairs) != len(symbols) {
		return nil, errPairs
	}
	values := make([]Expr, len(pairs))
	for i, pair := range pairs {
		if len(pair.List) != 2 || pair.List[0].Word != symbols[i] {
			return nil, errPairs
		}
		values[i] = pair.List[1]
	}
	return values, nil
}

// read reads the expression at the start of out.
func read(out []byte, depth int) (Expr, []byte, error) {
	out = bytes.TrimLeft(out, " \t\r\n")
	if len(out) == 0 || depth > maxDepth {
		return Expr{}, nil, errDepth
	}
	if out[0] != '(' {
		n := 0
		for n < len(out) && plain(out[n]) {
			n++
		}
		if n == 0 {
			return Expr{}, nil, errChar
		}
		return Expr{Word: string(out[:n])}, out[n:], nil
	}
	e, out := Expr{List: []Expr{}}, out[1:]
	for {
		out = bytes.TrimLeft(out, " \t\r\n")
		if len(out) > 0 && out[0] == ')' {
			return e, out[1:], nil
		}
		item, rest, err := read(out, depth+1)
		if err != nil {
			return Expr{}, nil, err
		}
		e.List, out = append(e.List, item), rest
	}
}

// plain reports the characters of our symbols, of numbers, and of the names
// that solvers give to elements of a sort.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || bytes.IndexByte([]byte("!.-+/_"), c) >= 0
}

// Rat reads a number: a decimal, a negation or a quotient.
func (e *Expr) Rat() (*big.Rat, error) { return e.rat(0) }

func (e *Expr) rat(depth int) (*big.Rat, error) {
	if e.Word != "" {
		return decimal(e.Word)
	}
	var of [2]*big.Rat
	if len(e.List) < 2 || len(e.List) > 3 || depth > 4 {
		return nil, errNum
	}
	for i := range e.List[1:] {
		var err error
		if of[i], err = e.List[1+i].rat(depth + 1); err != nil {
			return nil, err
		}
	}
	switch {
	case e.List[0].Word == "-" && of[1] == nil:
		return of[0].Neg(of[0]), nil
	case e.List[0].Word == "/" && of[1] != nil && of[1].Sign() != 0:
		return of[0].Quo(of[0], of[1]), nil
	}
	return nil, errNum
}

func decimal(s string) (*big.Rat, error) {
	if len(s) > maxDigits {
		return nil, errNum
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c != '.' || i == 0 || i == len(s)-1) {
			return nil, errNum
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, errNum
	}
	return r, nil
}
