package view

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/mediator/audit"
)

// Whatever the marks say, the pieces are the text, cut between characters.
func TestSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := audit.TextDetail{Text: rapid.String().Draw(t, "text")}
		span := rapid.Custom(func(t *rapid.T) audit.Span {
			return audit.Span{At: rapid.IntRange(-3, len(d.Text)+3).Draw(t, "at"), To: rapid.IntRange(-3, len(d.Text)+3).Draw(t, "to"), Action: "redact", Kind: "k"}
		})
		d.Spans, d.Held = rapid.SliceOfN(span, 0, 5).Draw(t, "spans"), rapid.SliceOfN(span, 0, 5).Draw(t, "held")
		all := ""
		for _, s := range Segments(d) {
			if utf8.ValidString(d.Text) && !utf8.ValidString(s.Text) {
				t.Fatalf("a character is cut: %q", s.Text)
			}
			all += s.Text
		}
		if all != d.Text {
			t.Fatalf("%q, want %q", all, d.Text)
		}
	})
	got := Segments(audit.TextDetail{Text: "say x now", Spans: []audit.Span{{At: 4, To: 5, Action: "redact", Kind: "api-key"}}, Held: []audit.Span{{At: 3, To: 5}}})
	if len(got) != 4 || got[2] != (Segment{"x", "redact", "api-key", true}) || got[1] != (Segment{" ", "", "", true}) || got[3].Held {
		t.Errorf("%+v", got)
	}
}

type word string

type leaf struct {
	ID, Text string
	Own      word
	At       time.Time
}

// Every text is masked wherever it stands, but for ids and our own words; marks
// on a text that changes mean nothing any more.
func TestMask(t *testing.T) {
	type tree struct {
		Leaves []leaf
		One    *leaf
		None   *leaf
		Any    any
		Texts  []audit.TextDetail
	}
	const secret = "the-secret"
	a := &tree{
		Leaves: []leaf{{secret, "x " + secret, secret, time.Now()}}, One: &leaf{Text: secret}, Any: &leaf{Text: secret},
		Texts: []audit.TextDetail{{Text: secret, Spans: []audit.Span{{At: 1}}, Held: []audit.Span{{At: 1}}}, {Text: "ordinary", Spans: []audit.Span{{At: 1}}}},
	}
	times := 0
	Mask(a, func(s string) string { times++; return strings.ReplaceAll(s, secret, "***") })
	if a.Leaves[0].Text != "x ***" || a.Leaves[0].ID != secret || a.Leaves[0].Own != secret || a.One.Text != "***" || a.Any.(*leaf).Text != "***" {
		t.Errorf("%+v", a)
	}
	if d := a.Texts; d[0].Text != "***" || d[0].Spans != nil || d[0].Held != nil || len(d[1].Spans) != 1 {
		t.Errorf("%+v", d)
	}
	if times != 3 {
		t.Errorf("each text is masked once: %d times", times)
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 12: "12", -3: "-3", 1234.5: "1234", 1.234: "1.23", 0.01234: "0.0123", 1e12: "1000000000000"} {
		if got := Number(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}

func TestPretty(t *testing.T) {
	if got := Pretty(`{"a":[1]}`); got != "{\n  \"a\": [\n    1\n  ]\n}" || Pretty("{no") != "{no" {
		t.Errorf("%q", got)
	}
}
