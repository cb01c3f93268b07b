package recognise

import (
	"net/netip"
	"strings"

	"github.com/margaydev/margay/secret"
)

// Personal returns the rules for personal data.
func Personal() []Rule {
	personal := func(id string, kind secret.Kind, regex string, valid func([]byte) bool, pos, neg []string) Rule {
		return Rule{ID: id, Kind: kind, Class: ClassPersonal, Regex: regex, Validate: valid, Positive: pos, Negative: neg}
	}
	rules := []Rule{
		personal("email", secret.KindEmail,
			`(?i)\b([a-z0-9][a-z0-9._%+-]{0,63}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}[a-z]{2,24})\b`, nil,
			[]string{"write to «jane.doe+x@mail.example.org», please"}, []string{"user@localhost", "git@github", "a @ b.c"}),
		personal("uuid", secret.KindUUID,
			`(?i)\b([0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\b`, nil,
			[]string{"id «f81d4fae-7dec-41d0-a765-00a0c91e6bf6»."}, []string{"f81d4fae-7dec-01d0-a765-00a0c91e6bf6"}),
		personal("ipv4", secret.KindIP,
			`\b(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})\b`, isIPv4,
			[]string{"from «203.0.113.77» port 22"}, []string{"300.1.2.3", "127.0.0.1", "0.0.0.0"}),
		personal("ipv6", secret.KindIP,
			`(?i)\b([0-9a-f]{1,4}(?::{1,2}[0-9a-f]{1,4}){3,7})\b`, isIPv6,
			[]string{"at «2001:db8:85a3::8a2e:370:7334» now"}, []string{"12:30:45:10", "de:ad:be:ef:00:01"}),
		personal("card", secret.KindCard,
			`\b([3-6]\d{3}(?:[ -]?\d){9,15})\b`, isCard,
			[]string{"card «4242 4242 4242 4242» ok", "«5555555555554444»"}, []string{"4242 4242 4242 4241", "1234567890123456"}),
		personal("iban", secret.KindIBAN,
			`\b([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)\b`, isIBAN,
			[]string{"pay «DE89 3704 0044 0532 0130 00» today", "«GB82WEST12345698765432»"}, []string{"DE89370400440532013001"}),
		personal("phone", secret.KindPhone,
			`((?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4})|(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})\b`, isPhone,
			[]string{"call «+49 30 901820» or", "call «(415) 555-2671» or", "«415-555-2671»"}, []string{"+1 2", "111-111-1111", "2024-05-06"}),
		personal("us-ssn", secret.KindNationalID, `\b(\d{3}-\d{2}-\d{4})\b`, isSSN,
			[]string{"ssn «536-90-4399»"}, []string{"000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567"}),
		personal("uk-nino", secret.KindNationalID, `\b([A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D])\b`, isNINO,
			[]string{"NI «AB 12 34 56 C»"}, []string{"GB123456A", "QQ123456C"}),
		personal("uk-nhs", secret.KindNationalID, `\b(\d{3} \d{3} \d{4})\b`, isNHS,
			[]string{"NHS «943 476 5919»"}, []string{"943 476 5918"}),
		personal("fr-nir", secret.KindNationalID, `\b([12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2})\b`, isNIR,
			[]string{"sécu «2 55 08 14 168 025 38»"}, []string{"2 55 08 14 168 025 39"}),
		personal("es-dni", secret.KindNationalID, `\b([XYZ0-9]\d{7}-?[A-HJ-NP-TV-Z])\b`, isDNI,
			[]string{"DNI «12345678Z»", "NIE «X1234567L»"}, []string{"12345678A"}),
		personal("it-cf", secret.KindNationalID, `\b([A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z])\b`, isCodiceFiscale,
			[]string{"CF «RSSMRA85T10A562S»"}, []string{"RSSMRA85T10A562T"}),
		personal("br-cpf", secret.KindNationalID, `\b(\d{3}\.\d{3}\.\d{3}-\d{2})\b`, isCPF,
			[]string{"CPF «529.982.247-25»"}, []string{"529.982.247-24", "111.111.111-11"}),
		personal("in-aadhaar", secret.KindNationalID, `\b([2-9]\d{3} \d{4} \d{4})\b`, isAadhaar,
			[]string{"aadhaar «2341 2341 2346»"}, []string{"2341 2341 2345"}),
	}
	gated := func(id, regex string, valid func([]byte) bool, gate, pos, neg []string) Rule {
		r := personal(id, secret.KindNationalID, regex, valid, pos, neg)
		r.Gate = gate
		return r
	}
	return append(rules,
		gated("nl-bsn", `\b(\d{9})\b`, isBSN, []string{"bsn", "burgerservice"}, []string{"BSN: «111222333»"}, []string{"111222333", "bsn 111222334"}),
		gated("de-steuer-id", `\b([1-9]\d{10})\b`, isSteuerID, []string{"steuer", "tax id", "idnr"},
			[]string{"Steuer-ID «86095742719»"}, []string{"86095742719", "Steuer-ID 86095742718"}),
	)
}

