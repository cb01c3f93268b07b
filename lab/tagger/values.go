package tagger

import (
	"fmt"
	"strconv"
	"strings"
)

// fieldOf is the field of a slot whose name is not the field's own.
func fieldOf(slot string) string {
	switch slot {
	case "name", "first", "last":
		return "legal-name"
	case "card":
		return "payment-token"
	case "iban", "account":
		return "account-id"
	case "nid":
		return "national-id"
	case "apikey":
		return "api-key"
	case "privatekey":
		return "private-key"
	case "illness", "medicine":
		return "diagnosis"
	case "dob", "phone", "email", "address", "passport", "password", "salary":
		return slot
	}
	return ""
}

func (w *writer) one(s ...string) string { return s[w.r.IntN(len(s))] }

func (w *writer) n(low, high int) int { return low + w.r.IntN(high-low+1) }

func (w *writer) chars(set string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(set[w.r.IntN(len(set))])
	}
	return b.String()
}

const (
	digits = "0123456789"
	hexes  = "0123456789abcdef"
	caps   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	smalls = "abcdefghijklmnopqrstuvwxyz"
	alnum  = caps + smalls + digits
)

// form replaces 9 by a digit, A by a capital, a by a small letter.
func (w *writer) form(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch c {
		case '9':
			b.WriteByte(digits[w.r.IntN(10)])
		case 'A':
			b.WriteByte(caps[w.r.IntN(26)])
		case 'a':
			b.WriteByte(smalls[w.r.IntN(26)])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// invented is a name that no list has, so that lists are not all that is learnt.
func (w *writer) invented() string {
	s := ""
	for range w.n(2, 3) {
		s += w.pick("syllable")
	}
	return capital(s)
}

func (w *writer) first() string {
	if w.r.IntN(6) == 0 {
		return w.invented()
	}
	return w.pick("first")
}

func (w *writer) last() string {
	if w.r.IntN(5) == 0 {
		return w.invented() + w.one("", "", "son", "ez", "ov", "sen", "ska", "ini", "ford")
	}
	return w.pick("last")
}

func (w *writer) name() string {
	first, last := w.first(), w.last()
	switch w.r.IntN(12) {
	case 0:
		return first + " " + w.first() + " " + last
	case 1:
		return first + " " + w.chars(caps, 1) + ". " + last
	case 2:
		return first[:1] + ". " + last
	case 3:
		return last + ", " + first
	case 4:
		return first + " " + last + w.one("-", " ") + w.last()
	}
	return first + " " + last
}

func (w *writer) date(year int) string {
	d, m := w.n(1, 28), w.n(1, 12)
	month := w.lists["month"][m-1]
	switch w.r.IntN(10) {
	case 0:
		return fmt.Sprintf("%02d/%02d/%d", d, m, year)
	case 1:
		return fmt.Sprintf("%d-%02d-%02d", year, m, d)
	case 2:
		return fmt.Sprintf("%d.%d.%d", d, m, year)
	case 3:
		return fmt.Sprintf("%s %d, %d", month, d, year)
	case 4:
		return fmt.Sprintf("%d %s %d", d, month[:3], year)
	case 5:
		return fmt.Sprintf("%02d.%02d.%02d", d, m, year%100)
	case 6:
		return fmt.Sprintf("%d. %s %d", d, w.pick("month-other"), year)
	case 7:
		return fmt.Sprintf("%d/%d/%02d", m, d, year%100)
	}
	return fmt.Sprintf("%d %s %d", d, month, year)
}

func (w *writer) street() string {
	if w.r.IntN(3) == 0 {
		return w.pick("street-other")
	}
	return w.pick("street-en")
}

func (w *writer) address() string {
	n := w.n(1, 240)
	switch w.r.IntN(7) {
	case 0:
		return fmt.Sprintf("%s %d, %s %s", w.pick("street-other"), n, w.form("99999"), w.pick("city"))
	case 1:
		return fmt.Sprintf("%d %s, Apt %d%s, %s, %s %s", n, w.pick("street-en"), w.n(1, 30), w.one("", "A", "B"), w.pick("city"), w.chars(caps, 2), w.form("99999"))
	case 2:
		return fmt.Sprintf("%d %s, %s %s", n, w.pick("street-en"), w.pick("city"), w.form(w.one("AA9 9AA", "A99 9AA", "AA99 9AA")))
	case 3:
		return fmt.Sprintf("%d %s", n, w.pick("street-en"))
	case 4:
		return fmt.Sprintf("%s %d", w.pick("street-other"), n)
	case 5:
		return fmt.Sprintf("Flat %d, %d %s, %s", w.n(1, 60), n, w.pick("street-en"), w.pick("city"))
	}
	return fmt.Sprintf("%d %s, %s", n, w.street(), w.pick("city"))
}

func (w *writer) phone() string {
	return w.form(w.one("+1 999-999-9999", "(999) 999-9999", "+44 79 9999 9999", "079 999 999 99", "+49 9999 999999", "0999 9999999", "99 99 99 99 99",
		"+33 9 99 99 99 99", "+34 999 999 999", "+39 999 9999999", "+91 99999 99999", "999.999.9999", "999-9999", "+55 99 99999-9999", "+81-99-9999-9999", "+999999999999", "07999 999999", "9999999999"))
}

func (w *writer) email() string {
	first, last := strings.ToLower(w.first()), strings.ToLower(strings.ReplaceAll(w.last(), " ", ""))
	user := w.one(first+"."+last, first[:1]+last, first+strconv.Itoa(w.n(1, 99)), last, first+"_"+last, last+"."+first, first+"-"+last+strconv.Itoa(w.n(70, 99)))
	host := w.pick("host")
	if w.r.IntN(3) == 0 {
		host = strings.ToLower(strings.ReplaceAll(w.pick("company"), " ", "-"))
		host = strings.NewReplacer("&", "", "--", "-").Replace(host)
	}
	return user + "@" + host + "." + w.pick("tld")
}

func (w *writer) card() string {
	s := w.form(w.one("4", "5")+"999") + w.form("999999999999")
	if w.r.IntN(6) == 0 {
		s = w.form("37") + w.form("9999999999999")
	}
	switch w.r.IntN(4) {
	case 0:
		return s
	case 1:
		return s[:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:]
	}
	return s[:4] + " " + s[4:8] + " " + s[8:12] + " " + s[12:]
}

func (w *writer) digitWords(n int) string {
	out := make([]string, n)
	for i := range out {
		if out[i] = w.pick("digit-word"); w.r.IntN(9) == 0 {
			out[i] = w.one("double ", "triple ") + out[i]
		}
	}
	return strings.Join(out, w.one(" ", " ", "-", ", "))
}

func (w *writer) password() string {
	word := w.pick("secret-word")
	switch w.r.IntN(6) {
	case 0:
		return capital(word) + w.form("99") + w.one("!", "$", "#", "?")
	case 1:
		return w.chars(alnum+"!$%&#*+-_?", w.n(8, 16))
	case 2:
		return word + w.form(w.one("9999", "99", "123"))
	case 3:
		return strings.NewReplacer("a", "4", "e", "3", "o", "0", "i", "1").Replace(word) + w.form("99")
	case 4:
		return word + "-" + w.pick("secret-word") + "-" + w.form("99")
	}
	return capital(word) + capital(w.pick("secret-word")) + w.form("9")
}

func (w *writer) money(low, high int) string {
	v := w.n(low, high)
	s := strconv.Itoa(v)
	if v >= 1000 && w.r.IntN(3) > 0 {
		s = s[:len(s)-3] + w.one(",", ".", " ", "'") + s[len(s)-3:]
	}
	return w.one("$"+s, s+" EUR", "€"+s, "£"+s, s+" euros", s+" USD", "CHF "+s, s+" dollars")
}

func (w *writer) salary() string {
	switch w.r.IntN(5) {
	case 0:
		return strconv.Itoa(w.n(25, 190)) + w.one("k", "K", " k")
	case 1:
		return w.money(1800, 9900) + w.one(" a month", " per month", " monthly", "/month")
	}
	return w.money(22000, 190000) + w.one("", " a year", " per annum", " gross", "/yr")
}

func (w *writer) key() string {
	return w.one(w.form("AA_")+w.one("live", "test", "prod")+"_", "key-", "AKIA", "ghx_", "sk-", "tok_", "xoxb-", "pat.", "", "") +
		w.one(w.chars(alnum, w.n(20, 44)), w.chars(hexes, w.n(32, 48)), w.chars(alnum+"-_", w.n(24, 48)))
}

func (w *writer) ident() string {
	s := w.pick("adjective") + capital(w.pick("noun"))
	switch w.r.IntN(6) {
	case 0:
		return capital(s)
	case 1:
		return w.pick("adjective") + "_" + w.pick("noun")
	case 2:
		return w.pick("noun")
	case 3:
		return w.one("x", "i", "err", "ctx", "buf", "req", "n", "s", "out", "cfg", "name", "value", "key", "token")
	case 4:
		return strings.ToUpper(w.pick("adjective") + "_" + w.pick("noun"))
	}
	return s
}

// value is a value of a slot.
func (w *writer) value(slot string) string {
	switch slot {
	case "name":
		return w.name()
	case "first":
		return w.first()
	case "last":
		return w.last()
	case "spelled":
		return strings.Join(strings.Split(strings.ToUpper(w.last()), ""), w.one(" ", "-", ", "))
	case "dob":
		return w.date(w.n(1935, 2019))
	case "date":
		if w.r.IntN(3) > 0 {
			return w.date(w.n(2019, 2029))
		}
		return w.one(strconv.Itoa(w.n(1, 28))+" "+w.pick("month"), w.pick("month")+" "+strconv.Itoa(w.n(1, 28)), w.pick("weekday")+" the "+w.pick("ordinal"), fmt.Sprintf("%02d.%02d.", w.n(1, 28), w.n(1, 12)))
	case "time":
		return w.one(fmt.Sprintf("%d:%02d", w.n(7, 21), 5*w.n(0, 11)), strconv.Itoa(w.n(1, 12))+w.one("am", "pm", " p.m.", " o'clock"), "noon", fmt.Sprintf("%02dh%02d", w.n(7, 21), 5*w.n(0, 11)))
	case "phone":
		return w.phone()
	case "phonewords", "digitwords", "nidwords", "cardwords", "ibanwords", "passportwords":
		n := map[string]int{"phonewords": w.n(7, 11), "digitwords": w.n(4, 8), "nidwords": 9, "cardwords": w.n(12, 16), "ibanwords": w.n(10, 18), "passportwords": w.n(6, 8)}[slot]
		s := w.digitWords(n)
		if slot == "passportwords" {
			s = w.chars(caps, 1) + " " + s
		}
		return s
	case "email":
		return w.email()
	case "emailwords":
		return strings.NewReplacer("@", w.one(" at ", " (at) ", " [at] ", "(a)"), ".", w.one(" dot ", " (dot) ", " punkt ")).Replace(w.email())
	case "address":
		return w.address()
	case "street":
		return w.street()
	case "card":
		return w.card()
	case "iban":
		return w.form(w.one("DE99 9999 9999 9999 9999 99", "GB99 AAAA 9999 9999 9999 99", "FR9999999999999999999999999", "ES99 9999 9999 9999 9999 9999", "NL99 AAAA 9999 9999 99", "IT99A9999999999999999999999"))
	case "account":
		return w.form(w.one("99999999", "AA-999999", "AA999999A", "9999-9999-99", "M99999999", "C-99999", "999 999 999", "AAA9999999", "9999999"))
	case "nid":
		return w.form(w.one("999-99-9999", "999 99 9999", "AA 99 99 99 A", "99999999A", "99999999999", "999.999.999-99", "9 99 99 99 999 999 99", "AAAAAA99A99A999A", "999999-9999", "9999 9999 9999"))
	case "passport":
		return w.form(w.one("A9999999", "AA9999999", "999999999", "A99999999", "A9AA99999", "99AA99999"))
	case "apikey":
		return w.key()
	case "keypart":
		return w.chars(alnum, w.n(8, 16))
	case "privatekey":
		return "-----BEGIN " + w.one("RSA ", "EC ", "", "OPENSSH ") + "PRIVATE KEY-----\n" + w.chars(alnum+"+/", 60) + "\n" + w.chars(alnum+"+/", 60)
	case "password":
		return w.password()
	case "pwwords":
		return w.one(w.pick("secret-word")+" with a capital "+w.chars(caps, 1)+" and then "+w.digitWords(2), w.pick("secret-word")+" "+w.pick("secret-word")+" "+w.digitWords(2), w.pick("secret-word")+", exclamation mark, "+w.digitWords(3), "like my "+w.one("cat", "dog", "first car", "street")+", backwards")
	case "salary":
		return w.salary()
	case "salarywords":
		return w.pick("tens") + w.one(" ", "-") + w.one("one ", "two ", "five ", "eight ", "") + "thousand" + w.one("", " euros", " pounds", " dollars", " a year", " before tax")
	case "amount":
		return w.one(w.money(3, 900), w.money(1000, 50000), fmt.Sprintf("%d.%02d", w.n(1, 400), w.n(0, 99)), fmt.Sprintf("%d,%02d €", w.n(1, 400), w.n(0, 99)))
	case "illness":
		if w.r.IntN(8) == 0 {
			return strings.ToLower(w.invented()) + w.one("itis", "osis", "emia", "oma", "algia", " syndrome", " disease")
		}
		return w.pick("illness")
	case "medicine":
		if w.r.IntN(4) == 0 {
			return strings.ToLower(w.invented()) + w.one("pril", "mab", "statin", "zole", "ine", "cillin", "olol")
		}
		return w.pick("medicine")
	case "n":
		return strconv.Itoa(w.n(1, 90))
	case "n3":
		return w.form("999")
	case "n4":
		return w.form("9999")
	case "coords":
		return fmt.Sprintf("%d.%s, %d.%s", w.n(-60, 70), w.form("9999"), w.n(-120, 150), w.form("9999"))
	case "id":
		return w.one(w.form("99999"), w.form("AA-9999"), w.chars(hexes, 8), w.form("#9999"), w.form("ORD-999999"), w.form("INV-2099-9999"))
	case "flight":
		return w.form(w.one("AA 999", "AA9999", "A9 999"))
	case "hash":
		return w.chars(hexes, w.one2(7, 12, 40, 64))
	case "uuid":
		return w.chars(hexes, 8) + "-" + w.chars(hexes, 4) + "-4" + w.chars(hexes, 3) + "-a" + w.chars(hexes, 3) + "-" + w.chars(hexes, 12)
	case "version":
		return w.form(w.one("v9.9.9", "9.9", "9.99.9", "v9.9.9-rc.9", "2026.9"))
	case "file":
		return w.slug("noun") + "/" + w.slug("adjective") + "_" + w.slug("noun") + w.one(".go", ".py", ".ts", ".yaml", ".md", ".c", ".rs", ".json")
	case "path":
		return w.one("api/v1/", "static/", "docs/", "feature/") + w.slug("noun") + "s"
	case "url":
		return "https://" + w.one("docs", "www", "api", "ci") + "." + w.slug("noun") + "s.example/" + w.slug("noun") + "?" + w.slug("noun") + "=" + strconv.Itoa(w.n(1, 99))
	case "ip":
		return fmt.Sprintf("10.%d.%d.%d", w.n(0, 255), w.n(0, 255), w.n(1, 254))
	case "port":
		return w.one("80", "443", "8080", "5432", "3000", "9090")
	case "ts":
		return fmt.Sprintf("202%d-%02d-%02dT%02d:%02d:%02dZ", w.n(0, 9), w.n(1, 12), w.n(1, 28), w.n(0, 23), w.n(0, 59), w.n(0, 59))
	case "hex4":
		return strings.ToUpper(w.chars(hexes, 4))
	case "ident":
		return w.ident()
	case "cap":
		return strings.ToUpper(w.one(w.slug("adjective"), w.slug("noun"), w.pick("secret-word")))
	}
	return w.pick(slot)
}

// slug is a word of a list as file names and addresses have it.
func (w *writer) slug(list string) string {
	return strings.ReplaceAll(strings.ToLower(w.pick(list)), " ", w.one("-", "_", ""))
}

func (w *writer) one2(n ...int) int { return n[w.r.IntN(len(n))] }
