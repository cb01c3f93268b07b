package known

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func decode(t testing.TB, s string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCall(t *testing.T) {
	for name, c := range map[string]struct {
		shown, hidden, args, missing string
	}{
		"no arguments":                {"", "", `{}`, ""},
		"verbatim":                    {"Pay Ann Miller", "", `{"to":"Ann Miller"}`, ""},
		"case and punctuation":        {"pay to: ANN-MILLER!", "", `{"to":"Ann Miller"}`, ""},
		"words apart":                 {"Ann and Bob Miller", "", `{"to":"Ann Miller"}`, ""}, // nowhere: computed
		"words apart, hidden":         {"Ann and Bob Miller", "Ann Miller", `{"to":"Ann Miller"}`, "to"},
		"part of a word":              {"Annabel", "Ann", `{"to":"Ann"}`, "to"},
		"across texts":                {"to Ann\x00Miller now", "Ann Miller", `{"to":"Ann Miller"}`, "to"},
		"mail":                        {"write to <ann@x.org>", "", `{"to":["ann@x.org"]}`, ""},
		"parts of a mail address":     {"alex williams of mainsail tech com", "alex.williams@mainsail.tech.com", `{"to":"alex.williams@mainsail.tech.com"}`, "to"},
		"hidden mail":                 {"write to Ann", "ann@x.org", `{"to":["ann@x.org"]}`, "to[0]"},
		"number formats":              {"it costs $1,250.50", "x", `{"amount":1250.5}`, ""},
		"number as text":              {"it costs 12.0", "x", `{"amount":"12"}`, ""},
		"hidden number":               {"it costs a lot", "1250.5", `{"amount":1250.50}`, "amount"},
		"date formats":                {"on May 3rd, 2024", "x", `{"day":"2024-05-03"}`, ""},
		"date without a year":         {"on the 3rd of May", "x", `{"day":"2024-05-03"}`, ""},
		"another year":                {"on May 3rd, 2023", "2024-05-03", `{"day":"2024-05-03"}`, "day"},
		"time formats":                {"3 May 2024, at 4 pm", "x", `{"at":"2024-05-03 16:00"}`, ""},
		"time missing":                {"3 May 2024", "2024-05-03 16:00", `{"at":"2024-05-03 16:00"}`, "at"},
		"end from start and duration": {"one hour on 2024-05-03 at 16:00", "2024-05-03 17:00", `{"start_time":"2024-05-03 16:00","end_time":"2024-05-03 17:00"}`, ""},
		"end without a duration":      {"on 2024-05-03 at 16:00", "2024-05-03 17:00", `{"start_time":"2024-05-03 16:00","end_time":"2024-05-03 17:00"}`, "end_time"},
		"end of another duration":     {"30 minutes on 2024-05-03 at 16:00", "2024-05-03 17:00", `{"start_time":"2024-05-03 16:00","end_time":"2024-05-03 17:00"}`, "end_time"},
		"end by a shown event":        {"at 10:00 on 2024-05-20; - end_time: 2024-05-18 10:30:00\n  id_: '5'\n  start_time: 2024-05-18 09:00:00", "2024-05-20 11:30", `{"new_start_time":"2024-05-20 10:00","new_end_time":"2024-05-20 11:30"}`, ""},
		"end by events of two days":   {"at 10:00 on 2024-05-20; - end_time: 2024-05-19 10:30:00\n  start_time: 2024-05-18 09:00:00", "2024-05-20 11:30", `{"new_start_time":"2024-05-20 10:00","new_end_time":"2024-05-20 11:30"}`, "new_end_time"},
		"free text, four in five":     {"apples pears plums quinces", "apples pears plums quinces figs", `{"body":"the plums, pears, apples, quinces and figs"}`, ""},
		"free text, three in five":    {"apples pears plums", "apples pears plums quinces figs", `{"body":"plums, pears, apples, quinces and figs"}`, "body"},
		"computed":                    {"10 and 20", "", `{"sum":30}`, ""},
		"computed, something hidden":  {"10 and 20", "and 5", `{"sum":35}`, "sum"},
		"composed":                    {"a summary", "", `{"body":"<summary>"}`, ""},
		"composed, something hidden":  {"a summary", "hidden", `{"body":"<summary>"}`, "body"},
		"yes and nothing":             {"", "hidden", `{"again":true,"note":null,"empty":""}`, ""},
		"deep":                        {"file 7", "12", `{"attachments":[{"id":"7"},{"id":"12"}]}`, "attachments[1].id"},
		"escapes":                     {`Dear Ann,\nsee \"Plan B\"`, "x", `{"name":"see Plan B"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context(c.shown, c.hidden)
			missing, ok := ctx.Call(decode(t, c.args))
			if ok != (c.missing == "") || !ok && missing != c.missing {
				t.Errorf("missing %q (%v), want %q", missing, ok, c.missing)
			}
		})
	}
}

// context shows the texts of shown, separated by NUL, and hides one.
func context(shown, hidden string) *Context {
	c := &Context{Complete: hidden == ""}
	for _, s := range strings.Split(shown, "\x00") {
		c.Shown = append(c.Shown, Read(s))
	}
	c.Full = append(append(Seen{}, c.Shown...), Read(hidden))
	return c
}

func TestAnswer(t *testing.T) {
	if !context("the file is called plan.txt", "x").Answer("plan.txt") {
		t.Error("an answer that is shown can't be had")
	}
	if context("the file is hidden", "plan.txt of 30 pages").Answer("plan.txt, 30 pages") {
		t.Error("an answer that is hidden can be had")
	}
}

func drawArgs(t *rapid.T) map[string]any {
	word := rapid.SampledFrom([]string{"ann", "bob", "12", "7.50", "2024-05-03", "16:00", "plum", "fig", "quince", "pear", "x@y.org"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 1, 7).Draw(t, "words"), " ")
	})
	args := map[string]any{}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"to", "start_time", "end_time", "body"}), 1, 4, rapid.ID).Draw(t, "keys") {
		args[k] = text.Draw(t, k)
	}
	return args
}

func drawText(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"ann", "bob", "12", "7.5", "May 3rd", "4 pm", "plum", "fig", "pear", "x@y.org", "one hour", "and"}), 0, 8).Draw(t, name), " ")
}

// Showing more never makes a call impossible; showing all makes every one
// possible; how a text is written does not matter.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, args := drawText(t, "a"), drawText(t, "b"), drawArgs(t)
		full := Seen{Read(a), Read(b)}
		less := &Context{Shown: Seen{Read(a)}, Full: full}
		more := &Context{Shown: full, Full: full}
		all := &Context{Shown: full, Full: full, Complete: true}
		_, ok1 := less.Call(args)
		_, ok2 := more.Call(args)
		if ok1 && !ok2 {
			t.Fatalf("showing %q besides %q takes %v away", b, a, args)
		}
		if at, ok := all.Call(args); !ok {
			t.Fatalf("all is shown and %s is missing", at)
		}
		loud := &Context{Shown: Seen{Read(strings.ReplaceAll(strings.ToUpper(a), " ", `  `))}, Full: full}
		if _, ok := loud.Call(args); ok != ok1 {
			t.Fatalf("upper case changes %v in %q", args, a)
		}
		if !Read(a + "\n" + b).Covers(Read(b)) {
			t.Fatalf("%q is not all of itself", b)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`a\nb`, `\x41\u00e9\U0001f600\`, "1,000.50 2024-05-03T16:00:00", "half an hour, 12 am", "١٢ ½ é", "1,00,000 1..2 .,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		read := Read(s)
		if !read.Covers(read) || !read.has(read.words) {
			t.Errorf("%q is not in itself", s)
		}
	})
}
