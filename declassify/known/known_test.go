package known

import "testing"

func set(t *testing.T) *Set {
	t.Helper()
	s, err := New([]Value{
		{"legal-name", "Maria Luisa García Pérez", Name},
		{"legal-name", "Jonas Brandt", Name},
		{"dob", "1984-03-12", Date},
		{"phone", "+49 30 1234567", Digits},
		{"card", "4111 1111 1111 1111", Digits},
		{"iban", "DE89 3704 0044 0532 0130 00", Digits},
		{"employer", "Müller & Söhne", Text},
		{"place", "北京市", Text},
		{"dob", "7 June 2005", Date},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSpellings: every spelling is found, as a whole.
func TestSpellings(t *testing.T) {
	s := set(t)
	for text, field := range map[string]string{
		"Maria Luisa García Pérez": "legal-name", "maria luisa garcia perez": "legal-name", "MARIA GARCÍA": "legal-name", "Pérez, Maria": "legal-name", "M. L. G. Pérez": "legal-name", "M. Pérez": "legal-name", "Pérez, M.": "legal-name", "Maria Pérez": "legal-name", "Maria G. Pérez": "",
		"Jonas Brandt": "legal-name", "J. Brandt": "legal-name", "Brandt, J": "legal-name", "Brandt Jonas": "legal-name", "jonas\u200b brandt": "legal-name",
		"1984-03-12": "dob", "12/03/1984": "dob", "3/12/84": "dob", "12.3.1984": "dob", "12 March 1984": "dob", "March 12th, 1984": "dob", "12th of March, 1984": "dob", "the twelfth of March nineteen eighty-four": "dob", "March twelfth, nineteen hundred and eighty four": "dob", "19840312": "dob", "120384": "dob", "1984 March 12": "dob", "12-Mar-84": "dob",
		"June seventh two thousand and five": "dob", "7.6.05": "dob", "2005/06/07": "dob", "the 7th of June in the year 2005": "dob", "June 7, twenty oh five": "dob",
		"+49 30 1234567": "phone", "0049301234567": "phone", "030/123 45 67": "phone", "(030) 1234-567": "phone", "301234567": "phone", "oh three oh one two three four five six seven": "phone",
		"4111111111111111": "card", "4111-1111-1111-1111": "card", "de89370400440532013000": "iban",
		"muller & sohne": "employer", "Mu\u0308ller Söhne": "employer", "北京市": "place",
		"Maria": "", "Brandt": "", "1984": "", "March 1984": "", "13 March 1984": "", "1234567 apples": "", "Jonas and Brandt": "", "Jonas. We met Brandt": "", "411111111111111": "", "the build is green": "",
	} {
		got, err := s.Find("about " + text + ".")
		if err != nil {
			t.Fatal(err)
		}
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

// TestBounds: what is too large is an error.
func TestBounds(t *testing.T) {
	if _, err := New(make([]Value, MaxValues+1)); err == nil {
		t.Error("too many values")
	}
	if _, err := New([]Value{{"x", string(make([]byte, MaxValue+1)), Text}}); err == nil {
		t.Error("too long a value")
	}
	if _, err := set(t).Find(string(make([]byte, MaxText+1))); err == nil {
		t.Error("too long a text")
	}
}
