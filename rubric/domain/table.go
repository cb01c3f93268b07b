package domain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/secret/spoken"
)

// Table lists a population's values, or keys that its values have: the
// domains of addresses, the cities of streets.
type Table struct {
	// Key says how a value has its key; the default is the value itself.
	Key string `json:"key,omitempty"`
	// Columns names what the rows hold. The first is the key; members (how many
	// values have it, 1 by default), weight (its prior mass, by default as many
	// as it has members), also (other spellings) and codes (of a classification,
	// which texts hold too often by chance to be looked for) have a meaning; all
	// others are coarser names.
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// Rest is the key of a table's row for all values whose key is not listed.
const Rest = "*"

// kinds say how a value has its key: the keys to look up, the first that is
// listed counts, and the value's normal form.
var kinds = map[string]func(value string) (keys []string, normal string){
	"value":  func(s string) ([]string, string) { return []string{s}, Fold(s) },
	"domain": domainKeys, "country-code": codeKeys, "place": placeKeys, "initial": initialKeys, "initials": initialsKeys,
	"prefix": prefixKeys,
}

func (p *Part) table(spec *Spec, columns []string) error {
	t := spec.Table
	keysOf, ok := kinds[cmp.Or(t.Key, "value")]
	if !ok {
		return fmt.Errorf("key is one of value, domain, country-code, place, initial, initials and prefix, not %q", t.Key)
	}
	if len(t.Columns) == 0 || len(t.Rows) == 0 {
		return errors.New("a table has columns and rows")
	}
	index := map[string]int{}
	names := make([][]string, len(t.Rows))
	rest := -1
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return fmt.Errorf("row %d has %d entries, there are %d columns", i+1, len(row), len(t.Columns))
		}
		a := Atom{Members: big.NewInt(1)}
		names[i] = make([]string, len(row))
		spellings := []string{}
		var weight *big.Int
		for j, v := range row {
			s, list, err := entry(v)
			if err != nil {
				return fmt.Errorf("row %d, %s: %w", i+1, t.Columns[j], err)
			}
			switch {
			case t.Columns[j] == "also", t.Columns[j] == "codes":
				spellings = append(spellings, list...)
				continue
			case list != nil:
				return fmt.Errorf("row %d, %s: only also and codes are lists", i+1, t.Columns[j])
			}
			switch names[i][j] = s; t.Columns[j] {
			case "members":
				a.Members, err = ParseCount(s)
			case "weight":
				weight, err = ParseCount(s)
			}
			if err != nil {
				return fmt.Errorf("row %d, %s: %w", i+1, t.Columns[j], err)
			}
		}
		if weight == nil {
			weight = a.Members
		}
		if !weight.IsUint64() {
			return fmt.Errorf("row %d: more than 2^62 members need a weight", i+1)
		}
		a.Mass = weight.Uint64()
		p.Atoms = append(p.Atoms, a)
		if names[i][0] == Rest {
			if rest >= 0 {
				return fmt.Errorf("row %d: %s comes twice", i+1, Rest)
			}
			rest = i
			continue
		}
		for _, s := range append(spellings, names[i][0]) {
			k := Fold(s)
			if k == "" {
				return fmt.Errorf("row %d has no key", i+1)
			}
			if other, ok := index[k]; ok {
				return fmt.Errorf("rows %d and %d have the same key", other+1, i+1)
			}
			index[k] = i
		}
	}
	for _, c := range columns {
		j := slices.Index(t.Columns, c)
		if j < 0 || c == "members" || c == "weight" || c == "also" || c == "codes" {
			return fmt.Errorf("the table has no column %q of names", c)
		}
		p.add(c, func(i int) string { return names[i][j] })
	}
	p.find = func(v string) (int, string, bool) {
		ks, normal := keysOf(v)
		for _, k := range ks {
			if i, ok := index[Fold(k)]; ok {
				if t.listsValues() {
					normal = Fold(names[i][0]) // whatever the spelling
				}
				return i, normal, true
			}
		}
		if k, ok := t.within(index, v); ok && rest >= 0 {
			return index[Fold(k)], normal, len(ks) > 0
		}
		return rest, normal, rest >= 0 && len(ks) > 0
	}
	if t.listsValues() || t.Key == "place" {
		p.Mention = func(text string, _ time.Time) (spoken.Range[string], bool) {
			k, ok := t.within(index, text)
			return spoken.Range[string]{From: k, To: k}, ok
		}
	}
	return nil
}

// maxKey bounds the words of a key that stands among other words.
const maxKey = 5

