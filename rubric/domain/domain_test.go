package domain_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/margaydev/margay/rubric/domain"
)

func table(key string, rows ...[]any) *domain.Table {
	return &domain.Table{Key: key, Columns: []string{"v", "also", "members", "side"}, Rows: rows}
}

func row(v string, members string, also ...any) []any { return []any{v, also, members, "x"} }

// Values are found however people write them, and written alike.
func TestFind(t *testing.T) {
	dates := &domain.Spec{Dates: []string{"1990-01-15", "1990-12-31"}}
	us := &domain.Spec{Dates: dates.Dates, Order: "mdy"}
	numbers := &domain.Spec{Numbers: []int64{-100, 100000, 50}}
	ids := &domain.Spec{Uniform: "10^6", Ignore: " -", Pattern: `\d{6}`}
	for _, c := range []struct {
		spec    *domain.Spec
		columns string
		value   string
		atom    int // -1: outside
		normal  string
	}{
		{dates, "month", "1990-01-15", 0, "1990-01-15"},
		{dates, "month", "3 February 1990", 1, "1990-02-03"},
		{dates, "month", "3/2/1990", 1, "1990-02-03"},
		{us, "month", "3/2/1990", 2, "1990-03-02"},
		{dates, "month", "1990-01-14", -1, ""},
		{dates, "month", "1991-01-01", -1, ""},
		{dates, "month", "spring", -1, ""},
		{numbers, "band 50000", "$49,950.70", 1, "49950"},
		{numbers, "band 50000", "EUR 50k", 2, "50000"},
		{numbers, "band 50000", "-100", 0, "-100"},
		{numbers, "band 50000", "1,00", -1, ""},
		{numbers, "band 50000", "100050", -1, ""},
		{numbers, "band 50000", "12 e3", -1, ""},
		{ids, "last 2", "123 4-56", 56, "123456"},
		{ids, "last 2", "12345", -1, ""},
		{ids, "last 2", "12345a", -1, ""},
		{&domain.Spec{Table: table("value", row("High  Blood", "1", "bp"), row("*", "9"))}, "side", "high blood", 0, "high blood"},
		{&domain.Spec{Table: table("value", row("High Blood", "1", "bp"), row("*", "9"))}, "side", "BP", 0, "high blood"},
		{&domain.Spec{Table: table("value", row("a", "1"))}, "side", "b", -1, ""},
		{&domain.Spec{Table: table("domain", row("x.example", "1"), row("*", "1"))}, "side", "Jane@X.example", 0, "jane@x.example"},
		{&domain.Spec{Table: table("domain", row("x.example", "1"), row("*", "1"))}, "side", "jane@y.example", 1, "jane@y.example"},
		{&domain.Spec{Table: table("domain", row("x.example", "1"), row("*", "1"))}, "side", "jane at y", -1, ""},
		{&domain.Spec{Table: table("country-code", row("+1", "1"), row("+1415", "1"))}, "side", "001 (415) 555-0100", 1, "+14155550100"},
		{&domain.Spec{Table: table("country-code", row("+1", "1"))}, "side", "555-0100", -1, ""},
		{&domain.Spec{Table: table("place", row("Lyon", "1"), row("France", "1"))}, "side", "3 Rue X, 69002 Lyon, France", 0, "3 rue x 69002 lyon france"},
		{&domain.Spec{Table: table("initial", row("M", "1"))}, "side", "maria", 0, "maria"},
		{&domain.Spec{Table: table("initials", row("MS", "1"))}, "side", "maria silva", 0, "maria silva"},
		{&domain.Spec{Table: table("prefix", row("4", "1"), row("41", "1"))}, "side", "41 11", 1, "4111"},
	} {
		p, err := domain.New(c.spec, strings.Split(c.columns, "; "))
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		got, normal, ok := p.Find(c.value)
		if !ok {
			got = -1
		}
		if got != c.atom {
			t.Errorf("%s is in atom %d, want %d", c.value, got, c.atom)
		}
		if ok && normal != c.normal {
			t.Errorf("%s is written %q, want %q", c.value, normal, c.normal)
		}
	}
}

func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		kind  string
		cut   []int
		n     int
		value string
		want  string // - for a value that does not fall into parts
	}{
		{"at", nil, 2, "a@b@c", "a@b|c"},
		{"at", nil, 2, "@c", "-"},
		{"name", nil, 2, "Anna Maria Silva", "Anna Maria|Silva"},
		{"name", nil, 2, "de Silva, Anna", "Anna|de-Silva"},
		{"name", nil, 2, "Cher", "-"},
		{"comma", nil, 2, "1, Mill Road, Leeds", "1, Mill Road|Leeds"},
		{"comma", nil, 2, "Leeds", "-"},
		{"cut", []int{2, -2}, 3, "12 3456-78", "12|3456|78"},
		{"cut", []int{2, -2}, 3, "1234", "-"},
	} {
		split, err := domain.Splitter(c.kind, c.cut, c.n)
		if err != nil {
			t.Fatal(err)
		}
		got := "-"
		if parts, ok := split(c.value); ok {
			got = strings.Join(parts, "|")
		}
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.kind, c.value, got, c.want)
		}
	}
	for kind, n := range map[string]int{"at": 3, "name": 1, "cut": 2, "comma": 1, "": 2} {
		if _, err := domain.Splitter(kind, nil, n); err == nil {
			t.Errorf("%q into %d parts", kind, n)
		}
	}
}

