package canon

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

func text(units []Unit) string {
	var b []byte
	for _, u := range units {
		b = append(b, u.B)
	}
	return string(b)
}

func unescape(s string, cuts ...int) []Unit {
	var e Unescape
	var out []Unit
	from := 0
	for _, c := range append(cuts, len(s)) {
		out = e.Write(out, Units(nil, []byte(s[from:c]), int64(from)))
		from = c
	}
	return e.Close(out)
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`a\nb\t\"\/\\`: "a\nb\t\"/\\", `\x41\u0042\u{43}\U00000044\105`: "ABCDE", `\ud83d\ude00`: "😀", `\ud83dx`: "\ufffdx", `%41%7a%u0042`: "AzB",
		`&#65;&#x42;&#67 &amp;&lt;`: "ABC &<", `100% sure & so`: `100% sure & so`, `\q %zz &x`: `\q %zz &x`, `\`: `\`, `%4`: `%4`, `&#`: `&#`, "a\\\nb": "ab",
		`&notanentityatallbutlong;`: `&notanentityatallbutlong;`, `%%41`: "%A", `\\u0041`: `\u0041`,
	} {
		if got := text(unescape(in)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := text(unescape(url.QueryEscape("a=b&c/ü"))); got != "a=b&c/ü" {
		t.Errorf("percent: %q", got)
	}
}

func TestOffsets(t *testing.T) {
	u := unescape(`a\u0042c`)
	if u[1].B != 'B' || u[1].Start != 1 || u[1].End != 7 || u[2].Start != 7 {
		t.Errorf("units are %+v", u)
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"а\u200bb\u00adc": "abc", "ｆｕｌｌ": "full", "𝐛𝐨𝐥𝐝": "bold", "e\u0301": "e", "é": "e", "日本": "日本", "\u2013": "-", "ﬁ": "fi", "x\xffy": "x\xffy", "\u00a0": " ",
	} {
		var f Fold
		if got := text(f.Close(f.Write(nil, Units(nil, []byte(in), 0)))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// decoded returns what each alignment of an encoding gives.
func decoded(e *Encoding, s string, cuts ...int) []string {
	d := Decoder{Enc: e}
	out := make([][]Unit, e.Phases)
	from := 0
	for _, c := range append(cuts, len(s)) {
		d.Write(out, Units(nil, []byte(s[from:c]), int64(from)))
		from = c
	}
	d.Close(out)
	texts := make([]string, e.Phases)
	for p := range out {
		for _, u := range out[p] {
			if u.C != Break && u.C != Pad {
				texts[p] += string(rune(u.B))
			}
		}
	}
	return texts
}

func TestDecodersInEveryAlignment(t *testing.T) {
	const want = "a longer text to be encoded"
	for name, enc := range map[string]func(string) string{
		"64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"64w": func(s string) string {
			b := base64.StdEncoding.EncodeToString([]byte(s))
			return b[:20] + "\r\n  " + b[20:]
		},
		"url":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"32":   func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
		"32lo": func(s string) string { return strings.ToLower(base32.StdEncoding.EncodeToString([]byte(s))) },
		"16":   func(s string) string { return hex.EncodeToString([]byte(s)) },
		"16up": func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	} {
		e := map[byte]*Encoding{'6': Base64, 'u': Base64, '3': Base32, '1': Base16}[name[0]]
		for _, before := range []string{"", "x", "xy", "xyz", "xyzwv"} {
			for _, outside := range []string{"", "A", "AA", "AAA"} {
				if e != Base64 && outside != "" || name == "64w" && before+outside != "" {
					continue
				}
				found := false
				for _, got := range decoded(e, outside+enc(before+want)) {
					found = found || strings.Contains(got, want)
				}
				if !found {
					t.Errorf("%s behind %q and %q: not decoded", name, outside, before)
				}
			}
		}
	}
	if got := decoded(Base64, "short words only here"); strings.Join(got, "") != "" {
		t.Error("short runs were decoded")
	}
}

func FuzzViews(f *testing.F) {
	f.Add([]byte(`a\u0042%43&#68;é`+"\xe2\x80\x8b"+`QUJDREVGR0hJSktM==  4142434445464748494a4b4c`), uint16(3), uint16(9))
	f.Fuzz(func(t *testing.T, in []byte, a, b uint16) {
		n := len(in) + 1
		x, y := min(int(a)%n, int(b)%n), max(int(a)%n, int(b)%n)
		same := func(what string, whole, cut []Unit) {
			t.Helper()
			if len(whole) != len(cut) {
				t.Fatalf("%s: %d units, cut: %d", what, len(whole), len(cut))
			}
			last := int64(0)
			for i := range whole {
				if whole[i] != cut[i] {
					t.Fatalf("%s: unit %d differs", what, i)
				}
				if whole[i].Start < last || whole[i].End < whole[i].Start || whole[i].End > int64(len(in)) {
					t.Fatalf("%s: unit %d covers [%d,%d)", what, i, whole[i].Start, whole[i].End)
				}
				last = whole[i].Start
			}
		}
		whole := unescape(string(in))
		same("unescape", whole, unescape(string(in), x, y))
		var f1, f2 Fold
		cut := f2.Write(nil, Units(nil, in[:x], 0))
		cut = f2.Write(cut, Units(nil, in[x:y], int64(x)))
		cut = f2.Close(f2.Write(cut, Units(nil, in[y:], int64(y))))
		same("fold", f1.Close(f1.Write(nil, Units(nil, in, 0))), cut)
		for _, e := range []*Encoding{Base64, Base32, Base16} {
			w, c := decoded(e, string(in)), decoded(e, string(in), x, y)
			for p := range w {
				if w[p] != c[p] {
					t.Fatalf("%s: alignment %d differs", e.Name, p)
				}
			}
		}
	})
}

func TestSkeletonAndExact(t *testing.T) {
	if got := Skeleton([]byte("a-B_c.1 2!é")); !bytes.Equal(got, []byte("aBc12e")) {
		t.Errorf("skeleton %q", got)
	}
	if got := Exact([]byte("a-B_c.1 2!#")); !bytes.Equal(got, []byte("aBc12!#")) {
		t.Errorf("exact %q", got)
	}
}

// Lists of numbers read the same under every cut, end at words and gaps, and
// are nothing below eight numbers.
func TestNumbers(t *testing.T) {
	read := func(text string, cuts ...int) [3]string {
		var d Numbers
		out := make([][]Unit, len(Bases))
		from := 0
		for _, c := range append(cuts, len(text)) {
			d.Write(out, Units(nil, []byte(text[from:c]), int64(from)))
			from = c
		}
		d.Close(out)
		var texts [3]string
		for b, units := range out {
			for _, u := range units {
				if u.C == Break {
					texts[b] += "|"
					continue
				}
				texts[b] += string(rune(u.B))
			}
		}
		return texts
	}
	for text, want := range map[string][3]string{
		"72 97 108 108 111 32 72 105":                                 {"Hallo Hi|", "", ""},
		"0x48,0x61,0x6c,0x6C,0x6f,0X20,0x48,0x69":                     {"", "Hallo Hi|", ""},
		"0o110 0141 154 154 157 040 110 151 9":                        {"", "", "Hallo Hi|"},
		"1 2 3 4 5 6 7":                                               {"", "", ""},
		"72 97 108 108 111 32 72 105 and 1 2 3":                       {"Hallo Hi|", "", ""},
		"72 97 108 and 108 111 32 72 105":                             {"", "", ""},
		"72 97 108 108 111 999 72 105 1 2 3 4":                        {"", "", ""},
		"72 97 108 108 111 32 72 10" + strings.Repeat(" ", 300) + "5": {"Hallo H\n|", "", ""},
	} {
		whole := read(text)
		for b, w := range want {
			if whole[b] != w && (w != "" || want == [3]string{}) {
				t.Errorf("%q became %q, want %q", text, whole, want)
			}
		}
		for cut := range text {
			if got := read(text, cut); got != whole {
				t.Fatalf("%q cut at %d became %q, not %q", text, cut, got, whole)
			}
		}
	}
}
