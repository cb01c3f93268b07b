package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	many := func(n int, last string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"key%d":0,`, i)
		}
		return "{" + b.String() + last + "}"
	}
	for in, want := range map[string]Code{
		`{"a":1,"a":2}`:                       DuplicateKey,
		`{"a":1,"\u0061":2}`:                  DuplicateKey, // the same key, written otherwise
		`{"\u0061":1,"a":2}`:                  DuplicateKey,
		`{"\u0061":1,"A":2}`:                  CaseVariant,
		`{"":1,"":2}`:                         DuplicateKey,
		`{"x":{"A":1},"a":1,"A":2}`:           CaseVariant, // another object's key is not a duplicate
		many(40, `"":1,"":2`):                 DuplicateKey,
		many(40, `"\u006bey7":1`):             DuplicateKey,
		`{"a":1,"A":2}`:                       CaseVariant,
		`{"straße":1,"STRAßE":2}`:             CaseVariant,
		`{"k":1,"K":2}`:                       CaseVariant, // Kelvin sign
		`{"a":{"b":1,"b":2}}`:                 DuplicateKey,
		many(40, `"key7":1`):                  DuplicateKey,
		many(40, `"KEY7":1`):                  CaseVariant,
		"\"\xff\"":                            InvalidUTF8,
		`"\ud800"`:                            InvalidUTF8,
		`"\udc00"`:                            InvalidUTF8,
		`"\ud800\u0041"`:                      InvalidUTF8,
		strings.Repeat("[", 200):              TooDeep,
		`"` + strings.Repeat("x", 2000) + `"`: TooLarge,
		``:                                    Syntax, `{`: Syntax, `{"a"}`: Syntax, `[1,]`: Syntax, `01`: Syntax, `1.`: Syntax, `nul`: Syntax, `"a`: Syntax, `{} x`: Syntax, "\"\x01\"": Syntax, `"\x"`: Syntax, `{a:1}`: Syntax, `-`: Syntax, `1e`: Syntax, `+1`: Syntax, `[1 2]`: Syntax,
	} {
		var d Doc
		err := d.Parse([]byte(in), Limits{MaxBytes: 1000})
		var e *Error
		if !errors.As(err, &e) || e.Code != want {
			t.Errorf("%.40q: %v, want %s", in, err, want)
		}
	}
}

func TestSameKeyElsewhereIsFine(t *testing.T) {
	var d Doc
	if err := d.Parse([]byte(`{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":3}}`), Limits{}); err != nil {
		t.Error(err)
	}
}

// value builds what encoding/json builds.
func value(d *Doc, i int) any {
	switch d.Nodes[i].Kind {
	case Null:
		return nil
	case True, False:
		return d.Nodes[i].Kind == True
	case Number:
		return json.Number(d.Value(i))
	case String:
		return string(d.Bytes(i))
	case Array:
		out := []any{}
		for c := range d.All(i) {
			out = append(out, value(d, c))
		}
		return out
	default:
		out := map[string]any{}
		for c := range d.All(i) {
			out[d.Key(c)] = value(d, c)
		}
		return out
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00\n",true,null,{}],"b":{"c":"d"}}`, `[]`, `"\/"`, `{"a":1,"A":2}`, ` 0 `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var d Doc
		if d.Parse(in, Limits{}) != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatal("took what encoding/json refuses")
		}
		dec := json.NewDecoder(bytes.NewReader(in))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := value(&d, 0); !reflect.DeepEqual(got, want) {
			t.Fatal("read otherwise than encoding/json")
		}
		for i := range d.Nodes {
			if d.Nodes[i].Kind != String {
				continue
			}
			var back string
			if json.Unmarshal(AppendQuote(nil, d.Bytes(i)), &back) != nil || back != d.Text(i) {
				t.Fatal("a quoted string does not read back")
			}
		}
	})
}

func TestPath(t *testing.T) {
	var d Doc
	if err := d.Parse([]byte(`{"messages":[{},{"content":[{"text":"x"}]}]}`), Limits{}); err != nil {
		t.Fatal(err)
	}
	for i := range d.Nodes {
		if d.Nodes[i].Kind == String && d.Path(i) != "messages[1].content[0].text" {
			t.Errorf("path is %s", d.Path(i))
		}
	}
}

var chunk = []byte(`{"id":"chatcmpl-9x8y7z","object":"chat.completion.chunk","created":1760000000,"model":"m-1","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`)

func TestNoAllocation(t *testing.T) {
	var d Doc
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Parse(chunk, Limits{}); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParse(b *testing.B) {
	var d Doc
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		_ = d.Parse(chunk, Limits{})
	}
}

// BenchmarkEscapes reads texts of escapes, and quotes texts of none.
func BenchmarkEscapes(b *testing.B) {
	text := []byte(`"` + strings.Repeat(`\u65e5\ud83d\ude00`, 100) + `"`)
	plain := []byte(strings.Repeat("日本語", 300))
	var d Doc
	var out []byte
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = d.Parse(text, Limits{})
			out = d.AppendBytes(out[:0], 0)
		}
	})
	b.Run("quote", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out = AppendQuote(out[:0], plain)
		}
	})
}

func TestAppendf(t *testing.T) {
	got := string(Appendf([]byte("x"), `{"a":%q,"b":%s,%q:%d}`, "q\"\n", `[1]`, []byte("k"), 42))
	if want := `x{"a":"q\"\n","b":[1],"k":42}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
