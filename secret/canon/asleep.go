package canon

// textState is what a [Sieve] that lets nothing through has read: how many bytes
// of a text, times 8, and how much of a character.
type textState = uint8

// isText is the least state of a text that is let through.
const isText textState = leastText << 3

// textStep has the state behind each byte.
var textStep = func() (t [isText + 8][256]textState) {
	for s := range t {
		for b := range 256 {
			n, utf := uint8(s)>>3, utf8State(s&7)
			u := Unit{B: byte(b), C: classOf[b]}
			switch next := utf.next(byte(b)); {
			case utf == 0 && b < 0x80 && u.C == Junk:
				n, utf = 0, 0
			case next != notUTF8:
				n, utf = min(n+1, leastText), next
			case utf != 0 && startsText(&u):
				n, utf = 1, utf8State(0).next(byte(b))
			default:
				n, utf = 0, 0
			}
			t[s][b] = n<<3 | uint8(utf)
		}
	}
	return t
}()

// Read reads the raw bytes p, which are at off, behind the bytes back, as Write
// would, up to the first that ends a text of what is decoded. It returns how many
// it read, and whether there is such a text: then the decoder is to be woken.
// back has at least 16 bytes, or all there are.
func (d *Decoder) Read(p []byte, off int64, back []byte) (n int, text bool) {
	if d.Enc == Base16 {
		return d.readHex(p, off)
	}
	for n < len(p) {
		if d.active {
			d.asleep = true
			var k int
			if k, text = d.readAsleep(p[n:], off+int64(n)); text {
				return n + k, true
			}
			n += k
			continue
		}
		if d.count > 0 && !d.bare {
			// The run began in units: they are not the last raw bytes.
			at := off + int64(n)
			u := Unit{Start: at, End: at + 1, B: p[n], C: classOf[p[n]]}
			in := d.Enc.value[u.B] >= 0
			n++
			d.pass(&u, in)
			if d.active = d.count == uint32(d.Enc.least); d.active && d.sleep() {
				return n, true
			}
			continue
		}
		i, count, least := n, int32(d.count), int32(d.Enc.least)
		for ; i < len(p); i++ {
			if count = (count + 1) & d.Enc.member[p[i]]; count == least {
				break
			}
		}
		d.count, d.bare = uint32(count), true
		if i == len(p) {
			d.last = off + int64(i)
			return i, false
		}
		n, d.last = i+1, off+int64(i)+1
		d.fill(p[:n], back)
		d.active = true
		if d.sleep() {
			return n, true
		}
	}
	return n, text
}

// ReadIdle moves the decoders, base64, base32 and base16, over raw bytes as Read
// does, all at once while none of them is active, and returns how many bytes it
// read.
func ReadIdle(d64, d32, d16 *Decoder, p []byte, off int64) int {
	for _, d := range []*Decoder{d64, d32, d16} {
		if d.active || d.count > 0 && !d.bare {
			return 0
		}
		d.bare = true
	}
	// A byte each has the counts of the three.
	r := d64.count | d32.count<<8 | d16.count<<16
	n := 0
	for ; n < len(p); n++ {
		b := p[n]
		d16.spots[r>>16&(maxLeast-1)] = uint64(off+int64(n))<<8 | uint64(b)
		lane := &laneOf[b]
		next := (r + lane.add) & lane.mask
		if (next+reached)&0x808080 != 0 {
			break
		}
		r = next
	}
	d64.count, d32.count, d16.count = r&0xff, r>>8&0xff, r>>16&0xff
	d64.last, d32.last = off+int64(n), off+int64(n)
	if d16.count > 0 {
		d16.last = int64(d16.spots[d16.count-1]>>8) + 1
		d16.apart()
	}
	return n
}

// RunEnd returns how many bytes at the front of p are of base64's alphabet, which has
// all others.
func RunEnd(p []byte) int {
	for i, b := range p {
		if memberOf[b] == 0 {
			return i
		}
	}
	return len(p)
}

// reached makes the top bit of the byte whose count is that of a run.
const reached = 0x80 - 11 | (0x80-13)<<8 | (0x80-maxLeast)<<16

// laneOf says what a byte does to the counts of ReadIdle.
var laneOf = func() (t [256]struct{ add, mask uint32 }) {
	for b := range t {
		for i, e := range []*Encoding{Base64, Base32, Base16} {
			in, kept := e.value[b] >= 0, e == Base16 && classOf[b] != Alnum
			if in {
				t[b].add |= 1 << (8 * i)
			}
			if in || kept {
				t[b].mask |= 0xff << (8 * i)
			}
		}
	}
	return t
}()

// apart forgets the characters of a bare base16 run before the last that is too far
// from the one before.
func (d *Decoder) apart() {
	if d.spots[d.count-1]>>8-d.spots[0]>>8 <= MaxApart {
		return
	}
	for i := d.count - 1; i > 0; i-- {
		if d.spots[i]>>8-(d.spots[i-1]>>8+1) > MaxApart {
			d.count = uint32(copy(d.spots[:], d.spots[i:d.count]))
			return
		}
	}
}

// Fill gives a run that was read as raw bytes its units: back are the last bytes
// read, as of Read.
func (d *Decoder) Fill(back []byte) {
	switch {
	case !d.bare:
	case d.Enc == Base16:
		for i := range d.count {
			at, b := int64(d.spots[i]>>8), byte(d.spots[i])
			*d.at(i) = Unit{Start: at, End: at + 1, B: b, C: classOf[b]}
		}
		d.bare = false
	default:
		d.fill(nil, back)
	}
}

