package canon

// Encoding is a way to write bytes as a run of characters of an alphabet.
type Encoding struct {
	Name   string
	bits   uint8 // per character
	Phases int   // alignments in which a text can lie in a run
	least  int   // characters of a run before it is decoded
	skip   bool  // a decoded run goes on over line ends and indentation
	value  [256]int8
	member [256]int32 // all ones for a character of the alphabet
	ends   []shift    // where bytes end
}

// shift says that in the alignment whose first character is so many characters
// back, a byte ends with a character, so many bits before that ends.
type shift struct{ back, bits uint8 }

func encoding(name string, bits uint8, phases, least int, skip bool, alphabets ...string) *Encoding {
	e := &Encoding{Name: name, bits: bits, Phases: phases, least: least, skip: skip}
	for i := range e.value {
		e.value[i] = -1
	}
	for _, a := range alphabets {
		for i := range len(a) {
			e.value[a[i]] = int8(i)
			e.member[a[i]] = -1
		}
	}
	for i := range uint8(phases) {
		if had, has := i*bits/8, (i+1)*bits/8; has > had {
			e.ends = append(e.ends, shift{i, (i + 1) * bits % 8})
		}
	}
	return e
}

const (
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	digits = "0123456789"
)

// The encodings. A run shorter than what eight bytes encode to is not
// decoded: nothing that short is recognised.
var (
	Base64 = encoding("base64", 6, 4, 11, true, upper+lower+digits+"+/", upper+lower+digits+"-_")
	Base32 = encoding("base32", 5, 8, 13, true, upper+"234567", lower+"234567")
	Base16 = encoding("base16", 4, 2, 16, false, digits+"ABCDEF", digits+"abcdef")
)

// maxLeast is the most characters that a run has before it is decoded.
const maxLeast = 16

// MaxApart is how many raw bytes may be between two characters of one run
// of an encoding, and of one secret.
const MaxApart = 256

// Decoder finds runs of an encoding's alphabet and decodes them in every
// alignment at once. Base16 runs go on over separators (their units are
// expected to be filtered to letters and digits by the caller), base64 and
// base32 runs over line ends.
//
// It reads units with Write, or raw bytes with Read. Read decodes a run only as
// far as to see that none of it is text, as a [Sieve] would say: the decoder
// is asleep. Wake gives what a run that is text has so far, and from then on
// Write reads it.
type Decoder struct {
	Enc    *Encoding
	ring   [ringLen]Unit // the last characters of the run, by count
	count  uint32        // characters of the run
	last   int64         // where the last one ends
	active bool
	line   bool // after a line end inside a run
	padded bool // after padding
	bare   bool // the ring is not filled in: the run is the last raw bytes, or spots
	phases [8]phase

	spots  [maxLeast]uint64 // of a bare base16 run: offset and byte of each character
	asleep bool
	slept  bool         // some of the run was given already
	acc    uint64       // asleep: the bits of the last characters
	text   [8]textState // asleep: what the bytes are, by alignment
}

// ringLen characters are more than what is less than a text, in any alignment.
const ringLen = 32

type phase struct {
	acc   uint32
	bits  uint8
	skip  uint8
	start int64 // of the character that the next byte starts in
}

// Active reports whether a run is being decoded.
func (d *Decoder) Active() bool { return d.active }

// Asleep reports whether a run is being decoded that has no text at its end.
func (d *Decoder) Asleep() bool { return d.asleep }

// Reset forgets the text read so far.
func (d *Decoder) Reset() {
	d.count, d.active, d.line, d.padded, d.bare, d.asleep, d.slept = 0, false, false, false, false, false, false
}

// at returns the character of the run with a number, one of the last.
func (d *Decoder) at(i uint32) *Unit { return &d.ring[i%ringLen] }

// Hold returns the offset from which raw text is still undecided here.
func (d *Decoder) Hold() int64 {
	hold := NoHold
	switch {
	case d.asleep:
		return d.holdAsleep()
	case d.active:
		for i := range d.Enc.Phases {
			if p := &d.phases[i]; p.bits > 0 {
				hold = min(hold, p.start)
			}
		}
	case d.count == 0:
	case d.bare && d.Enc == Base16:
		hold = int64(d.spots[0] >> 8)
	case d.bare:
		hold = d.last - int64(d.count)
	default:
		hold = d.at(0).Start
	}
	return hold
}

