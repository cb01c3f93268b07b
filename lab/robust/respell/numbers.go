package respell

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/margaydev/margay/lab/traj/world"
)

// ofDigits makes a form of a value that is a number by its digits.
func ofDigits(name string, write func(d string) string) form {
	return form{name: name, write: func(v *value) string {
		if v.digits == "" {
			return ""
		}
		return write(v.digits)
	}}
}

func ofText(name string, write func(s string) string) form {
	return form{name: name, write: func(v *value) string { return write(v.text) }}
}

// ofForeign makes a form of a telephone number with a country code, from the
// code and the rest in groups.
func ofForeign(name string, write func(code string, rest []string) string) form {
	return form{name: name, write: func(v *value) string {
		if v.digits != "" {
			return ""
		}
		f := strings.Fields(strings.TrimPrefix(v.text, "+"))
		return write(f[0], f[1:])
	}}
}

// ofIBAN makes a form of an account number that is an IBAN.
func ofIBAN(name string, write func(s string) string) form {
	return form{name: name, write: func(v *value) string {
		if v.digits != "" {
			return ""
		}
		return write(keep(v.text))
	}}
}

func grouped(name, between string, lengths ...int) form {
	return ofDigits(name, func(d string) string { return groups(d, between, lengths...) })
}

// bump changes the last digit of a text.
func bump(s string) string {
	b := []byte(s)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] >= '0' && b[i] <= '9' {
			b[i] = '0' + (b[i]-'0'+3)%10
			break
		}
	}
	return string(b)
}

// swap exchanges the first two digits that differ, after the third.
func swap(s string) string {
	b := []byte(s)
	for i := 4; i < len(b); i++ {
		if b[i] >= '0' && b[i] <= '9' && b[i-1] >= '0' && b[i-1] <= '9' && b[i] != b[i-1] {
			b[i], b[i-1] = b[i-1], b[i]
			break
		}
	}
	return string(b)
}

// nearNumber are values that differ in a digit, are longer, or are a part.
func nearNumber() []form {
	return []form{
		ofText("last-digit", bump),
		ofText("swapped-digits", swap),
		ofText("within-longer", func(s string) string { return "8" + keep(s) + "41" }),
		ofText("half", func(s string) string { k := keep(s); return k[:len(k)/2] }),
		ofText("last-two", func(s string) string { k := keep(s); return "room " + k[len(k)-2:] }),
	}
}

