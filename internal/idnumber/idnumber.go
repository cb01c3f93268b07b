// Package idnumber distinguishes issued numbers from others of the same
// length: payment cards, accounts, telephones, national identities. It verifies
// check digits, if there are any, and rejects ranges that are never issued.
//
// A check gets a text that a regular expression has matched: it expects the
// length and the characters of its number, and panics on shorter texts.
package idnumber

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// digits returns the digits of v as numbers.
func digits(v []byte) []int {
	out := make([]int, 0, len(v))
	for _, c := range v {
		if c >= '0' && c <= '9' {
			out = append(out, int(c-'0'))
		}
	}
	return out
}

func allEqual(d []int) bool {
	return !slices.ContainsFunc(d, func(x int) bool { return x != d[0] })
}

// weighted is the sum of digits, each times a weight that starts at first and
// falls by one.
func weighted(d []int, first int) int {
	sum := 0
	for i, x := range d {
		sum += x * (first - i)
	}
	return sum
}

// Card reports whether v has the length and the check digit of a payment card
// (ISO/IEC 7812-1), with anything between its digits.
func Card(v []byte) bool {
	d := digits(v)
	return len(d) >= 13 && len(d) <= 19 && !allEqual(d) && luhn(d)
}

// Luhn reports whether the digits of v end in their check digit (ISO/IEC 7812-1).
func Luhn(v []byte) bool { return luhn(digits(v)) }

func luhn(d []int) bool {
	sum := 0
	for i := range d {
		x := d[len(d)-1-i]
		if i%2 == 1 {
			if x *= 2; x > 9 {
				x -= 9
			}
		}
		sum += x
	}
	return sum%10 == 0
}

// accounts are the lengths of account numbers, by country (ISO 13616).
const accounts = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 " +
	"GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 " +
	"MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30 "

// IBAN reports whether v, of digits and letters with spaces, has the length and
// the check digits of an account number (ISO 7064, ISO 13616). People write them in
// small letters, too; then the length must be that of the country, since more of
// what is not a number looks so.
func IBAN(v []byte) bool {
	written := bytes.ReplaceAll(v, []byte(" "), nil)
	if v = bytes.ToUpper(written); len(v) < 15 || len(v) > 34 {
		return false
	}
	if !bytes.Equal(v, written) && !strings.Contains(accounts, fmt.Sprintf("%s%d ", v[:2], len(v))) {
		return false
	}
	rem := 0
	for i := range v {
		switch c := v[(i+4)%len(v)]; {
		case c >= '0' && c <= '9':
			rem = (rem*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rem = (rem*100 + int(c-'A') + 10) % 97
		}
	}
	return rem == 1
}

// Phone reports whether v has as many digits as telephone numbers have, and either
// a plus sign and a country (ITU-T E.164), or the form of North America.
func Phone(v []byte) bool {
	d := digits(v)
	if len(d) < 8 || len(d) > 15 || allEqual(d) {
		return false
	}
	if v[0] == '+' {
		return country(d)
	}
	// North America: area and exchange start with 2 to 9.
	return len(d) == 10 && d[0] >= 2 && d[3] >= 2
}

// NationalPhone reports whether v, which stands behind a word for telephones, has
// as many digits as national numbers have, and is no date.
func NationalPhone(v []byte) bool {
	d := digits(v)
	if len(d) < 7 || len(d) > 13 || allEqual(d) {
		return false
	}
	_, err := time.Parse(time.DateOnly, string(v[:min(len(v), 10)]))
	return err != nil
}

// free are the first digits under which no country has its numbers.
const free = "0 210 214 215 217 219 259 28 292 293 294 295 296 384 388 422 424 425 426 427 428 429 671 693 694 695 696 697 698 699 " +
	"801 802 803 804 805 806 807 809 83 851 854 857 858 859 871 872 873 874 875 876 877 884 885 887 889 89 969 978 990 991 997 999 "

// country reports whether d starts with the code of a country.
func country(d []int) bool {
	code := ""
	for _, x := range d[:3] {
		if code += string(rune('0' + x)); strings.HasPrefix(free, code+" ") || strings.Contains(free, " "+code+" ") {
			return false
		}
	}
	return true
}

// SSN reports whether v, as 123-45-6789, is in a range of American social security
// numbers.
func SSN(v []byte) bool {
	s := string(v)
	return s[:3] != "000" && s[:3] != "666" && s[0] != '9' && s[4:6] != "00" && s[7:] != "0000"
}

// NINO reports whether v starts as British national insurance numbers do.
func NINO(v []byte) bool {
	switch string(v[:2]) {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return false
	}
	return true
}

// NHS reports whether v has the check digit of a British health number.
func NHS(v []byte) bool {
	d := digits(v)
	return (11-weighted(d[:9], 10)%11)%11 == d[9] && !allEqual(d)
}

// NIR reports whether v has the check digits of a French social security number.
func NIR(v []byte) bool {
	d := digits(v)
	n := 0
	for _, x := range d[:13] {
		n = (n*10 + x) % 97
	}
	return 97-n == d[13]*10+d[14]
}

// DNI reports whether v has the check letter of a Spanish identity.
func DNI(v []byte) bool {
	const letters = "TRWAGMYFPDXBNJZSQVHLCKE"
	n := 0
	for i, c := range v[:8] {
		if i == 0 && c >= 'X' {
			c = c - 'X' + '0'
		}
		n = n*10 + int(c-'0')
	}
	return letters[n%23] == v[len(v)-1]
}

// CodiceFiscale reports whether v has the check letter of an Italian tax code.
func CodiceFiscale(v []byte) bool {
	odd := [...]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	sum := 0
	for i, c := range v[:15] {
		n := int(c - '0')
		if c >= 'A' {
			n = int(c - 'A')
		}
		if i%2 == 0 {
			n = odd[n]
		}
		sum += n
	}
	return byte('A'+sum%26) == v[15]
}

// CPF reports whether v has the check digits of a Brazilian taxpayer.
func CPF(v []byte) bool {
	d := digits(v)
	if allEqual(d) {
		return false
	}
	for k := 9; k <= 10; k++ {
		if weighted(d[:k], k+1)*10%11%10 != d[k] {
			return false
		}
	}
	return true
}

// BSN reports whether v passes the eleven test of Dutch citizens' numbers.
func BSN(v []byte) bool {
	d := digits(v)
	return (weighted(d[:8], 9)-d[8])%11 == 0 && !allEqual(d)
}

// SteuerID reports whether v has the check digit of a German tax number (ISO 7064
// MOD 11,10).
func SteuerID(v []byte) bool {
	d := digits(v)
	p := 10
	for _, x := range d[:10] {
		s := (x + p) % 10
		if s == 0 {
			s = 10
		}
		p = s * 2 % 11
	}
	return (11-p)%10 == d[10]
}

// Aadhaar reports whether v has the check digit of an Indian identity (Verhoeff).
func Aadhaar(v []byte) bool {
	d := digits(v)
	mul := func(a, b int) int { // the dihedral group of order ten
		switch {
		case a < 5 && b < 5:
			return (a + b) % 5
		case a < 5:
			return (a+b-5)%5 + 5
		case b < 5:
			return (a-5-b+5)%5 + 5
		default:
			return (a - b + 5) % 5
		}
	}
	perm := [10]int{1, 5, 7, 6, 2, 8, 3, 0, 9, 4}
	c := 0
	for i := range d {
		x := d[len(d)-1-i]
		for range i % 8 {
			x = perm[x]
		}
		c = mul(c, x)
	}
	return c == 0
}
