package stream

import "github.com/margaydev/margay/stream/cut"

// Editor is a Scanner that keeps the text and gives it back edited. It is not
// safe for concurrent use.
type Editor struct {
	s   *Scanner
	out cut.Released
}

// NewEditor returns an editor for one text.
func (c *Config) NewEditor() *Editor { return &Editor{s: c.newScanner(true)} }

// Write reads p and appends to dst what may go out.
func (e *Editor) Write(dst, p []byte) []byte {
	if len(p) > batch {
		e.s.text.Grow(len(p)) // it keeps all of it
	}
	e.s.Write(p)
	return e.flush(dst)
}

// Close ends the text and appends the rest to dst.
func (e *Editor) Close(dst []byte) []byte {
	e.s.Close()
	return e.flush(dst)
}

// Held returns the bytes held back.
func (e *Editor) Held() int { return int(e.s.Len() - e.s.Cut()) }

// Findings returns what was found so far.
func (e *Editor) Findings() []Finding { return e.s.Findings() }

func (e *Editor) flush(dst []byte) []byte {
	e.s.text.Release(&e.out, e.s.Cut())
	dst = append(dst, e.out.Bytes()...)
	e.out.Reset()
	return dst
}

// Text edits a whole text at once. It gives what an Editor gives for any cut
// of the text into writes. If nothing is edited, out is text itself.
func (c *Config) Text(text []byte) (out []byte, findings []Finding) {
	edits, findings := c.Scan(text)
	if len(edits) > 0 {
		text = cut.Apply(nil, edits, 0, text)
	}
	return text, findings
}

// Scan returns the edits of a whole text, and what was found in it.
func (c *Config) Scan(text []byte) ([]Edit, []Finding) {
	s := c.NewScanner()
	s.Write(text)
	s.Close()
	return s.Edits(nil), s.Findings()
}
