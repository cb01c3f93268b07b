package train

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What can be wrong with traces, besides the errors of monitor.Token.Check.
var (
	ErrSyntax     = errors.New("not a trace")
	ErrVersion    = errors.New("an unknown version of the trace format")
	ErrToken      = errors.New("an unknown token")
	ErrVocabulary = errors.New("another vocabulary than the set's")
	ErrEmpty      = errors.New("an empty output")
	ErrSpan       = errors.New("a span outside the output, or of no known secret")
	ErrNoTraces   = errors.New("no traces")
	ErrOneClass   = errors.New("one class only")
	ErrOverlap    = errors.New("training and evaluation share secrets")

	errQuoted = errors.New("a log-probability in quotes")
)

// Error says where a trace is wrong. It quotes nothing of it.
type Error struct {
	File  string
	Line  int // from 1; 0: the file or folder as a whole
	Token int // from 0; -1: the trace as a whole
	Err   error
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Token < 0:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: token %d: %v", e.File, e.Line, e.Token, e.Err)
}

// Unwrap returns the named error.
func (e *Error) Unwrap() error { return e.Err }

// lineLimit bounds a trace.
const lineLimit = 64 << 20

// Set is what a folder of traces has in common.
type Set struct {
	Vocabulary int
	Sources    []string // sorted
	Hash       string   // SHA-256 of the lines, in the order of reading
	Traces     int
	secrets    map[string]string // digest → where it is first named
}

// ReadTraces gives each trace of path to each: of a file, or of all .jsonl
// and .jsonl.gz files of a folder, by name. The first error ends it; one of
// each is returned as it is.
func ReadTraces(path string, each func(*Trace) error) (*Set, error) {
	files, err := list(path)
	if err != nil {
		return nil, err
	}
	set := &Set{secrets: map[string]string{}}
	sum := sha256.New()
	for _, file := range files {
		err := readFile(file, func(r io.Reader) error {
			return set.read(io.TeeReader(r, sum), file, each)
		})
		if err != nil {
			return nil, err
		}
	}
	if set.Traces == 0 {
		return nil, &Error{File: path, Token: -1, Err: ErrNoTraces}
	}
	slices.Sort(set.Sources)
	set.Hash = hex.EncodeToString(sum.Sum(nil))
	return set, nil
}

func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{File: path, Token: -1, Err: err}
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, &Error{File: path, Token: -1, Err: err}
	}
	var files []string
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && (strings.HasSuffix(n, ".jsonl") || strings.HasSuffix(n, ".jsonl.gz")) {
			files = append(files, filepath.Join(path, n))
		}
	}
	return files, nil
}

func readFile(path string, read func(io.Reader) error) error {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return &Error{File: path, Token: -1, Err: err}
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		return read(f)
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return &Error{File: path, Token: -1, Err: fmt.Errorf("%w: %w", ErrSyntax, err)}
	}
	return read(z)
}

// read reads the lines of one file.
func (set *Set) read(r io.Reader, file string, each func(*Trace) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), lineLimit)
	n := 0
	for lines.Scan() {
		n++
		t, at, err := parse(lines.Bytes())
		if err == nil {
			err = set.take(t, fmt.Sprintf("%s:%d", file, n))
		}
		if err != nil {
			return &Error{File: file, Line: n, Token: at, Err: err}
		}
		if err := each(t); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return &Error{File: file, Line: n + 1, Token: -1, Err: fmt.Errorf("%w: %w", ErrSyntax, err)}
	}
	return nil
}

// take compares a trace with those before.
func (set *Set) take(t *Trace, where string) error {
	if set.Traces == 0 {
		set.Vocabulary = t.Vocabulary
	}
	if t.Vocabulary != set.Vocabulary {
		return fmt.Errorf("%w: %d, not %d", ErrVocabulary, t.Vocabulary, set.Vocabulary)
	}
	if !slices.Contains(set.Sources, t.Source) {
		set.Sources = append(set.Sources, t.Source)
	}
	for _, d := range t.Secrets {
		if _, ok := set.secrets[d]; !ok {
			set.secrets[d] = where
		}
	}
	set.Traces++
	return nil
}

