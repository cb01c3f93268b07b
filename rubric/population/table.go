package population

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Table lists a population's values, or keys that its values have: the
// domains of addresses, the cities of streets.
type Table struct {
	// Key says how a value has its key; the default is the value itself.
	Key string `json:"key,omitempty"`
	// Columns names what the rows hold. The first is the key; members (how many
	// values have it, 1 by default), weight (its prior mass, by default as many
	// as it has members) and also (other spellings) have a meaning; all others
	// are coarser names.
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// Rest is the key of a table's row for all values whose key is not listed.
const Rest = "*"

// keys are the functions from a value to its key, which is then looked up.
var keys = map[string]func(string) []string{
	"value":  func(s string) []string { return []string{s} },
	"domain": domainKeys, "country-code": codeKeys, "place": placeKeys, "initial": initialKeys, "initials": initialsKeys,
	"prefix": prefixKeys,
}

func (p *part) table(t *Table, columns []string) error {
	kind := t.Key
	if kind == "" {
		kind = "value"
	}
	keysOf, ok := keys[kind]
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
		a := atom{members: big.NewInt(1)}
		names[i] = make([]string, len(row))
		spellings := []string{}
		var weight *big.Int
		for j, v := range row {
			s, list, err := entry(v)
			if err != nil {
				return fmt.Errorf("row %d, %s: %w", i+1, t.Columns[j], err)
			}
			switch {
			case t.Columns[j] == "also":
				spellings = append(spellings, list...)
				continue
			case list != nil:
				return fmt.Errorf("row %d, %s: only also is a list", i+1, t.Columns[j])
			}
			switch names[i][j] = s; t.Columns[j] {
			case "members":
				a.members, err = ParseCount(s)
			case "weight":
				weight, err = ParseCount(s)
			}
			if err != nil {
				return fmt.Errorf("row %d, %s: %w", i+1, t.Columns[j], err)
			}
		}
		if weight == nil {
			weight = a.members
		}
		if !weight.IsUint64() {
			return fmt.Errorf("row %d: more than 2^62 members need a weight", i+1)
		}
		a.mass = weight.Uint64()
		p.atoms = append(p.atoms, a)
		if names[i][0] == Rest {
			if rest >= 0 {
				return fmt.Errorf("row %d: %s comes twice", i+1, Rest)
			}
			rest = i
			continue
		}
		for _, s := range append(spellings, names[i][0]) {
			k := fold(s)
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
		if j < 0 || c == "members" || c == "weight" || c == "also" {
			return fmt.Errorf("the table has no column %q of names", c)
		}
		p.add(c, func(i int) string { return names[i][j] })
	}
	p.normal = func(v string) string {
		switch kind {
		case "value":
			if i, ok := index[fold(v)]; ok {
				return fold(names[i][0]) // whatever the spelling
			}
		case "country-code":
			if ks := codeKeys(v); ks != nil {
				return "+" + strings.TrimPrefix(strings.TrimPrefix(strip(v, " -./()+\u00a0"), "00"), "+")
			}
		case "place":
			return fold(strip(v, ",;.\n"))
		case "prefix":
			return fold(strip(v, " -"))
		}
		return fold(v)
	}
	p.find = func(v string) (int, bool) {
		ks := keysOf(v)
		for _, k := range ks {
			if i, ok := index[fold(k)]; ok {
				return i, true
			}
		}
		return rest, rest >= 0 && len(ks) > 0
	}
	return nil
}

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
// where a population is no table of values.
func (s *Spec) Values() []string {
	if s.Table == nil || s.Table.Key != "" && s.Table.Key != "value" {
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

// fold makes spellings alike that differ by case or spaces.
func fold(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

func domainKeys(s string) []string {
	s = strings.ToLower(strings.TrimSpace(s))
	i := strings.LastIndexByte(s, '@')
	if len(s) > 320 || i > 64 || strings.ContainsAny(s, " <>,;:\"()[]\\") || strings.Count(s, "@") > 1 || strings.ContainsFunc(s, unicode.IsControl) {
		return nil
	}
	if i < 0 && strings.Contains(s, ".") { // a part of a product
		return []string{s}
	}
	if i < 1 || i == len(s)-1 {
		return nil
	}
	return []string{s[i+1:]}
}

// codeKeys are the beginnings of a number in international form, the longest
// first.
func codeKeys(s string) []string {
	s = strip(strings.TrimSpace(s), " -./()\u00a0")
	if rest, ok := strings.CutPrefix(s, "00"); ok {
		s = "+" + rest
	}
	digits, ok := strings.CutPrefix(s, "+")
	if !ok || len(digits) < 7 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return nil
	}
	var out []string
	for n := 7; n > 0; n-- {
		out = append(out, "+"+digits[:n])
	}
	return out
}

// placeKeys are runs of the segments between commas, without words that hold
// digits (house numbers, postcodes): those that begin first, the longest
// first.
func placeKeys(s string) []string {
	const most = 8
	if len(s) > 250 {
		return nil
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
	return out
}

// nameLike reports whether a text can be a name: a few words of letters.
func nameLike(s string) bool {
	return len(s) <= 100 && len(strings.Fields(s)) <= 6 && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune(" .-'\u2019", r)
	})
}

func initialKeys(s string) []string {
	if !nameLike(s) {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(s))
	if !unicode.IsLetter(r) {
		return nil
	}
	return []string{string(unicode.ToUpper(r))}
}

func initialsKeys(s string) []string {
	if !nameLike(s) {
		return nil
	}
	out := ""
	for w := range strings.FieldsSeq(s) {
		if k := initialKeys(w); k != nil {
			out += k[0]
		}
	}
	if out == "" {
		return nil
	}
	return []string{out}
}

// prefixKeys are the beginnings of a value without spaces and dashes, the
// longest first.
func prefixKeys(s string) []string {
	s = strip(strings.TrimSpace(s), " -")
	if len(s) > 64 {
		return nil
	}
	var out []string
	for n := min(len(s), 16); n > 0; n-- {
		if utf8.RuneStart(at(s, n)) {
			out = append(out, s[:n])
		}
	}
	return out
}

func at(s string, n int) byte {
	if n < len(s) {
		return s[n]
	}
	return 0
}
