// Package canon turns text into canonical views in which a disguised secret
// looks like the secret again.
//
// A view is a chain of incremental transducers. Each reads units (bytes that
// know which raw bytes they came from), keeps bounded state, and writes
// units. The units that a transducer writes depend on the units it read and
// on nothing else, in particular not on how its input was cut into calls. So
// every detector behind a view is independent of the chunks of a stream. The
// tests check this for each transducer.
//
//   - [Fold] undoes lookalikes: confusable and compatibility characters,
//     zero-width characters, combining marks.
//   - [Unescape] undoes one layer of backslash, percent and HTML escapes.
//   - [Decoder] undoes base64 (both alphabets), base32 and base16 in every
//     alignment, so that a secret is seen inside a longer encoded text.
//   - [Numbers] undoes lists of numbers, each a byte, in three bases.
//
// Skeleton and exact canonical text (see [Class]) leave separators out, which
// undoes spaces, dots, dashes, line breaks and list bullets put between the
// characters of a secret.
package canon

// Unit is one byte of a view and the raw bytes [Start, End) it came from.
// Starts do not decrease along a view.
type Unit struct {
	Start, End int64
	B          byte
	C          Class
}

// Class says how canonical texts treat a unit.
type Class uint8

const (
	// Junk is kept by no canonical text: control characters, invalid
	// UTF-8. In decoded data it separates (real text holds none).
	Junk Class = iota
	// Pad is the padding of an encoding: part of what is encoded, and no text.
	Pad
	// Space is white space; no canonical text keeps it.
	Space
	// Joiner is one of . - _ , which canonical texts drop, because
	// replacing and inserting them is the commonest disguise.
	Joiner
	// Punct is any other printable non-alphanumeric; exact text keeps it.
	Punct
	// Alnum is a letter or digit; skeleton and exact text keep it.
	Alnum
	// Break ends everything: no canonical text continues over it.
	Break
)

// classOf has the class of every byte; those beyond ASCII are junk by
// themselves.
var classOf = func() (t [256]Class) {
	for c := range t {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			t[c] = Alnum
		case c == ' ', c >= '\t' && c <= '\r':
			t[c] = Space
		case c == '.', c == '-', c == '_':
			t[c] = Joiner
		case c > ' ' && c < 0x7f:
			t[c] = Punct
		}
	}
	return t
}()

// IsSpace reports whether a byte is white space by itself.
func IsSpace(b byte) bool { return classOf[b] == Space }

// Units appends the bytes of p as raw units that begin at offset off.
func Units(dst []Unit, p []byte, off int64) []Unit {
	for i, b := range p {
		dst = append(dst, Unit{Start: off + int64(i), End: off + int64(i) + 1, B: b, C: classOf[b]})
	}
	return dst
}

// NoHold is the hold of a transducer that waits for nothing.
const NoHold = int64(1<<63 - 1)

// Skeleton returns the letters and digits of value after folding. It is what
// most secrets are recognised by.
func Skeleton(value []byte) []byte { return canonical(value, Alnum) }

// Exact returns the printable characters of value without white space and
// joiners, after folding. Secrets with too few letters and digits for a
// skeleton are recognised by it.
func Exact(value []byte) []byte { return canonical(value, Punct) }

func canonical(value []byte, least Class) []byte {
	var f Fold
	units := f.Close(f.Write(nil, Units(nil, value, 0)))
	out := make([]byte, 0, len(units))
	for _, u := range units {
		if u.C >= least && u.C != Break {
			out = append(out, u.B)
		}
	}
	return out
}

// confusables maps letters of other scripts to the ASCII letter that they
// look like in common fonts. Compatibility characters (fullwidth, enclosed,
// mathematical) are not here: NFKD maps them.
var confusables = func() map[rune]byte {
	m := map[rune]byte{}
	for ascii, lookalikes := range map[byte]string{
		'A': "ΑАᎪᗅꓮ", 'B': "ΒВᏴᗷꓐ", 'C': "СϹᏟꓚ", 'D': "Ꭰᗞꓓ", 'E': "ΕЕᎬꓰ", 'F': "Ϝᖴꓝ",
		'G': "ԌᏀᏳꓖ", 'H': "ΗНᎻᕼꓧ", 'I': "ΙІӀᏆꓲ", 'J': "ЈᎫᒍꓙͿ", 'K': "ΚКᏦꓗ", 'L': "ᏞᒪꓡⅬ",
		'M': "ΜМᎷᗰꓟϺ", 'N': "Νꓠ", 'O': "ΟОՕꓳ", 'P': "ΡРᏢᑭꓑ", 'Q': "ԚⵕꝖ", 'R': "ᎡᏒᖇꓣ",
		'S': "ЅՏᏕᏚꓢ", 'T': "ΤТᎢꓔ", 'U': "Սᑌꓴ", 'V': "ѴᏙᐯꓦ", 'W': "ԜᎳᏔꓪ", 'X': "ΧХᕁꓫ",
		'Y': "ΥҮᎩꓬ", 'Z': "ΖᏃꓜ",
		'a': "аɑα", 'b': "Ьᖯ", 'c': "сϲᴄ", 'd': "ԁᏧɗ", 'e': "еҽ", 'f': "ꞙẝ", 'g': "ɡցᶃ",
		'h': "һհᏂ", 'i': "іıɩⅰꙇӏ", 'j': "јϳ", 'k': "κкᴋ", 'l': "ⅼǀ", 'm': "ⅿм", 'n': "ոռη",
		'o': "оοօσᴏ", 'p': "рρ⍴", 'q': "ԛգզ", 'r': "гᴦⲅ", 's': "ѕꜱƽ", 't': "τтᴛ", 'u': "υսᴜʋ",
		'v': "νѵᴠ", 'w': "ԝաᴡѡ", 'x': "хχᕽ", 'y': "уүγʏ", 'z': "ᴢʐ",
		'0': "߀౦๐໐", '2': "Ƨϩᒿ", '3': "ЗӠƷ", '4': "Ꮞ", '5': "Ƽ", '6': "бᏮ", '8': "Ȣ৪",
		'-': "‐‑‒–—−⁃➖", '_': "ˍ", '.': "․", '/': "⁄∕", ':': "ː։׃∶", '=': "᐀⹀゠", '+': "᛭➕",
		'\'': "‘’‛′ʹʼ", '"': "“”‟″", '*': "∗⁎٭", '!': "ǃ", ',': "‚", ';': ";", '%': "٪", '&': "ꝸ", '|': "∣⏽", '~': "∼˜",
	} {
		for _, r := range lookalikes {
			m[r] = ascii
		}
	}
	return m
}()