func isIPv4(v []byte) bool {
	a, err := netip.ParseAddr(string(v))
	return err == nil && !a.IsLoopback() && !a.IsUnspecified() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

func isIPv6(v []byte) bool {
	a, err := netip.ParseAddr(string(v))
	return err == nil && !a.IsLoopback() && (strings.Contains(string(v), "::") || strings.Count(string(v), ":") == 7)
}

// digitsOf returns the digits of v as numbers.
func digitsOf(v []byte) []int {
	out := make([]int, 0, len(v))
	for _, c := range v {
		if c >= '0' && c <= '9' {
			out = append(out, int(c-'0'))
		}
	}
	return out
}

func allEqual(d []int) bool {
	for _, x := range d {
		if x != d[0] {
			return false
		}
	}
	return true
}

// isCard checks length and Luhn digit (ISO/IEC 7812-1).
func isCard(v []byte) bool {
	d := digitsOf(v)
	if len(d) < 13 || len(d) > 19 || allEqual(d) {
		return false
	}
	sum := 0
	for i := range d {
		x := d[len(d)-1-i]
		if i%2 == 1 {
			x *= 2
			if x > 9 {
				x -= 9
			}
		}
		sum += x
	}
	return sum%10 == 0
}

// isIBAN checks the remainder by 97 (ISO 7064, ISO 13616).
func isIBAN(v []byte) bool {
	s := strings.ReplaceAll(string(v), " ", "")
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	rem := 0
	for _, c := range s[4:] + s[:4] {
		switch {
		case c >= '0' && c <= '9':
			rem = (rem*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rem = (rem*100 + int(c-'A') + 10) % 97
		}
	}
	return rem == 1
}

func isPhone(v []byte) bool {
	d := digitsOf(v)
	if len(d) < 8 || len(d) > 15 || allEqual(d) {
		return false
	}
	if v[0] == '+' {
		return d[0] != 0
	}
	// North America: area and exchange begin with 2 to 9.
	return len(d) == 10 && d[0] >= 2 && d[3] >= 2
}

func isSSN(v []byte) bool {
	s := string(v)
	return s[:3] != "000" && s[:3] != "666" && s[0] != '9' && s[4:6] != "00" && s[7:] != "0000"
}

func isNINO(v []byte) bool {
	switch string(v[:2]) {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return false
	}
	return true
}

// isNHS checks the weighted sum modulo 11.
func isNHS(v []byte) bool {
	d := digitsOf(v)
	sum := 0
	for i := range 9 {
		sum += d[i] * (10 - i)
	}
	return (11-sum%11)%11 == d[9] && !allEqual(d)
}

func isNIR(v []byte) bool {
	d := digitsOf(v)
	n := 0
	for _, x := range d[:13] {
		n = (n*10 + x) % 97
	}
	return 97-n == d[13]*10+d[14]
}

func isDNI(v []byte) bool {
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

// isCodiceFiscale checks the Italian tax code's last letter.
func isCodiceFiscale(v []byte) bool {
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

func isCPF(v []byte) bool {
	d := digitsOf(v)
	if allEqual(d) {
		return false
	}
	for k := 9; k <= 10; k++ {
		sum := 0
		for i := range k {
			sum += d[i] * (k + 1 - i)
		}
		if sum*10%11%10 != d[k] {
			return false
		}
	}
	return true
}

// isBSN is the Dutch eleven test.
func isBSN(v []byte) bool {
	d := digitsOf(v)
	sum := -d[8]
	for i := range 8 {
		sum += d[i] * (9 - i)
	}
	return sum%11 == 0 && !allEqual(d)
}

// isSteuerID checks ISO 7064 MOD 11,10.
func isSteuerID(v []byte) bool {
	d := digitsOf(v)
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

// isAadhaar checks the Verhoeff digit.
func isAadhaar(v []byte) bool {
	d := digitsOf(v)
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