// Idle moves decoders that are not active over the first units of in, up to
// one that may make one of them active, and returns how many that were. It
// does what Write does, for all at once: the base16 decoder, last, sees
// letters and digits alone.
func Idle(d64, d32, d16 *Decoder, in []Unit) int {
	if d64.active || d32.active || d16.active {
		return 0
	}
	for i := range in {
		u := &in[i]
		m := memberOf[u.B]
		if u.C == Break {
			m = 0
		}
		if m&1 != 0 && d64.count+1 == uint32(Base64.least) || m&2 != 0 && d32.count+1 == uint32(Base32.least) || m&4 != 0 && d16.count+1 == uint32(Base16.least) {
			return i
		}
		d64.pass(u, m&1 != 0)
		d32.pass(u, m&2 != 0)
		if u.C >= Alnum {
			d16.pass(u, m&4 != 0)
		}
	}
	return len(in)
}

func (d *Decoder) pass(u *Unit, in bool) {
	if !in {
		d.count = 0
		return
	}
	if u.Start-d.last > MaxApart {
		d.count = 0
	}
	d.push(u)
}

func (d *Decoder) push(u *Unit) {
	d.last = u.End
	*d.at(d.count) = *u
	d.count++
}

// memberOf has the alphabets that a byte is in, a bit each.
var memberOf = func() (t [256]uint8) {
	for i, e := range []*Encoding{Base64, Base32, Base16} {
		for b := range t {
			if e.value[b] >= 0 {
				t[b] |= 1 << i
			}
		}
	}
	return t
}()

// Write decodes in and appends what each alignment gives to out[alignment]. A
// Break unit is appended to all of them where a run ends. The decoder is
// neither asleep nor bare.
func (d *Decoder) Write(out [][]Unit, in []Unit) {
	for i := range in {
		u := &in[i]
		v := d.Enc.value[u.B]
		if v >= 0 && u.C != Break {
			d.line = false
			if d.padded || u.Start-d.last > MaxApart {
				d.end(out, u.Start)
			}
			d.push(u)
			if d.active {
				d.step(out, uint32(v), u)
			} else if d.count == uint32(d.Enc.least) {
				d.start(out, 0)
			}
			continue
		}
		if d.count == 0 && !d.active {
			continue
		}
		if d.active && d.Enc.skip && u.B == '=' && u.Start-d.last <= MaxApart {
			d.padded = true
			for p := range d.Enc.Phases {
				out[p] = append(out[p], Unit{Start: u.Start, End: u.End, B: '=', C: Pad})
			}
			continue
		}
		if d.active && d.Enc.skip && (u.B == '\n' || u.B == '\r') {
			d.line = true
			continue
		}
		if d.line && (u.B == ' ' || u.B == '\t') {
			continue
		}
		d.end(out, u.Start)
	}
}

// Expired reports whether a run can't go on because nothing of it was read for
// MaxApart raw bytes: the text is read up to at.
func (d *Decoder) Expired(at int64) bool {
	return (d.active || d.count > 0) && at-d.last > MaxApart
}

// Close ends the text.
func (d *Decoder) Close(out [][]Unit) { d.end(out, 0) }

// start decodes the run from a character on.
func (d *Decoder) start(out [][]Unit, from uint32) {
	d.active = true
	for i := range d.Enc.Phases {
		d.phases[i] = phase{skip: uint8(i)}
	}
	for i := from; i < d.count; i++ {
		d.step(out, uint32(d.Enc.value[d.at(i).B]), d.at(i))
	}
}

func (d *Decoder) step(out [][]Unit, v uint32, u *Unit) {
	bits := d.Enc.bits
	for i := range d.Enc.Phases {
		p := &d.phases[i]
		if p.skip > 0 {
			p.skip--
			continue
		}
		if p.bits == 0 {
			p.start = u.Start
		}
		p.acc = p.acc<<bits | v
		p.bits += bits
		if p.bits < 8 {
			continue
		}
		p.bits -= 8
		b := byte(p.acc >> p.bits)
		out[i] = append(out[i], Unit{Start: p.start, End: u.End, B: b, C: classOf[b]})
		p.start = u.Start
	}
}

func (d *Decoder) end(out [][]Unit, at int64) {
	if d.active && !d.asleep {
		for i := range d.Enc.Phases {
			out[i] = append(out[i], Unit{Start: at, End: at, C: Break})
		}
	}
	d.Reset()
}
