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
	out.Regions = whole(text, out.Worst, tool)
	d, ok := document.Read(document.FormatJSON, text, nil) // what people write can be read as YAML
	if !ok || len(d.Nodes) < 2 {
		return out
	}
	a := forms{out.Worst, make([]bool, len(d.Nodes)), annotator{o: &Observation{Scheme: s, Tool: tool, Text: text}, scheme: s, doc: d, structure: label.Label{Confidentiality: s.Private}}}
	if !a.look(0, name{}) { // it is all words
		return out
	}
	a.value(0, "")
	a.until(len(text), a.structure, "")
	for i := range a.regions { // spaces, as long as one likes
		if r := &a.regions[i]; r.From.Field == "" && r.End-r.Start > maxStructure {
			r.Label = out.Worst
		}
	}
	if len(a.regions) <= MaxRegions {
		out.Regions, out.Format = a.regions, document.FormatJSON
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

// name is what the names say that lead to a value.
type name struct {
	given bool
	leads bool   // to what an act must not be led to
	list  bool   // to a member of a list under the innermost
	last  string // word of the innermost
}

// below is what the name of a member says, below another.
func (by name) below(key string) name {
	w := wordsOf(key)
	out := name{given: true, leads: by.leads || len(w) == 0 || len(w) > maxNameWords || !madeOf(key, "_- .")}
	for _, s := range w[:min(len(w), maxNameWords)] {
		out.leads, out.last = out.leads || slices.Contains(leading, s), s
	}
	if !out.leads { // accountnumber, account-no
		folded := strings.Join(w, "")
		out.leads = slices.ContainsFunc(within, func(s string) bool { return strings.Contains(folded, s) })
	}
	return out
}

// look finds what carries no instruction in a value, by the names that lead to it. It
// reports whether something does not.
func (a *forms) look(n int, by name) bool {
	d := &a.doc.Nodes[n]
	if a.doc.Leaf(n) {
		a.inert[n] = d.Kind != document.Null && d.Plain && by.inert(d)
		return a.inert[n]
	}
	for c := n + 1; c < d.Next; c = a.doc.Nodes[c].Next {
		under := by
		if d.Kind == document.Dict {
			under = by.below(a.doc.Nodes[c].Key)
		} else {
			under.list = true
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

// plainName reports whether a key is a name as programs give them, of words that are
// known.
func plainName(key string, words []string) bool {
	return len(words) > 0 && len(words) <= maxNameWords && len(key) <= maxNameBytes && madeOf(key, "_-") && !slices.ContainsFunc(words, func(w string) bool {
		return !choices[strings.TrimSuffix(w, "s")] && !choices[w] && !slices.Contains(naming, w) && !slices.Contains(ranking, w) && !slices.Contains(plainly, w)
	})
}

// wordsOf are the words of a name, in lower case: guestId, guest_id and guest-id have
// two. Of a long name there are more than count.
func wordsOf(key string) []string {
	var out []string
	start, lower := 0, false
	if len(key) > 4*maxNameBytes {
		return make([]string, maxNameWords+1)
	}
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
	// within are parts of names that lead so, however they are joined.
	within = []string{
		"account", "iban", "phone", "telefon", "konto", "address", "wallet", "recipient", "payee", "benefici", "contact", "card", "price", "amount", "balance", "payment", "salary", "total",
		"secret", "passw", "token", "apikey", "url", "link", "email", "mail", "host", "domain", "user", "owner", "member", "channel", "author", "sender", "paypal", "upi", "whatsapp", "crypto",
	}
	// naming are last words of names of what a service numbers or names itself.
	naming = []string{
		"id", "ids", "uid", "uuid", "guid", "number", "numbers", "no", "num", "nr", "code", "codes", "ref", "reference", "sku", "isbn", "asin", "ean", "upc",
		"otp", "pin", "coupon", "voucher", "promo", "tracking", "hash", "sha", "oid", "etag", "digest", "checksum", "version", "revision", "rev", "serial",
	}
	// ranking are last words of names of a choice among few.
	ranking = []string{
		"status", "state", "type", "kind", "category", "level", "mode", "currency", "unit", "units", "priority", "severity", "visibility", "direction", "format",
	}
	// plainly are last words of names of counts, times and measures.
	plainly = []string{
		"count", "counts", "quantity", "size", "length", "index", "position", "page", "pages", "limit", "offset", "rating", "score", "rank", "age", "year", "month", "day", "hour",
		"minute", "second", "seconds", "minutes", "hours", "days", "date", "dates", "time", "times", "timestamp", "at", "on", "until", "since", "start", "end", "due", "duration",
		"latitude", "longitude", "width", "height", "weight", "temperature", "percent", "percentage", "ratio", "available", "enabled", "disabled", "active", "completed", "done", "success",
	}
	// choices are words of which values of such a choice are made.
	choices = setOf("open opened closed active inactive enabled disabled pending done completed complete incomplete running stopped started not in on off of progress review " +
		"approved rejected accepted declined confirmed cancelled canceled failed success successful succeeded ok error warning info debug critical high medium low normal urgent none draft " +
		"published private public internal archived deleted new old available unavailable busy free paid unpaid due overdue refunded shipped delivered returned processing queued waiting " +
		"scheduled expired valid invalid verified unverified online offline locked unlocked up down true false yes no unknown default custom standard basic premium monthly yearly weekly " +
		"daily hourly one two three first last read unread sent received todo blocked ready resolved unresolved merged todo backlog user admin member guest owner viewer editor group team " +
		"file folder directory image video audio text document link page post comment message event task issue order item product light thermostat camera lock sensor switch speaker " +
		"created updated modified is has departure arrival check item product stop " +
		"guest device repo repository note notes doc res acc txn inv evt ord cust ticket booking reservation invoice customer project branch commit run job build sku pkg test option appointment doctor prescription applet reminder temp sec cam fridge light tv lap itm dev ref req case photo album song track playlist room seat gate batch lot model part unit " +
		"flight hotel accommodation car train bus usd eur gbp jpy chf cad aud inr cny kg g lb m km cm mm mi ft c f celsius fahrenheit percent json xml csv html pdf png jpg")
)

// Bounds of values that carry no instruction.
const (
	maxDigits = 12
	maxChoice = 32
	maxDrawn  = 32
	// maxStructure bounds what stands between two values.
	maxStructure = 64
)

var (
	// numbered is a word with a number, as services name things. Its group is the word.
	numbered = regexp.MustCompile(`\A#?(?:([A-Za-z]{1,14}(?:_[a-z]{1,10})?)[_#-]?)?[0-9]{1,12}\z`)
	// mixed is what services draw: letters and digits, in few parts.
	mixed = regexp.MustCompile(`\A#?[A-Za-z0-9]+(?:[_#-][A-Za-z0-9]+){0,4}\z`)
	// led is what leads to an account by its form.
	led = regexp.MustCompile(`\A(?:0x[0-9a-fA-F]{16,}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|(?i:bc1[0-9a-z]{20,})|[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30})\z`)
)

// inert reports whether a scalar carries no instruction: by its form alone, or by
// its form and its name.
func (by name) inert(d *document.Node) bool {
	v := d.Value
	if by.leads {
		return false
	}
	if d.Kind == document.Boolean || v == "" || plain["boolean"](v) || moment(v) {
		return true
	}
	bare := strings.ToUpper(strings.NewReplacer("-", "", "_", "", "#", "").Replace(v))
	if len(v) > maxValue || !by.given || led.MatchString(v) || led.MatchString(bare) || idnumber.Card([]byte(bare)) {
		return false
	}
	named := slices.Contains(naming, by.last)
	if document.IsNumber(v) {
		return (named || d.Kind == document.Number && slices.Contains(plainly, by.last)) && len(v) <= maxDigits
	}
	if named {
		return drawn(v, by.last)
	}
	return !by.list && slices.Contains(ranking, by.last) && len(v) <= maxChoice && chosen(v)
}

func setOf(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// moment reports whether a value is a date, a time, or both.
func moment(v string) bool {
	if len(v) < 4 || len(v) > 40 || !strings.ContainsAny(v, "0123456789") || !strings.ContainsAny(v, "-:/. ") && len(v) != 8 {
		return false // most values are none, and trying all layouts takes long
	}
	return plain["datetime"](v) || plain["date"](v) || plain["time"](v)
}

// chosen reports whether a value is one of a choice: one or two words that are known.
func chosen(v string) bool {
	words := strings.FieldsFunc(strings.ToLower(v), func(r rune) bool { return r == ' ' || r == '_' || r == '-' })
	return len(words) > 0 && len(words) <= 2 && !slices.ContainsFunc(words, func(w string) bool { return !choices[w] })
}

// drawn reports whether a value looks like what a service numbers things by: a known
// word or two letters with a number, a digest, or letters among at least as many
// digits, of which no run is as long as a word.
func drawn(v, last string) bool {
	if isHash(v) {
		// Forty such digits are also an address of a wallet.
		return strings.ContainsAny(v, "0123456789") && (len(v) != 40 || slices.Contains([]string{"sha", "hash", "oid", "digest", "checksum"}, last))
	}
	if m := numbered.FindStringSubmatch(v); m != nil {
		for w := range strings.SplitSeq(strings.ToLower(m[1]), "_") {
			if len(w) > 2 && !choices[w] {
				return false
			}
		}
		return true
	}
	letters, digits, run := 0, 0, 0
	for _, c := range []byte(v) {
		switch {
		case c >= '0' && c <= '9':
			digits++
			run = 0
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
			if run++; run > 2 {
				return false
			}
		default:
			run = 0
		}
	}
	return len(v) <= maxDrawn && mixed.MatchString(v) && digits > 0 && letters <= digits
}
