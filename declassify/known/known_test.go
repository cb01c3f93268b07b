package known

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func family(t testing.TB) *Set {
	t.Helper()
	s := &Set{}
	for _, v := range []Value{
		{"legal-name", "Maria Luisa García Pérez"},
		{"legal-name", "Jonas Brandt"},
		{"legal-name", "Anne-Marie O'Brien"},
		{"legal-name", "Jürgen Groß"},
		{"dob", "1984-03-12"},
		{"dob", "7 June 2005"},
		{"phone", "+49 30 1234567"},
		{"card", "4111 1111 1111 1111"},
		{"iban", "DE89 3704 0044 0532 0130 00"},
		{"employer", "Müller & Söhne"},
		{"place", "北京市"},
		{"email", "maria.perez@mail.example.org"},
		{"salary", "$85,500"},
		{"address", "12 Mill Street, Springfield, IL 62704"},
		{"passport", "C01X00T47"},
	} {
		if err := s.Add(v); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestSpellings: every spelling is found, as a whole.
func TestSpellings(t *testing.T) {
	s := family(t)
	for text, field := range map[string]string{
		"Maria Luisa García Pérez": "legal-name", "maria luisa garcia perez": "legal-name", "MARIA GARCÍA": "legal-name", "Pérez, Maria": "legal-name", "M. L. G. Pérez": "legal-name", "M. Pérez": "legal-name", "Pérez, M.": "legal-name", "Maria Pérez": "legal-name",
		"Jonas Brandt": "legal-name", "J. Brandt": "legal-name", "Brandt, J": "legal-name", "Brandt Jonas": "legal-name", "jonas\u200b brandt": "legal-name",
		"1984-03-12": "dob", "12/03/1984": "dob", "3/12/84": "dob", "12.3.1984": "dob", "12 March 1984": "dob", "March 12th, 1984": "dob", "12th of March, 1984": "dob", "the twelfth of March nineteen eighty-four": "dob", "March twelfth, nineteen hundred and eighty four": "dob", "19840312": "dob", "120384": "dob", "1984 March 12": "dob", "12-Mar-84": "dob",
		"June seventh two thousand and five": "dob", "7.6.05": "dob", "2005/06/07": "dob", "the 7th of June in the year 2005": "dob", "June 7, twenty oh five": "dob",
		"+49 30 1234567": "phone", "0049301234567": "phone", "030/123 45 67": "phone", "(030) 1234-567": "phone", "301234567": "phone", "oh three oh one two three four five six seven": "phone",
		"4111111111111111": "card", "4111-1111-1111-1111": "card", "de89370400440532013000": "iban",
		"muller & sohne": "employer", "Mu\u0308ller Söhne": "employer", "北京市": "place",
		"Annemarie OBrien": "legal-name", "anne marie o brien": "legal-name", "A.-M. O’Brien": "legal-name", "maria_garcia": "legal-name", "MariaPérez": "legal-name", "Juergen Gross": "legal-name", "Jurgen Groß": "legal-name", "ML Pérez": "legal-name",
		"MARIA.PEREZ@MAIL.EXAMPLE.ORG": "email", "maria dot perez at mail dot example dot org": "email", "maria.perez [at] mail (dot) example (dot) org": "email",
		"85500 dollars": "salary", "85.500,00 €": "salary", "eighty-five thousand five hundred": "salary", "85 500": "salary", "$85,500.00": "salary",
		"12 Mill St.": "address", "Mill St 12": "address", "12 mill street, springfield": "address", "c-01-x00 t47": "passport", "4111 double one 11 11-11 1 triple 1": "card",
		"12%2F03%2F1984": "dob", "J&#111;nas\\u0020Brandt": "legal-name", "１２/03/1984": "dob", "12/03/84": "dob", "12/03/1884": "", "12 Mill Street, flat 3b, Springfield": "address", "Jonas flat 12 Brandt": "", "85,501": "", "13 Mill Street": "",
		"area code 030, number 123 45 67": "phone", "given name: Jonas, surname: Brandt": "legal-name", "Brandt (first name Jonas)": "legal-name", "user maria.perez, host mail.example.org": "email", "2005年6月7日": "dob",
		"street Mill Street, house number 12": "address", "lives at number 12 in Mill Street": "address", "Jonas first saw Brandt": "", "Brandt has a first name": "", "code 4111, area 1111": "",
		"Maria": "", "Brandt": "", "1984": "", "March 1984": "", "13 March 1984": "", "1234567 apples": "", "Jonas and Brandt": "", "Jonas. We met Brandt": "", "411111111111111": "", "the build is green": "",
	} {
		got := s.Find("about " + text + ".")
		if field == "" {
			if len(got) > 0 {
				t.Errorf("%q: %v", text, got)
			}
			continue
		}
		found := false
		for _, m := range got {
			found = found || m.Field == field
		}
		if !found {
			t.Errorf("%q: %v, want %s", text, got, field)
		}
	}
}

// TestBounds: a value too many or too long is an error; adding a value twice is not.
func TestBounds(t *testing.T) {
	s := &Set{}
	if s.Add(Value{"x", strings.Repeat("a", MaxValue+1)}) == nil {
		t.Error("too long a value")
	}
	for i := range MaxValues {
		if err := s.Add(Value{"account-id", fmt.Sprintf("A%08d", i)}); err != nil {
			t.Fatal(i, err)
		}
	}
	if s.Add(Value{"x", "one more"}) == nil || s.Add(Value{"account-id", "A00000001"}) != nil || s.Len() != MaxValues {
		t.Error("the bound does not hold")
	}
}

// TestSeveral: a spelling that may be several values is of their field, and of none of them.
func TestSeveral(t *testing.T) {
	s := &Set{}
	for _, v := range []Value{{"legal-name", "Jonas Brandt"}, {"legal-name", "Julia Brandt"}, {"account-id", "J Brandt"}} {
		if err := s.Add(v); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Find("J. Brandt")
	want := []Match{{0, 9, "account-id", "J Brandt"}, {0, 9, "legal-name", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWork: what a text has is linear in its length, whatever is known.
func TestWork(t *testing.T) {
	s := &Set{}
	for i := range 2000 {
		for _, v := range []Value{{"legal-name", fmt.Sprintf("Ann A%c B%c Smith", 'a'+i%26, 'a'+i/26%26)}, {"account-id", strings.Repeat("1 ", 20) + fmt.Sprint(i)}, {"dob", fmt.Sprintf("1984-%02d-%02d", 1+i%12, 1+i%28)}} {
			if err := s.Add(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	found := func(n int) int {
		return len(s.Find(strings.Repeat("1 1 1 twelve of the twelve smith a b smith one nineteen ", n)))
	}
	if a, b := found(100), found(1000); b > 11*a {
		t.Errorf("%d places in a text, %d in one ten times as long", a, b)
	}
}

// TestSpellingsAreBounded: no value has many spellings, and all together have a bound.
func TestSpellingsAreBounded(t *testing.T) {
	for _, field := range []string{"legal-name", "api-key", "address", "email"} {
		for _, unit := range []string{"a1", "ab ", "1 ", "de la ", "x.", "山", "Ä", "12 st, "} {
			s := &Set{}
			if err := s.Add(Value{field, strings.Repeat(unit, MaxValue/len(unit))}); err != nil || s.spelt > 4096 {
				t.Errorf("%s of %q: %d spellings, %v", field, unit, s.spelt, err)
			}
		}
	}
	s := &Set{}
	var err error
	for i := 0; err == nil; i++ {
		err = s.Add(Value{"api-key", fmt.Sprintf("%s%d", strings.Repeat("a1b2", 120), i)})
	}
	if s.spelt > MaxSpellings+4096 {
		t.Errorf("%d spellings", s.spelt)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("Maria García", "M. García, born 12/3/84")
	f.Add("1984-03-12", "the twelfth of March nineteen eighty-four")
	f.Add("+1 202 555 0100", "(202) 555-0100 double five")
	f.Fuzz(func(t *testing.T, value, text string) {
		s := &Set{}
		if s.Add(Value{"legal-name", value}) != nil || s.Add(Value{"account-id", value}) != nil {
			return
		}
		for _, m := range s.Find(text) {
			if m.Start < 0 || m.Start >= m.End || m.End > len(text) {
				t.Fatalf("%v in a text of %d bytes", m, len(text))
			}
		}
		// What is found alone is found among other words.
		whole := slices.ContainsFunc(s.Find(value), func(m Match) bool { return m.Start == 0 && m.End == len(value) })
		if whole && len(s.Find("so, "+value+", she said")) == 0 {
			t.Fatalf("%q is not found in a sentence", value)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	s := family(b)
	text := strings.Repeat("The build is green, and 14 of 20 tests ran on 3 May; see run 4821 for what Jonas wrote about Mill Street. ", 10)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Find(text)
	}
}

// TestCool: a family whose search was freed finds what it found before, and few are
// warm at a time.
func TestCool(t *testing.T) {
	f := &Family{}
	f.See(Value{"legal-name", "Jonas Brandt"})
	want := f.Find("j. brandt")
	f.Cool()
	if got := f.Find("j. brandt"); len(want) != 1 || !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var r Recent[int]
	freed := 0
	for i := range 3 * maxWarm {
		r.Use(i%(2*maxWarm), func(int) bool { freed++; return true })
	}
	if len(r.all) != maxWarm || freed != 2*maxWarm {
		t.Errorf("%d are warm, %d were freed", len(r.all), freed)
	}
}

// TestLearntForms: dates and names in the forms that programs write, and numbers with a
// code that was not learnt.
func TestLearntForms(t *testing.T) {
	for _, c := range []struct{ field, value, text string }{
		{"dob", "1990-03-14T00:00:00Z", "14 March 1990"},
		{"dob", "1990-03-14 00:00", "14 March 1990"},
		{"dob", "Wednesday, March 14, 1990", "14/3/1990"},
		{"dob", "14/03/90", "14 March 1990"},
		{"legal-name", "Silva, Maria", "M. Silva"},
		{"legal-name", "Silva, Maria", "Ms. Silva"},
		{"phone", "(555) 123-4567", "+15551234567"},
		{"phone", "912345678", "00351912345678"},
		{"location", "Old Town Hall, Phoenix, AZ", "#Phoenix #OldTownHall"},
		{"diagnosis", "type 2 diabetes", "diabetes, type 2"},
	} {
		s := &Set{}
		if err := s.Add(Value{c.field, c.value}); err != nil {
			t.Fatal(err)
		}
		if got := s.Find("so " + c.text + ", she said"); len(got) == 0 {
			t.Errorf("%q is not found in %q", c.value, c.text)
		}
	}
}

// TestDoubles: words that say how often a digit stands make no text slow.
func TestDoubles(t *testing.T) {
	s := family(t)
	text := strings.Repeat("double ", 200_000)
	if got := s.Find(text); len(got) > 0 {
		t.Errorf("%d places", len(got))
	}
}