func init() {
	spellings[world.Phone] = []form{
		grouped("dashed", "-", 3, 3, 4), grouped("dotted", ".", 3, 3, 4), grouped("spaced", " ", 3, 3, 4), grouped("slashed", "/", 3, 3, 4),
		grouped("pairs", " ", 2), grouped("each-digit", " ", 1), grouped("area-dash", "-", 3, 7), grouped("en-dashed", "–", 3, 3, 4), grouped("underscored", "_", 3, 3, 4),
		ofDigits("unspaced", func(d string) string { return d }),
		ofDigits("e164", func(d string) string { return "+1" + d }),
		ofDigits("country-dashed", func(d string) string { return "+1-" + groups(d, "-", 3, 3, 4) }),
		ofDigits("country-spaced", func(d string) string { return "+1 " + groups(d, " ", 3, 3, 4) }),
		ofDigits("country-bracket", func(d string) string { return "+1 (" + d[:3] + ") " + d[3:6] + "-" + d[6:] }),
		ofDigits("trunk", func(d string) string { return "1-" + groups(d, "-", 3, 3, 4) }),
		ofDigits("double-zero", func(d string) string { return "001 " + groups(d, " ", 3, 3, 4) }),
		ofDigits("bracket-tight", func(d string) string { return "(" + d[:3] + ")" + d[3:6] + "-" + d[6:] }),
		ofDigits("uri", func(d string) string { return "tel:+1" + d }),
		ofDigits("extension", func(d string) string { return groups(d, "-", 3, 3, 4) + " x4" }),
		ofDigits("words", digitWords),
		ofDigits("words-oh", func(d string) string { return strings.ReplaceAll(digitWords(d), "zero", "oh") }),
		ofDigits("words-grouped", func(d string) string {
			return digitWords(d[:3]) + ", " + digitWords(d[3:6]) + ", " + digitWords(d[6:])
		}),
		ofDigits("area-words", func(d string) string { return "area code " + d[:3] + ", number " + d[3:6] + "-" + d[6:] }),
		ofForeign("national-zero", func(_ string, r []string) string { return "0" + strings.Join(r, " ") }),
		ofForeign("national-bracket", func(_ string, r []string) string { return "(0" + r[0] + ") " + strings.Join(r[1:], " ") }),
		ofForeign("foreign-double-zero", func(c string, r []string) string { return "00" + c + " " + strings.Join(r, " ") }),
		ofForeign("optional-zero", func(c string, r []string) string { return "+" + c + " (0)" + strings.Join(r, " ") }),
		ofForeign("foreign-unspaced", func(c string, r []string) string { return "+" + c + strings.Join(r, "") }),
		ofForeign("foreign-dashed", func(c string, r []string) string { return "+" + c + "-" + strings.Join(r, "-") }),
		ofForeign("national-slash", func(_ string, r []string) string { return "0" + r[0] + "/" + strings.Join(r[1:], "") }),
	}
	spellings[world.PaymentToken] = []form{
		grouped("unspaced", "", 16), grouped("dashed", "-", 4), grouped("dotted", ".", 4), grouped("pairs", " ", 2), grouped("odd-groups", " ", 6, 5),
		grouped("each-digit", " ", 1), grouped("slashed", "/", 4), grouped("underscored", "_", 4), grouped("newlines", "\n", 4), grouped("nbsp", "\u00a0", 4),
		grouped("thin-space", "\u2009", 4), grouped("double-space", "  ", 4), grouped("dash-spaced", " - ", 4), grouped("en-dashed", "–", 4),
		ofDigits("words", digitWords),
		ofDigits("words-grouped", func(d string) string {
			var out []string
			for _, g := range strings.Fields(groups(d, " ", 4)) {
				out = append(out, digitWords(g))
			}
			return strings.Join(out, ", ")
		}),
		ofDigits("mixed", func(d string) string { return d[:4] + "-" + d[4:8] + " " + d[8:] }),
		ofDigits("with-expiry", func(d string) string { return d + " 09/29" }),
		ofDigits("hash", func(d string) string { return "#" + d }),
	}
	spellings[world.AccountID] = []form{
		grouped("fours", " ", 4), grouped("threes", " ", 3), grouped("dashed", "-", 4), grouped("prefix-dash", "-", 4, 8), grouped("dotted", ".", 3),
		grouped("slashed", "/", 4), grouped("each-digit", " ", 1), grouped("underscored", "_", 4), grouped("en-dashed", "–", 4),
		ofDigits("words", digitWords),
		ofDigits("hash", func(d string) string { return "#" + d }),
		ofDigits("zero-padded", func(d string) string { return "000" + d }),
		ofDigits("no-leading-zero", func(d string) string { return strings.TrimLeft(d, "0") }),
		ofIBAN("iban-unspaced", func(s string) string { return s }),
		ofIBAN("iban-dashed", func(s string) string { return groups(s, "-", 4) }),
		ofIBAN("iban-lower", strings.ToLower),
		ofIBAN("iban-threes", func(s string) string { return groups(s, " ", 3) }),
		ofIBAN("iban-bank-account", func(s string) string { return s[:4] + " " + s[4:12] + " " + s[12:] }),
		ofIBAN("iban-no-country", func(s string) string { return s[4:] }),
	}
	spellings[world.NationalID] = []form{
		grouped("unspaced", "", 9), grouped("spaced", " ", 3, 2, 4), grouped("dotted", ".", 3, 2, 4), grouped("slashed", "/", 3, 2, 4), grouped("threes", " ", 3),
		grouped("each-digit", " ", 1), grouped("en-dashed", "–", 3, 2, 4), grouped("underscored", "_", 3, 2, 4), grouped("nbsp", "\u00a0", 3, 2, 4), grouped("dash-spaced", " - ", 3, 2, 4),
		ofDigits("words", digitWords),
		ofDigits("words-grouped", func(d string) string {
			return digitWords(d[:3]) + ", " + digitWords(d[3:5]) + ", " + digitWords(d[5:])
		}),
		ofDigits("hash", func(d string) string { return "#" + d }),
	}
	spellings[world.Passport] = []form{
		ofText("lower", strings.ToLower),
		ofText("letter-apart", func(s string) string { return s[:1] + " " + s[1:] }),
		ofText("letter-dash", func(s string) string { return s[:1] + "-" + s[1:] }),
		ofText("threes", func(s string) string { return groups(s, " ", 3) }),
		ofText("pairs", func(s string) string { return groups(s, " ", 1, 2) }),
		ofText("dashed", func(s string) string { return groups(s, "-", 3) }),
		ofText("each", func(s string) string { return groups(s, " ", 1) }),
		ofText("words", func(s string) string { return s[:1] + " " + digitWords(s[1:]) }),
		ofText("numbered", func(s string) string { return "No. " + s }),
		ofText("dotted", func(s string) string { return s[:1] + "." + groups(s[1:], ".", 4) }),
		ofText("filler", func(s string) string { return s + "<<<" }),
	}
	for _, f := range []world.Field{world.Phone, world.PaymentToken, world.AccountID, world.NationalID, world.Passport} {
		nearby[f] = nearNumber()
	}
	spellings[world.Salary] = []form{
		money("unspaced", func(n int) string { return strconv.Itoa(n) }),
		money("comma", func(n int) string { return thousands(n, ",") }),
		money("sign-unspaced", func(n int) string { return "$" + strconv.Itoa(n) }),
		money("sign-space", func(n int) string { return "$ " + thousands(n, ",") }),
		money("sign-last", func(n int) string { return thousands(n, ",") + "$" }),
		money("point", func(n int) string { return thousands(n, ".") }),
		money("space", func(n int) string { return thousands(n, " ") }),
		money("sign-thin-space", func(n int) string { return "$" + thousands(n, "\u202f") }),
		money("apostrophe", func(n int) string { return thousands(n, "'") }),
		money("usd-first", func(n int) string { return "USD " + thousands(n, ",") }),
		money("usd-last", func(n int) string { return strconv.Itoa(n) + " USD" }),
		money("cents", func(n int) string { return "$" + thousands(n, ",") + ".00" }),
		money("cents-unspaced", func(n int) string { return strconv.Itoa(n) + ".00" }),
		money("k", func(n int) string { return kilo(n) + "k" }),
		money("k-upper", func(n int) string { return kilo(n) + "K" }),
		money("sign-k", func(n int) string { return "$" + kilo(n) + "k" }),
		money("k-apart", func(n int) string { return kilo(n) + " k" }),
		money("thousand", func(n int) string { return kilo(n) + " thousand" }),
		money("grand", func(n int) string { return kilo(n) + " grand" }),
		money("words", words),
		money("words-dollars", func(n int) string { return words(n) + " dollars" }),
		money("words-and", func(n int) string { return strings.Replace(words(n), "hundred ", "hundred and ", 1) + " dollars" }),
		money("words-space", func(n int) string { return strings.ReplaceAll(words(n), "-", " ") }),
		money("per-year", func(n int) string { return "$" + thousands(n, ",") + "/yr" }),
		money("dollars", func(n int) string { return strconv.Itoa(n) + " dollars a year" }),
		money("decimal-comma", func(n int) string { return thousands(n, ".") + ",00" }),
	}
	nearby[world.Salary] = []form{
		money("next-step", func(n int) string { return "$" + thousands(n+500, ",") }),
		money("tenth", func(n int) string { return "$" + thousands(n/10, ",") }),
		money("ten-times", func(n int) string { return thousands(n*10, ",") }),
		money("within-longer", func(n int) string { return "7" + strconv.Itoa(n) + "3" }),
		money("k-of-others", func(n int) string { return strconv.Itoa(n/1000+7) + "k rows" }),
		money("days", func(n int) string { return strconv.Itoa(n/1000) + " days" }),
	}
}

func money(name string, write func(n int) string) form {
	return form{name: name, write: func(v *value) string { return write(v.person.Pay) }}
}

func kilo(n int) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }

func thousands(n int, between string) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return thousands(n/1000, between) + between + fmt.Sprintf("%03d", n%1000)
}
