package report

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/margaydev/margay/ledger"
)

const domain = "margay report v1\x00"

// MaxFile bounds the file that Verify reads.
const MaxFile = 128 << 20

// encode returns a value as JSON in ASCII, so that nothing in it can change how
// the rest of a file looks, or end an element of a page.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if c == 0x7f {
				out = append(out, `\u007f`...)
			} else {
				out = append(out, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		i += n
		for _, u := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, u)
		}
	}
	return out, nil
}

// text is what the signature is over.
func (d *Document) text() ([]byte, error) {
	c := *d
	c.Signature = nil
	b, err := encode(&c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return append([]byte(domain), sum[:]...), nil
}

// signed returns the document as it is once it was written and read again,
// with its signature.
func (d *Document) signed(key ed25519.PrivateKey) (*Document, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	out := &Document{}
	if err := json.Unmarshal(b, out); err != nil {
		return nil, err
	}
	text, err := out.text()
	if err != nil {
		return nil, err
	}
	out.Signature = ed25519.Sign(key, text)
	return out, nil
}

// Encode returns the document as a JSON file.
func (d *Document) Encode() ([]byte, error) {
	b, err := encode(d)
	return fits(append(b, '\n'), err)
}

func fits(b []byte, err error) ([]byte, error) {
	if err == nil && len(b) > MaxFile {
		err = fmt.Errorf("it would have %d MiB, and at most %d can be verified: ask for less", len(b)>>20, MaxFile>>20)
	}
	return b, err
}

// Finding is one thing that is wrong with a file.
type Finding struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// Rules of a file. Those of the export that it carries have the prefix "ledger-".
const (
	RuleFraming   = "framing"   // it holds no report that can be read
	RuleVersion   = "version"   // it is of a format or page that this program does not know
	RuleForeign   = "foreign"   // it was made under another key
	RuleSignature = "signature" // what it says was changed
	RulePage      = "page"      // what the file shows is not what it says
	RuleLedger    = "ledger"    // what it says of the ledger is not what its export says
)

// Check is how a file is verified.
type Check struct {
	// Key is the ledger's public key, from a source other than the file.
	Key ed25519.PublicKey
	// Head is a checkpoint of the whole ledger that was kept; nil for none.
	Head *ledger.Checkpoint
}

// ErrPart says that a report with a part of a ledger can't be compared with a
// head, which is of all of it.
var ErrPart = errors.New("the report has a part of the ledger, and a head is of all of it")

// Result is the outcome of the check of a file.
type Result struct {
	Document *Document // nil if it can't be read
	Ledger   *ledger.Report
	Findings []Finding
}

func (r *Result) found(rule, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{rule, fmt.Sprintf(format, args...)})
}

// Verify checks every byte of a file: it reads the document in it, holds it to
// its signature, makes the file anew and compares, and verifies the export and
// the ledger part of the document. It needs only the file and the key. The error
// is one of reading, or ErrPart; findings are in the result.
func Verify(ctx context.Context, in io.Reader, c Check) (*Result, error) {
	if len(c.Key) != ed25519.PublicKeySize {
		return nil, errors.New("an Ed25519 public key is needed to verify a report")
	}
	b, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if len(b) > MaxFile {
		r.found(RuleFraming, "it is larger than a report can be")
		return r, nil
	}
	data, page, ok := dataOf(b)
	d := &Document{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if !ok || dec.Decode(d) != nil {
		r.found(RuleFraming, "no report can be read from it")
		return r, nil
	}
	if d.Format != Format || d.Page != Page {
		// The checks that follow would prove nothing about such a file.
		r.found(RuleVersion, "its format or page is one that this program does not make: verify it with the version of margay that made it")
		return r, nil
	}
	r.Document = d
	if d.Key != KeyText(c.Key) {
		r.found(RuleForeign, "it names another key than the one given")
	}
	text, err := d.text()
	if err != nil || !ed25519.Verify(c.Key, text, d.Signature) {
		r.found(RuleSignature, "it was changed, or signed by another key")
	}
	again := d.Encode
	if page {
		again = d.Render
	}
	if same, err := again(); err != nil || !bytes.Equal(same, b) {
		r.found(RulePage, "the file is not the page of its data: do not believe what it shows")
	}
	if c.Head != nil && !d.Scope.Whole {
		if len(r.Findings) > 0 {
			return r, nil
		}
		return nil, ErrPart
	}
	return r, r.ledger(ctx, d, &c)
}

// ledger checks the export, and the document's part about the ledger.
func (r *Result) ledger(ctx context.Context, d *Document, c *Check) error {
	derived, sound, err := ledgerOf(ctx, d.Export, c.Key, c.Head)
	if err != nil {
		return err
	}
	r.Ledger = sound
	for i := range sound.Findings {
		r.found("ledger-"+string(sound.Findings[i].Rule), "%s", sound.Findings[i].String())
	}
	if sound.More > 0 {
		r.found(RuleLedger, "%d more findings of the ledger's part", sound.More)
	}
	want, err := json.Marshal(derived)
	if err != nil {
		return err
	}
	if got, err := json.Marshal(&d.Ledger); err != nil || !bytes.Equal(got, want) {
		r.found(RuleLedger, "its part about the ledger does not follow from its export")
	}
	return nil
}

const (
	dataBegin = `<script type="application/json" id="margay-report">`
	dataEnd   = "</script>\n</body>\n</html>\n"
)

// dataOf finds the document in a file.
func dataOf(b []byte) (data []byte, page, ok bool) {
	if len(b) > 0 && b[0] == '{' {
		return b, false, true
	}
	i := bytes.LastIndex(b, []byte(dataBegin))
	if i < 0 {
		return nil, true, false
	}
	data = b[i+len(dataBegin):]
	end := bytes.Index(data, []byte("</script>"))
	if end < 0 {
		return nil, true, false
	}
	return data[:end], true, true
}

// styleHash is the style sheet's hash in the page's policy.
func styleHash(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
