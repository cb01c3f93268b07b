package observe

import (
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/idnumber"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/document"
)

// Unknown is the result of a tool that no pack knows: a stranger's, but for values
// that carry no instruction by their form, and by what they are called.
//
// A one-time code, the number of an order or a date can be wrong. It can't say what
// to do. What names a person, an account, a place or a sum may lead an act astray
// all the same, so that such values are a stranger's here in whatever form.
//
// Own: the other values are the user's own records.
func Unknown(s *Scheme, tool, text string, own bool) Result {
	out := Result{Worst: s.Worst()}
	if own {
		out.Worst.Integrity = s.Workspace
	}
	for _, f := range []document.Format{document.FormatJSON, document.FormatYAML, document.FormatPython} {
		d, ok := document.Read(f, text, nil)
		if !ok || len(d.Nodes) < 2 {
			continue
		}
		a := forms{out.Worst, make([]bool, len(d.Nodes)), annotator{o: &Observation{Scheme: s, Tool: tool, Text: text}, scheme: s, doc: d, structure: label.Label{Confidentiality: s.Private}}}
		if !a.look(0, nil) {
			break // it is all words
		}
		a.value(0, "")
		a.until(len(text), a.structure, "")
		if len(a.regions) <= MaxRegions {
			out.Regions, out.Format = a.regions, f
		}
		break
	}
	if out.Regions == nil {
		out.Regions = whole(text, out.Worst, tool)
	}
	return out
}

// Whole is a result of which nothing is known.
func Whole(s *Scheme, tool, text string) Result {
	return Result{Regions: whole(text, s.Worst(), tool), Worst: s.Worst()}
}

// forms emits the regions of a document of which nothing is known.
type forms struct {
	worst label.Label
	inert []bool // by node: it carries no instruction, or something in it does not
	annotator
}

// look finds what carries no instruction in a value; keys are the words of the names
// that lead to it. It reports whether something does not.
func (a *forms) look(n int, keys [][]string) bool {
	d := &a.doc.Nodes[n]
	if a.doc.Leaf(n) {
		a.inert[n] = d.Kind != document.Null && d.Plain && inert(d, keys)
		return a.inert[n]
	}
	for c := n + 1; c < d.Next; c = a.doc.Nodes[c].Next {
		under := keys
		if d.Kind == document.Dict {
			under = append(slices.Clip(keys), wordsOf(a.doc.Nodes[c].Key))
		}
		if a.look(c, under) {
			a.inert[n] = true
		}
	}
	return a.inert[n]
}

// value emits the regions of a value at a path. Names of fields are taken where they
// lead to something that carries no instruction.
func (a *forms) value(n int, path string) {
	d := &a.doc.Nodes[n]
	switch {
	case a.doc.Leaf(n) && d.Kind == document.Null || !a.doc.Leaf(n) && d.Next == n+1, a.doc.Leaf(n) && a.inert[n]:
		a.region(d.Start, d.End, a.structure, path)
		return
	case !a.inert[n]:
		a.region(d.Start, d.End, a.worst, path)
		return
	}
	for c := n + 1; c < d.Next; c = a.doc.Nodes[c].Next {
		child, at := &a.doc.Nodes[c], path+"[]"
		if d.Kind == document.Dict {
			l := a.worst
			if at = join(path, "?"); a.inert[c] && a.plainKey(child) && plainName(child.Key, wordsOf(child.Key)) {
				at, l = join(path, child.Key), a.structure
			}
			a.region(child.KeyStart, child.KeyEnd, l, at)
		}
		a.value(c, at)
	}
}

// Bounds of a name that counts as a field's.
const (
	maxNameWords = 3
	maxNameBytes = 32
)

// plainName reports whether a key is a name as programs give them.
func plainName(key string, words []string) bool {
	return len(words) > 0 && len(words) <= maxNameWords && len(key) <= maxNameBytes && madeOf(key, "_-")
}