// Disjoint returns an error that wraps ErrOverlap if the two share a secret,
// or if one of them names none, so that nobody can tell.
func (set *Set) Disjoint(other *Set) error {
	if len(set.secrets) == 0 || len(other.secrets) == 0 {
		return fmt.Errorf("%w, for all that is known: no digests of secrets are recorded", ErrOverlap)
	}
	shared, first, there := 0, "", ""
	for d, where := range set.secrets {
		if at, ok := other.secrets[d]; ok {
			if shared++; first == "" || where < first {
				first, there = where, at
			}
		}
	}
	if shared > 0 {
		return fmt.Errorf("%w: %d of them, one in %s and %s", ErrOverlap, shared, first, there)
	}
	return nil
}

// parse reads and checks one line. at is the token at fault, or -1.
func parse(b []byte) (t *Trace, at int, err error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, -1, syntax(b, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, -1, fmt.Errorf("%w: more than one document in a line", ErrSyntax)
	}
	if l.Version != TraceVersion {
		return nil, -1, fmt.Errorf("%w: %d, not %d", ErrVersion, l.Version, TraceVersion)
	}
	for i := range l.Tokens {
		k := &l.Tokens[i]
		switch {
		case (k.Text == nil) == (k.Bytes == nil), k.Text != nil && *k.Text == "":
			return nil, i, fmt.Errorf("%w: it has no text", ErrToken)
		case k.Text != nil && (*k.Text == "<unk>" || *k.Text == "[UNK]"):
			return nil, i, fmt.Errorf("%w: the tokenizer's own mark of one", ErrToken)
		case len(k.Texts) != len(k.Logprobs):
			return nil, i, fmt.Errorf("%w: %d alternatives, %d log-probabilities", ErrLogprobs, len(k.Texts), len(k.Logprobs))
		}
	}
	t = l.trace()
	if at, err := t.check(); err != nil {
		return nil, at, err
	}
	return t, -1, nil
}

// syntax names an error of the decoder.
func syntax(b []byte, err error) error {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		// NaN and Infinity, which some writers put where JSON has no number.
		if from := int(s.Offset) - 1; from >= 0 && from < len(b) {
			rest := bytes.TrimPrefix(b[from:], []byte("-"))
			if bytes.HasPrefix(rest, []byte("NaN")) || bytes.HasPrefix(rest, []byte("Inf")) {
				return fmt.Errorf("%w, at byte %d", ErrNotFinite, from)
			}
		}
		return fmt.Errorf("%w: not JSON at byte %d", ErrSyntax, s.Offset)
	}
	if errors.Is(err, errQuoted) {
		return fmt.Errorf("%w: it is in quotes", ErrNotFinite)
	}
	var u *json.UnmarshalTypeError
	if errors.As(err, &u) {
		return fmt.Errorf("%w: %s is a JSON %s, at byte %d", ErrSyntax, u.Field, u.Value, u.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the line is empty or ends early", ErrSyntax)
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

// check checks a trace. at is the token at fault, or -1.
func (t *Trace) check() (at int, err error) {
	if len(t.Tokens) == 0 {
		return -1, ErrEmpty
	}
	size := 0
	for i := range t.Tokens {
		k := &t.Tokens[i]
		if err := CheckToken(k); err != nil {
			return i, err
		}
		if t.Vocabulary < len(k.Top) || t.Vocabulary < 2 {
			return i, fmt.Errorf("%w: %d alternatives, of a vocabulary of %d", ErrVocabulary, len(k.Top), t.Vocabulary)
		}
		size += len(k.Text)
	}
	for _, d := range t.Secrets {
		if b, err := hex.DecodeString(d); err != nil || len(b) != sha256.Size || d != strings.ToLower(d) {
			return -1, fmt.Errorf("%w: a digest that is not a SHA-256 in small hexadecimal", ErrSpan)
		}
	}
	for _, s := range t.Spans {
		if s.Start < 0 || s.Start >= s.End || s.End > size || !slices.Contains(t.Secrets, s.Secret) {
			return -1, fmt.Errorf("%w: bytes %d to %d of %d", ErrSpan, s.Start, s.End, size)
		}
	}
	return -1, nil
}

// Digest is how traces name a secret.
func Digest(value string) string {
	sum := sha256.Sum256([]byte("margay-bench-secret\x00" + value))
	return hex.EncodeToString(sum[:])
}