// within returns what the table lists of a value or a place among other words, if that is
// one row's: the longest key at each word. Places start with a capital letter, and their
// codes have no other.
func (t *Table) within(index map[string]int, text string) (key string, ok bool) {
	// The bound is of the folded text, so that a value and its normal form meet the same one.
	if !t.listsValues() && t.Key != "place" || len(Fold(text)) > 250 {
		return "", false
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("'\u2019-.&", r)
	})
	for i := range words {
		words[i] = strings.Trim(words[i], ".-'\u2019")
	}
	for i := 0; i < len(words); i++ {
		for n := min(maxKey, len(words)-i); n > 0; n-- {
			k := strings.Join(words[i:i+n], " ")
			row, has := index[Fold(k)]
			if !has || t.Key == "place" && (!unicode.IsUpper([]rune(k)[0]) || len(k) == 2 && k != strings.ToUpper(k)) {
				continue
			}
			if ok && row != index[Fold(key)] {
				return "", false
			}
			key, ok = k, true
			i += n - 1
			break
		}
	}
	return key, ok
}

// listsValues reports whether the rows are values, and not keys of values.
func (t *Table) listsValues() bool { return t.Key == "" || t.Key == "value" }

// entry reads an entry of a row.
func entry(v any) (s string, list []string, err error) {
	switch v := v.(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	case []any:
		list = []string{}
		for _, e := range v {
			t, _, err := entry(e)
			if err != nil {
				return "", nil, err
			}
			list = append(list, t)
		}
		return "", list, nil
	default:
		return "", nil, errors.New("an entry is a text or a number")
	}
	if s == "" || len(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) {
		return "", nil, errors.New("an entry has 1 to 200 characters in a line")
	}
	return s, nil, nil
}

// Values returns what a table lists, with other spellings, for lexicons; nil
// where a population is not a table of values.
func (s *Spec) Values() []string {
	if s.Table == nil || !s.Table.listsValues() {
		return nil
	}
	var out []string
	for _, row := range s.Table.Rows {
		for j, v := range row {
			if j >= len(s.Table.Columns) || j > 0 && s.Table.Columns[j] != "also" {
				continue
			}
			if one, list, err := entry(v); err == nil && one != Rest {
				out = append(out, list...)
				if list == nil {
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// Fold makes spellings alike that differ by case or spaces.
func Fold(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

func domainKeys(s string) ([]string, string) {
	s = strings.ToLower(strings.TrimSpace(s))
	i := strings.LastIndexByte(s, '@')
	if len(s) > 320 || i > 64 || strings.ContainsAny(s, "<>,;:\"()[]\\") || strings.Count(s, "@") > 1 ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return nil, ""
	}
	if i < 0 && strings.Contains(s, ".") { // a part of a product
		return []string{s}, s
	}
	if i < 1 || i == len(s)-1 {
		return nil, ""
	}
	return []string{s[i+1:]}, s
}

// codeKeys are the beginnings of a number in international form, the longest
// first.
func codeKeys(s string) ([]string, string) {
	s = strip(strings.TrimSpace(s), " -./()\u00a0")
	if rest, ok := strings.CutPrefix(s, "00"); ok {
		s = "+" + rest
	}
	digits, ok := strings.CutPrefix(s, "+")
	if !ok || len(digits) < 7 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return nil, ""
	}
	var out []string
	for n := 7; n > 0; n-- {
		out = append(out, "+"+digits[:n])
	}
	return out, s
}

// placeKeys are runs of the segments between commas, without words that hold
// digits (house numbers, postcodes): those that start first, the longest
// first.
func placeKeys(s string) ([]string, string) {
	const most = 8
	if len(s) > 250 {
		return nil, ""
	}
	var segments []string
	for seg := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == '\n' || r == ';' }) {
		words := strings.Fields(seg)
		words = slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "0123456789") })
		if len(words) > 0 {
			segments = append(segments, strings.Join(words, " "))
		}
	}
	if len(segments) > most {
		segments = segments[len(segments)-most:]
	}
	var out []string
	for i := range segments {
		for j := len(segments); j > i; j-- {
			out = append(out, strings.Join(segments[i:j], ", "))
		}
	}
	return out, Fold(strip(s, ",;.\n"))
}

// nameLike reports whether a text can be a name: a few words of letters.
func nameLike(s string) bool {
	return len(s) <= 100 && len(strings.Fields(s)) <= 6 && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune(" .-'\u2019", r)
	})
}

// initialKeys has the first letter of a name, none where it starts with
// something else.
func initialKeys(s string) ([]string, string) {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(s))
	if !nameLike(s) || !unicode.IsLetter(r) {
		return nil, ""
	}
	return []string{string(unicode.ToUpper(r))}, Fold(s)
}

func initialsKeys(s string) ([]string, string) {
	if !nameLike(s) {
		return nil, ""
	}
	out := ""
	for w := range strings.FieldsSeq(s) {
		if k, _ := initialKeys(w); k != nil {
			out += k[0]
		}
	}
	if out == "" {
		return nil, ""
	}
	return []string{out}, Fold(s)
}

// prefixKeys are the beginnings of a value without spaces and dashes, the
// longest first.
func prefixKeys(s string) ([]string, string) {
	s = strip(strings.TrimSpace(s), " -")
	if len(s) > 64 {
		return nil, ""
	}
	var out []string
	for n := min(len(s), 16); n > 0; n-- {
		if n == len(s) || utf8.RuneStart(s[n]) {
			out = append(out, s[:n])
		}
	}
	return out, Fold(s)
}