func TestParseCount(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "10^9": 1_000_000_000, "2^10": 1024} {
		if n, err := domain.ParseCount(s); err != nil || n.Cmp(big.NewInt(want)) != 0 {
			t.Errorf("%s: %v, %v", s, n, err)
		}
	}
	for _, s := range []string{"", "0", "-1", "+1", "1.5", "2^", "2^x", "2^1025", "10^513", strings.Repeat("9", 41)} {
		if n, err := domain.ParseCount(s); err == nil {
			t.Errorf("%s: %v", s, n)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		spec    *domain.Spec
		columns []string
		want    string
	}{
		{&domain.Spec{}, nil, "one of uniform, dates"},
		{&domain.Spec{Uniform: "5", Dates: []string{"1990-01-01", "1990-01-02"}}, nil, "one of uniform, dates"},
		{&domain.Spec{Uniform: "5", Order: "dmy"}, nil, "order is for dates"},
		{&domain.Spec{Numbers: []int64{0, 5, 1}, Ignore: "x"}, nil, "ignore is for uniform"},
		{&domain.Spec{Uniform: "5", Pattern: "("}, nil, "pattern"},
		{&domain.Spec{Uniform: "15"}, []string{"last 1"}, "do not fall into 10 equal cells"},
		{&domain.Spec{Uniform: "10^9"}, []string{"last 5"}, "last 1 to last 4"},
		{&domain.Spec{Dates: []string{"1990-01-02", "1990-01-01"}}, nil, "first and the last day"},
		{&domain.Spec{Dates: []string{"1990-01-01", "1991-01-01"}}, []string{"week"}, `not "week"`},
		{&domain.Spec{Numbers: []int64{0, 5, 2}}, nil, "whole steps"},
		{&domain.Spec{Numbers: []int64{0, 10, 2}}, []string{"band 3"}, "a multiple of the step"},
		{&domain.Spec{Numbers: []int64{0, 1 << 40, 1}}, []string{"band 1"}, "not too fine"},
		{&domain.Spec{Table: table("shape", row("a", "1"))}, nil, "key is one of"},
		{&domain.Spec{Table: table("value", row("a", "1"), row("A", "1"))}, nil, "the same key"},
		{&domain.Spec{Table: table("value", row("*", "1"), row("*", "1"))}, nil, "comes twice"},
		{&domain.Spec{Table: table("value", row("a", "0"))}, nil, "not a number of values"},
		{&domain.Spec{Table: table("value", row("a", "2^62"), row("b", "2^62"))}, nil, "weights are too large"},
		{&domain.Spec{Table: table("value", row("a", "1"))}, []string{"members"}, "no column"},
		{&domain.Spec{Table: table("value", []any{"a"})}, nil, "1 entries, there are 4 columns"},
	} {
		if _, err := domain.New(c.spec, c.columns); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// FuzzFind: a value that is found is in an atom, and so is its normal form, in
// the same one.
func FuzzFind(f *testing.F) {
	var parts []*domain.Part
	for _, s := range []struct {
		spec   *domain.Spec
		column string
	}{
		{&domain.Spec{Dates: []string{"1990-01-15", "2010-12-31"}}, "month"},
		{&domain.Spec{Numbers: []int64{-100, 100000, 50}}, "band 500"},
		{&domain.Spec{Uniform: "10^6", Ignore: " -", Pattern: `\d{6}`}, "last 2"},
		{&domain.Spec{Table: table("value", row("high blood", "1", "bp"), row("*", "9"))}, "side"},
		{&domain.Spec{Table: table("domain", row("x.example", "1"), row("*", "1"))}, "side"},
		{&domain.Spec{Table: table("country-code", row("+1", "1"), row("+33", "1"))}, "side"},
	} {
		p, err := domain.New(s.spec, []string{s.column})
		if err != nil {
			f.Fatal(err)
		}
		parts = append(parts, p)
	}
	for _, s := range []string{"1990-02-03", "$49,950.70", "123 456", "BP", "jane@x.example", "001 415 555 0100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for i, p := range parts {
			at, normal, ok := p.Find(value)
			if !ok {
				continue
			}
			if at < 0 || at >= len(p.Atoms) {
				t.Fatalf("part %d: atom %d of %d", i, at, len(p.Atoms))
			}
			if again, _, ok := p.Find(normal); !ok || again != at {
				t.Fatalf("part %d: %q is in %d, and %q in %d, %v", i, value, at, normal, again, ok)
			}
		}
	})
}