// wordsOf are the words of a name, in lower case: guestId, guest_id and guest-id have
// two.
func wordsOf(key string) []string {
	var out []string
	start, lower := 0, false
	add := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(key[start:end]))
		}
	}
	for i, r := range key {
		upper := r >= 'A' && r <= 'Z'
		switch {
		case r == '_' || r == '-' || r == ' ' || r == '.':
			add(i)
			start = i + 1
		case upper && lower:
			add(i)
			start = i
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	add(len(key))
	return out
}

var (
	// leading are words of names of what an act must not be led to: people, places,
	// accounts, sums, and what opens them.
	leading = []string{
		"account", "acct", "iban", "bic", "swift", "routing", "sort", "card", "cvv", "cvc", "phone", "mobile", "tel", "telephone", "fax", "wallet",
		"address", "addr", "recipient", "recipients", "payee", "beneficiary", "receiver", "contact", "contacts", "url", "urls", "uri", "link", "links", "href",
		"website", "site", "domain", "host", "hostname", "ip", "email", "emails", "mail", "webhook", "endpoint", "callback", "server",
		"amount", "price", "cost", "fee", "total", "balance", "payment", "salary", "sum", "private", "secret", "password", "passphrase", "pwd", "credential",
		"credentials", "apikey", "key", "command", "cmd", "script", "sql", "path", "to", "cc", "bcc",
	}
	// naming are last words of names of what a service numbers or names itself.
	naming = []string{
		"id", "ids", "uid", "uuid", "guid", "number", "numbers", "no", "num", "nr", "code", "codes", "ref", "reference", "sku", "isbn", "asin", "ean", "upc",
		"otp", "pin", "coupon", "voucher", "promo", "tracking", "hash", "sha", "oid", "etag", "digest", "checksum", "version", "revision", "rev", "serial",
	}
	// ranking are last words of names of a choice among few.
	ranking = []string{
		"status", "state", "type", "kind", "category", "level", "mode", "currency", "unit", "units", "priority", "severity", "visibility", "result", "direction", "format",
	}
)

// Bounds of values that carry no instruction.
const (
	maxDigits = 12
	maxWord   = 20
	maxCode   = 10
)

var (
	// word is one word, or two that are joined.
	word = regexp.MustCompile(`\A(?:[A-Z]?[a-z]{1,20}|[A-Z]{1,20})(?:[_ -][A-Za-z]?[a-z]{1,20})?\z`)
	// numbered is a word with a number, as services name things.
	numbered = regexp.MustCompile(`\A#?(?:[A-Za-z]{1,12}[_:#-]?)?[0-9]{1,12}\z`)
	// mixed is what services draw: letters and digits, in few parts.
	mixed = regexp.MustCompile(`\A#?[A-Za-z0-9]+(?:[_:#-][A-Za-z0-9]+){0,4}\z`)
	// led is what leads to an account by its form.
	led = regexp.MustCompile(`\A(?:0x[0-9a-fA-F]{16,}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|(?i:bc1[0-9a-z]{20,})|[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30})\z`)
)

// inert reports whether a scalar carries no instruction: by its form alone, or by
// its form and its name.
func inert(d *document.Node, keys [][]string) bool {
	for _, w := range keys {
		if slices.ContainsFunc(w, func(s string) bool { return slices.Contains(leading, s) }) {
			return false
		}
	}
	v := d.Value
	if d.Kind == document.Boolean || v == "" || plain["boolean"](v) || plain["datetime"](v) || plain["date"](v) || plain["time"](v) {
		return true
	}
	if len(v) > maxValue || len(keys) == 0 || led.MatchString(v) || idnumber.Card([]byte(v)) {
		return false
	}
	last, _ := lastOf(keys)
	named := slices.Contains(naming, last)
	if document.IsNumber(v) {
		return d.Kind == document.Number || named && len(v) <= maxDigits
	}
	if named {
		return drawn(v, last)
	}
	return slices.Contains(ranking, last) && len(v) <= 2*maxWord && word.MatchString(v)
}

// lastOf is the last word of the innermost name.
func lastOf(keys [][]string) (string, bool) {
	w := keys[len(keys)-1]
	if len(w) == 0 {
		return "", false
	}
	return w[len(w)-1], true
}

// drawn reports whether a value looks like what a service numbers things by: a word
// with a number, a digest, or letters among at least as many digits, of which at most
// one run is as long as a word; or one word of capitals where codes are.
func drawn(v, last string) bool {
	if len(v) > 40 && !isHash(v) || !mixed.MatchString(v) {
		return false
	}
	letters, digits, run, words := 0, 0, 0, 0
	for _, c := range []byte(v) {
		switch {
		case c >= '0' && c <= '9':
			digits++
			run = 0
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
			if run++; run == 3 {
				words++
			}
		default:
			run = 0
		}
	}
	if digits == 0 {
		return (last == "code" || last == "codes" || last == "coupon" || last == "voucher" || last == "promo") && len(v) <= maxCode && strings.ToUpper(v) == v && letters == len(v)
	}
	return isHash(v) || numbered.MatchString(v) || letters <= digits && words <= 1
}
