package scan

// position turns offsets into lines while a text is read. It remembers the
// starts of recent lines only.
type position struct {
	offset int64
	line   int     // number of the line that starts[0] begins
	starts []int64 // ascending; the first may lie far back
}

func newPosition() *position { return &position{line: 1, starts: []int64{0}} }

func (p *position) write(b []byte) {
	for i, c := range b {
		if c == '\n' {
			p.starts = append(p.starts, p.offset+int64(i)+1)
		}
	}
	p.offset += int64(len(b))
}

// of returns the line and the column of an offset, both from 1.
func (p *position) of(at int64) (line, col int) {
	i := len(p.starts) - 1
	for i > 0 && p.starts[i] > at {
		i--
	}
	return p.line + i, int(at-p.starts[i]) + 1
}

// forget drops the lines that end before an offset.
func (p *position) forget(before int64) {
	n := 0
	for n+1 < len(p.starts) && p.starts[n+1] <= before {
		n++
	}
	p.line += n
	p.starts = p.starts[:copy(p.starts, p.starts[n:])]
}
