package library_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/domain"
)

// unlisted is a value of the rest of a table: no clause can know it in a text.
const unlisted = "something rare"

// payloads draws values of a rubric's fields from the populations that it
// declares itself.
type payloads struct {
	rules *rubric.Resolved
	specs map[string]*domain.Spec // by field
	of    map[string]string       // of fields that are views of others, those
}

func payloadsOf(t *testing.T, r *rubric.Rubric) *payloads {
	t.Helper()
	var doc struct {
		Fields map[string]struct {
			Population *domain.Spec `json:"population"`
			Of         string       `json:"of"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(r.Canonical(), &doc); err != nil {
		t.Fatal(err)
	}
	p := &payloads{rules: rubric.Combine(r), specs: map[string]*domain.Spec{}, of: map[string]string{}}
	for name, f := range doc.Fields {
		if p.specs[name] = f.Population; f.Of != "" {
			p.of[name] = f.Of
		}
	}
	return p
}

// draw returns a value of a field: one that the rubric takes for one.
func (p *payloads) draw(t *rapid.T, field string) string {
	for range 20 {
		v := ""
		if root := p.of[field]; root != "" {
			v = schemeOf(t)
		} else {
			v = drawSpec(t, p.specs[field])
		}
		if _, err := p.rules.Generalize(field, 0, v); err == nil {
			return v
		}
	}
	t.Fatalf("no value of %s could be drawn from its population", field)
	return ""
}

func schemeOf(t *rapid.T) string {
	return rapid.SampledFrom([]string{"Visa", "Mastercard", "American Express"}).Draw(t, "scheme")
}

func drawSpec(t *rapid.T, s *domain.Spec) string {
	switch {
	case s.Product != nil:
		parts := make([]string, len(s.Product))
		for i := range s.Product {
			parts[i] = drawSpec(t, &s.Product[i])
		}
		return strings.Join(parts, map[string]string{"name": " ", "at": "@", "comma": ", "}[s.Split])
	case s.Dates != nil:
		return drawDate(t, s.Dates)
	case s.Numbers != nil:
		n := s.Numbers[0] + s.Numbers[2]*rapid.Int64Range(0, (s.Numbers[1]-s.Numbers[0])/s.Numbers[2]).Draw(t, "number")
		return fmt.Sprint(n)
	case s.Table != nil:
		return drawRow(t, s.Table)
	case strings.Contains(s.Pattern, "PRIVATE KEY"):
		body := rapid.StringMatching(`[A-Za-z0-9+/]{64}`).Draw(t, "key")
		return "-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----\n"
	case s.Pattern == `[!-~]{8,900}`: // as keys are written, which a text must not hold
		return "sk-live-" + rapid.StringMatching(`[A-Za-z0-9]{24}`).Draw(t, "key")
	case strings.HasPrefix(s.Pattern, `(\d{1,3}\.){3}`): // of a machine: reserved addresses identify none
		reserved := regexp.MustCompile(`^(0\.0\.0\.0|127\.0\.0\.1|255\.255\.255\.255|192\.0\.2\.\d+|198\.51\.100\.\d+|203\.0\.113\.\d+)(:|$)`)
		return rapid.StringMatching(s.Pattern).Filter(func(v string) bool { return !reserved.MatchString(v) }).Draw(t, "value")
	case s.Pattern != "":
		return rapid.StringMatching(s.Pattern).Draw(t, "value")
	default:
		return rapid.StringMatching(`[0-9]{10}`).Draw(t, "value")
	}
}

func drawDate(t *rapid.T, days []string) string {
	first, err := time.Parse(time.DateOnly, days[0])
	if err != nil {
		t.Fatal(err)
	}
	last, err := time.Parse(time.DateOnly, days[1])
	if err != nil {
		t.Fatal(err)
	}
	day := first.AddDate(0, 0, rapid.IntRange(0, int(last.Sub(first).Hours()/24)).Draw(t, "day"))
	return day.Format(rapid.SampledFrom([]string{time.DateOnly, "2 January 2006", "January 2, 2006", "02/01/2006"}).Draw(t, "form"))
}

// drawRow returns a value of a row of a table: the row's own, or one that has
// its key.
func drawRow(t *rapid.T, table *domain.Table) string {
	row := rapid.SampledFrom(table.Rows).Draw(t, "row")
	var spellings []string
	for i, c := range table.Columns {
		switch v := row[i].(type) {
		case string:
			if i == 0 {
				spellings = append(spellings, v)
			}
		case []any:
			if c == "also" {
				for _, s := range v {
					spellings = append(spellings, fmt.Sprint(s))
				}
			}
		}
	}
	key := rapid.SampledFrom(spellings).Draw(t, "key")
	rest := key == domain.Rest
	digits := func(n int) string { return rapid.StringMatching(fmt.Sprintf(`\d{%d}`, n)).Draw(t, "digits") }
	word := func() string { return rapid.StringMatching(`[a-z]{5,9}`).Draw(t, "word") }
	switch table.Key {
	case "place":
		if rest {
			key = "Xanadu"
		}
		return digits(3) + " Oak Street, " + key
	case "domain":
		if rest {
			key = word() + ".example"
		}
		return word() + "@" + key
	case "initial":
		if rest {
			key = "X"
		}
		return strings.ToUpper(key) + word()
	case "prefix":
		switch {
		case strings.HasPrefix(key, "+"), strings.HasPrefix(key, "00"):
			return strings.TrimSuffix(key, "+") + digits(11)
		case len(key) == 1 && key[0] >= 'A' && key[0] <= 'Z': // a code of the ICD
			return key + digits(2) + "." + digits(1)
		default:
			return (key + digits(9))[:9]
		}
	default:
		if rest {
			return unlisted
		}
		return key
	}
}

// The generators reach every cell of every level that somebody may be shown,
// or all but a few: else what is held of payloads is held of little.
func TestPayloadsAreOfAllKinds(t *testing.T) {
	done := map[string]bool{} // a field is the same in all of them
	for _, r := range compiledRules(t) {
		p := payloadsOf(t, r)
		for _, field := range p.rules.Fields() {
			levels := len(r.LevelNames(field))
			if levels == 0 || done[field] {
				continue
			}
			done[field] = true
			seen := map[string]bool{}
			gen := rapid.Custom(func(t *rapid.T) string { return p.draw(t, field) })
			for i := range 400 {
				label, err := p.rules.Generalize(field, levels, gen.Example(i))
				if err != nil {
					t.Fatal(err)
				}
				seen[label] = true
			}
			if cells := len(p.rules.Cells(field, levels)); len(seen) < max(2, cells) {
				t.Errorf("of %s only %v were drawn, there are %d kinds of cells", field, slices.Sorted(maps.Keys(seen)), cells)
			}
		}
	}
}
