package known

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// disguises write a text otherwise, in ways that apply to values of any field.
var disguises = map[string]func(string) string{
	"upper": strings.ToUpper, "lower": strings.ToLower, "decomposed": norm.NFD.String,
	"plus":       func(s string) string { return strings.ReplaceAll(s, " ", "+") },
	"query":      url.QueryEscape,
	"path":       url.PathEscape,
	"nbsp":       func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") },
	"two-spaces": func(s string) string { return strings.ReplaceAll(s, " ", "  ") },
	"lines":      func(s string) string { return strings.ReplaceAll(s, " ", "\n    ") },
	"underscore": func(s string) string { return strings.ReplaceAll(s, " ", "_") },
	"arabic":     func(s string) string { return digitsFrom(s, '٠') },
	"persian":    func(s string) string { return digitsFrom(s, '۰') },
	"devanagari": func(s string) string { return digitsFrom(s, '०') },
	"full-width": func(s string) string { return digitsFrom(s, '０') },
	"bold":       func(s string) string { return digitsFrom(s, '𝟎') },
	"zero-width": func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") },
	"entities": func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, "&#%d;", r)
		}
		return b.String()
	},
}

func digitsFrom(s string, zero rune) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return zero + r - '0'
		}
		return r
	}, s)
}

// TestDisguises: a value is found in every disguise, alone and within a text.
func TestDisguises(t *testing.T) {
	for _, v := range []Value{
		{"legal-name", "Maria Luisa García Pérez"},
		{"legal-name", "Ольга Петровна Смирнова"},
		{"legal-name", "Νίκος Παπαδάκης"},
		{"legal-name", "Иван Кузнецов"},
		{"legal-name", "Jürgen Möller"},
		{"legal-name", "İbrahim Yıldız"},
		{"legal-name", "كريم منصور"},
		{"legal-name", "山田 太郎"},
		{"dob", "1984-03-12"},
		{"dob", "June 7, 2005"},
		{"dob", "07/06/2005"},
		{"phone", "+49 30 1234567"},
		{"phone", "+1 480.731.9106"},
		{"phone", "(480) 731-9106"},
		{"card", "4111 1111 1111 1111"},
		{"iban", "DE89 3704 0044 0532 0130 00"},
		{"account-id", "0012345678"},
		{"national-id", "113-76-1159"},
		{"salary", "$85,500"},
		{"salary", "111000"},
		{"address", "12 Mill Street, Springfield, IL 62704"},
		{"location", "Old Town Hall, Phoenix, AZ"},
		{"passport", "K41893420"},
		{"diagnosis", "type 2 diabetes"},
		{"diagnosis", "Crohn's disease"},
		{"email", "maria.perez@mail.example.org"},
		{"api-key", "sk_live_oGZP9qLJ41xkTt80"},
		{"api-key", "sk_live_4eC39HqLyjWDarjtT1zdp7dcA8mQ2xWv"},
		{"password", "Harvest=aS47MK"},
		{"password", "correct horse 9 battery"},
		{"private-key", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----"},
		{"dob", "2005-06-07"},
		{"address", "7 Elm Street, Boston, MA 02101"},
		{"account-id", "4821 0077"},
	} {
		s := &Set{}
		if err := s.Add(v); err != nil {
			t.Fatal(err)
		}
		for name, f := range disguises {
			if (name == "upper" || name == "lower") && v.Field == "api-key" {
				continue
			}
			for _, around := range [][2]string{{"", ""}, {"see also ", " for the rest"}, {`{"ref": "`, `"}`}} {
				said := f(v.Text)
				text := around[0] + said + around[1]
				left := []byte(text)
				for _, m := range s.Find(text) {
					for i := m.Start; i < m.End && m.Field == v.Field; i++ {
						left[i] = ' '
					}
				}
				rest := string(left[len(around[0]) : len(around[0])+len(said)])
				if strings.ContainsFunc(strings.NewReplacer("%28", "", "%2B", "", "&#40;", "", "&#43;", "").Replace(rest), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
					t.Errorf("%s of %s %q: %q stays of %q", name, v.Field, v.Text, rest, text)
				}
			}
		}
	}
}