// Bare makes a run that is not decoded yet one that ReadIdle reads on, if it is of
// raw bytes alone.
func (d *Decoder) Bare() {
	if d.active || d.bare || d.Enc != Base16 {
		return
	}
	for i := range d.count {
		u := d.at(i)
		if u.End != u.Start+1 {
			return
		}
		d.spots[i] = uint64(u.Start)<<8 | uint64(u.B)
	}
	d.bare = true
}

// fill gives a bare run, whose last bytes are the last of back and p, its units.
func (d *Decoder) fill(p, back []byte) {
	for i := range d.count {
		left := int(d.count - i)
		var b byte
		if left <= len(p) {
			b = p[len(p)-left]
		} else {
			b = back[len(back)+len(p)-left]
		}
		at := d.last - int64(left)
		*d.at(i) = Unit{Start: at, End: at + 1, B: b, C: classOf[b]}
	}
	d.bare = false
}

// readAsleep reads on in a run that has no text yet.
func (d *Decoder) readAsleep(p []byte, off int64) (n int, text bool) {
	for i, b := range p {
		v := d.Enc.value[b]
		at := off + int64(i)
		if v < 0 {
			switch {
			case d.Enc.skip && b == '=' && at-d.last <= MaxApart:
				d.padded, d.text = true, [8]textState{}
			case d.Enc.skip && (b == '\n' || b == '\r'):
				d.line = true
			case d.line && (b == ' ' || b == '\t'):
			default:
				d.Reset()
				return i + 1, false
			}
			continue
		}
		d.line = false
		if d.padded || at-d.last > MaxApart {
			d.Reset()
			d.count, d.last, d.bare = 1, at+1, true
			return i + 1, false
		}
		d.push(&Unit{Start: at, End: at + 1, B: b, C: classOf[b]})
		if d.see(uint64(v)) {
			return i + 1, true
		}
	}
	return len(p), false
}

// see decodes one character and reports whether it ends a text.
func (d *Decoder) see(v uint64) (text bool) {
	d.acc = d.acc<<d.Enc.bits | v
	c, mask := d.count-1, uint32(d.Enc.Phases-1)
	for _, e := range d.Enc.ends {
		a := (c - uint32(e.back)) & mask & 7
		s := textStep[d.text[a]][byte(d.acc>>e.bits)]
		d.text[a] = s
		text = text || s >= isText
	}
	return text
}

// readHex is Read for base16, whose runs go on over what is no letter or digit.
func (d *Decoder) readHex(p []byte, off int64) (n int, text bool) {
	d.Fill(nil)
	for i, b := range p {
		if classOf[b] != Alnum {
			continue
		}
		v, at := d.Enc.value[b], off+int64(i)
		if v < 0 {
			d.count, d.active, d.asleep, d.slept = 0, false, false, false
			continue
		}
		if at-d.last > MaxApart {
			d.count, d.active, d.asleep, d.slept = 0, false, false, false
		}
		d.push(&Unit{Start: at, End: at + 1, B: b, C: Alnum})
		switch {
		case d.active:
			d.asleep = true
			text = d.see(uint64(v))
		case d.count == uint32(d.Enc.least):
			d.active = true
			text = d.sleep()
		}
		if text {
			return i + 1, true
		}
	}
	return len(p), false
}

// Sleep has an active decoder decode no more than it must, and reports whether it
// does: then the sieves behind it, which let nothing through, are to be reset.
func (d *Decoder) Sleep() bool {
	if !d.active || d.asleep {
		return false
	}
	d.sleep()
	d.slept = true
	return true
}

// sleep works out what the last characters are, and reports whether text is
// among them.
func (d *Decoder) sleep() (text bool) {
	count, mask, e := d.count, uint32(d.Enc.Phases-1)&7, d.Enc
	d.asleep = true
	from := count - min(count, ringLen)
	acc, states, most := d.acc, [8]textState{}, textState(0)
	for c := from; c < count; c++ {
		acc = acc<<e.bits | uint64(e.value[d.ring[c%ringLen].B])
		for _, end := range e.ends {
			if c-from < uint32(end.back) {
				continue // its first character came before
			}
			a := (c - uint32(end.back)) & mask
			states[a] = textStep[states[a]][byte(acc>>end.bits)]
			most = max(most, states[a])
		}
	}
	d.acc, d.text = acc, states
	return most >= isText
}

// Wake decodes the run on, and appends to out, which is empty, what may be text of
// what it has given and was not given before.
func (d *Decoder) Wake(out [][]Unit) {
	if !d.asleep {
		return
	}
	d.asleep = false
	d.start(out, d.count-min(d.count, ringLen))
	if d.slept {
		from := d.count - min(d.count, ringLen)
		for i := range out {
			a := (uint32(i) + from) & uint32(d.Enc.Phases-1) & 7
			out[i] = append(out[i][:0], out[i][len(out[i])-int(d.text[a]>>3):]...)
		}
	}
}

// holdAsleep is where the text begins that the last characters may be of.
func (d *Decoder) holdAsleep() int64 {
	least := d.count
	for a := range uint32(d.Enc.Phases) {
		bits := uint32(d.Enc.bits)
		left := (d.count - a) % uint32(d.Enc.Phases) * bits % 8
		left += 8 * uint32(d.text[a]>>3)
		if left > 0 {
			least = min(least, d.count-(left+bits-1)/bits)
		}
	}
	if least == d.count {
		return NoHold
	}
	return d.at(least).Start
}
