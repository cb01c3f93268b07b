package canon

// Bases are those in which [Numbers] reads, by their place in what it writes.
var Bases = [...]string{"decimal", "hexadecimal", "octal"}

const (
	inDecimal = 1 << iota
	inHex
	inOctal
)

// leastNumbers are the numbers of a list before it is decoded: nothing shorter
// than eight bytes is recognised.
const leastNumbers = 8

// Numbers finds lists of numbers from 0 to 255, each a byte: decimal,
// hexadecimal (also with 0x) and octal (also with 0o), with leading zeros and
// anything but letters and digits between them, up to MaxApart bytes. It
// decodes all three at once; a number starts with a digit. The zero value is
// ready.
type Numbers struct {
	in         bool // a number or a word is being read
	could      uint8
	n          uint8 // its characters
	value      [len(Bases)]uint16
	start, end int64

	kept [leastNumbers]number // the last ones, by count
	n8   uint8                // of the next in kept
	run  [len(Bases)]uint8    // how many in a row are numbers of a base
	on   [len(Bases)]bool     // which are decoded
}

type number struct {
	start, end int64
	value      [len(Bases)]uint8
}

// Reset forgets the text read so far.
func (d *Numbers) Reset() { *d = Numbers{} }

// Hold returns the offset from which raw text is still undecided here.
func (d *Numbers) Hold() int64 {
	hold := NoHold
	if d.idle() && !d.in {
		return hold
	}
	if d.in && d.could != 0 {
		hold = d.start
	}
	for b, n := range d.run {
		if n > 0 && !d.on[b] {
			hold = min(hold, d.kept[(d.n8-n)%leastNumbers].start)
		}
	}
	return hold
}

// idle reports whether no list has begun.
func (d *Numbers) idle() bool { return d.run == [len(Bases)]uint8{} }

// Expired is as [Decoder.Expired].
func (d *Numbers) Expired(at int64) bool {
	return (d.in || !d.idle()) && at-d.end > MaxApart
}

// Read is Write for raw bytes at off, none of which is more than ASCII.
func (d *Numbers) Read(out [][]Unit, p []byte, off int64) {
	for i := 0; i < len(p); i++ {
		if !d.in && d.idle() {
			// Only a number can begin a list. What is skipped changes nothing.
			word := false
			for ; i < len(p); i++ {
				k := tokenOf[p[i]]
				if k == tokenDigit && !word {
					break
				}
				word = k != 0
			}
			if i == len(p) {
				if word {
					d.in, d.could = true, 0
					d.end = off + int64(i)
				}
				return
			}
		}
		d.one(out, &Unit{Start: off + int64(i), End: off + int64(i) + 1, B: p[i], C: classOf[p[i]]})
	}
}

const (
	tokenLetter = 1
	tokenDigit  = 2
)

// tokenOf has what letters and digits are.
var tokenOf = func() (t [256]uint8) {
	for b := range t {
		switch {
		case b >= '0' && b <= '9':
			t[b] = tokenDigit
		case classOf[b] == Alnum:
			t[b] = tokenLetter
		}
	}
	return t
}()

// Write decodes in and appends what each base gives to out, by its place in
// Bases. A Break unit is appended where a list ends.
func (d *Numbers) Write(out [][]Unit, in []Unit) {
	for i := range in {
		d.one(out, &in[i])
	}
}

func (d *Numbers) one(out [][]Unit, u *Unit) {
	if u.C < Alnum || u.C == Break {
		if d.in {
			d.finish(out)
		}
		if u.C == Break {
			d.breakAll(out, u.Start)
		}
		return
	}
	if apart := u.Start-d.end > MaxApart; !d.in || apart {
		if d.in {
			d.finish(out) // what is too far behind it is not of it
		}
		if apart {
			d.breakAll(out, u.Start)
		}
		d.in, d.n, d.start, d.value = true, 0, u.Start, [len(Bases)]uint16{}
		if d.could = 0; u.B >= '0' && u.B <= '9' {
			d.could = inDecimal | inHex | inOctal
		}
	}
	d.end = u.End
	if d.could != 0 {
		d.digit(u.B)
	}
}

// digit reads one character of what may be a number.
func (d *Numbers) digit(c byte) {
	if d.n++; d.n == 2 && d.value[0] == 0 {
		switch c | 0x20 {
		case 'x':
			d.could = inHex
			return
		case 'o':
			d.could = inOctal
			return
		}
	}
	v, ok := hexDigit(c)
	if !ok || d.n > 8 {
		d.could = 0
		return
	}
	for b, base := range [...]uint16{10, 16, 8} {
		if d.could&(1<<b) == 0 {
			continue
		}
		if d.value[b] = d.value[b]*base + uint16(v); uint16(v) >= base || d.value[b] > 0xff {
			d.could &^= 1 << b
		}
	}
}

// finish ends a number or a word.
func (d *Numbers) finish(out [][]Unit) {
	d.in = false
	k := number{start: d.start, end: d.end}
	for b := range k.value {
		k.value[b] = uint8(d.value[b])
	}
	d.kept[d.n8%leastNumbers] = k
	d.n8++
	for b := range d.run {
		switch {
		case d.could&(1<<b) == 0:
			d.stop(out, b, d.start)
		case d.on[b]:
			out[b] = append(out[b], k.unit(b))
		default:
			if d.run[b]++; d.run[b] < leastNumbers {
				continue
			}
			d.on[b] = true
			for i := range uint8(leastNumbers) {
				out[b] = append(out[b], d.kept[(d.n8+i)%leastNumbers].unit(b))
			}
		}
	}
}

func (k *number) unit(base int) Unit {
	v := k.value[base]
	return Unit{Start: k.start, End: k.end, B: v, C: classOf[v]}
}

// stop ends the list of one base.
func (d *Numbers) stop(out [][]Unit, b int, at int64) {
	if d.on[b] {
		out[b] = append(out[b], Unit{Start: at, End: at, C: Break})
	}
	d.run[b], d.on[b] = 0, false
}

func (d *Numbers) breakAll(out [][]Unit, at int64) {
	for b := range d.run {
		d.stop(out, b, at)
	}
}

// Close ends the text.
func (d *Numbers) Close(out [][]Unit) {
	if d.in {
		d.finish(out)
	}
	d.breakAll(out, 0)
	d.Reset()
}
