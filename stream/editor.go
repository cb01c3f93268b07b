package stream

// Editor is a Scanner that keeps the text and gives it back edited. It is not
// safe for concurrent use.
type Editor struct {
	s     *Scanner
	text  []byte // raw bytes from base on, not yet given back
	base  int64
	edits []Edit
}

// NewEditor returns an editor for one text.
func (c *Config) NewEditor() *Editor { return &Editor{s: c.NewScanner()} }

// Write reads p and appends to dst what may go out.
func (e *Editor) Write(dst, p []byte) []byte {
	e.text = append(e.text, p...)
	e.s.Write(p)
	return e.flush(dst)
}

// Close ends the text and appends the rest to dst.
func (e *Editor) Close(dst []byte) []byte {
	e.s.Close()
	return e.flush(dst)
}

// Held returns the bytes held back.
func (e *Editor) Held() int { return len(e.text) }

// Findings returns what was found so far.
func (e *Editor) Findings() []Finding { return e.s.Findings() }

func (e *Editor) flush(dst []byte) []byte {
	e.edits = e.s.Edits(e.edits[:0])
	at := e.base
	for _, x := range e.edits {
		dst = append(dst, e.text[at-e.base:x.Start-e.base]...)
		dst = append(dst, x.Text...)
		at = x.End
	}
	cut := e.s.Cut()
	dst = append(dst, e.text[at-e.base:cut-e.base]...)
	e.text = e.text[:copy(e.text, e.text[cut-e.base:])]
	e.base = cut
	return dst
}

// Text edits a whole text at once. It gives what an Editor gives for any cut
// of the text into writes. If nothing is edited, out is text itself.
func (c *Config) Text(text []byte) (out []byte, findings []Finding) {
	s := c.NewScanner()
	s.Write(text)
	s.Close()
	edits := s.Edits(nil)
	if len(edits) == 0 {
		return text, s.Findings()
	}
	at := int64(0)
	for _, x := range edits {
		out = append(out, text[at:x.Start]...)
		out = append(out, x.Text...)
		at = x.End
	}
	return append(out, text[at:]...), s.Findings()
}
