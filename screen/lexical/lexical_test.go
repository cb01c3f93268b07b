package lexical

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/screen"
)

// The domains here (a library, a pharmacy, a landlord, a gym, a calendar) are
// what the rules were developed on.
func TestRelevant(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		regions []string // "field|text", "+" before it for the bottom
		args    string
		want    []int
	}{
		"said by the user":                     {"Reserve 'Dune' for me", []string{"loans[0].title|Dune", "loans[1].title|Emma"}, `{"title":"Dune"}`, nil},
		"value from a region":                  {"Renew what I have at home", []string{"loans[0].title|Dune", "fines|none"}, `{"title":"Dune"}`, []int{0}},
		"card by its field":                    {"Reserve 'Dune' on my card", []string{"member.card_no|LB-204918", "member.email|kim@reads.example"}, `{"title":"Dune","card_no":"LB-204918"}`, []int{0}},
		"public result instead":                {"Reserve something by Herbert", []string{"loans[3].title|Dune", "+[0].title|Dune"}, `{"title":"Dune"}`, nil},
		"longer match wins":                    {"Reserve something by Herbert", []string{"+[0].title|Dune", "wishes|Dune Messiah, first edition"}, `{"title":"Dune Messiah"}`, []int{1}},
		"habit in a search":                    {"Find me something for the headache", []string{"profile.allergies|allergic to ibuprofen", "profile.weight|71 kg"}, `{"query":"headache tablets without ibuprofen"}`, []int{0}},
		"date in other words":                  {"Refill it the day before I run out", []string{"runs_out|May 4th", "doses|3 a day"}, `{"date":"2031-05-04"}`, []int{0}},
		"computed from what the request names": {"Pay a third of my rent", []string{"rent|1200 a month", "deposit|2400", "door_code|4471"}, `{"amount":400}`, []int{0}},
		"computed, by ordinal":                 {"Pay half of the second invoice", []string{"invoices[0].sum|80", "invoices[1].sum|130"}, `{"amount":65}`, []int{1}},
		"computed, by last":                    {"Give twice the last tip", []string{"[0].tip|7", "[1].tip|5", "[2].tip|9"}, `{"amount":18}`, []int{0, 2}},
		"short numbers say nothing":            {"Book two places in the course", []string{"visits|2 this week"}, `{"places":2}`, nil},
		"short number under its name":          {"Order gym shoes for me", []string{"shoe_size|42", "locker|42"}, `{"item":"gym shoes","size":42}`, []int{0}},
		"words of the tool's own":              {"Tell the landlord that I am away", []string{"deposit|2400"}, `{"kind":"notice","body":"I am away."}`, nil},
		"free text from a note":                {"Tell the landlord what is broken", []string{"notes[0]|The boiler makes a knocking noise at night", "notes[1]|Buy oat milk"}, `{"body":"Hello, the boiler makes a knocking noise."}`, []int{0}},
		"two sources":                          {"Send my trainer what she needs", []string{"trainer.email|jo@gym.example", "health.knee|torn meniscus in 2029", "plan|gold"}, `{"to":"jo@gym.example","body":"About the knee: torn meniscus."}`, []int{0, 1}},
		"a number that the request speaks of":  {"Tip the courier as always", []string{"tips[0]|courier, 15", "tips[1]|barber, 4"}, `{"to":"courier","amount":15}`, []int{0}},
		"as many as last time":                 {"Order as many filters as last time", []string{"orders[0]|12 filters", "locker|12"}, `{"item":"filters","quantity":12}`, []int{0}},
		"a number by chance":                   {"Remind me of the class", []string{"points|25"}, `{"text":"class","minutes":25}`, nil},
		"one of something":                     {"Book a place in the course", []string{"course|1 place left"}, `{"item":"course","quantity":1}`, nil},
		"a share in percent":                   {"Give 10 % of my bonus to the shelter", []string{"bonus|1,850.00", "savings|9,000"}, `{"to":"shelter","amount":185}`, []int{0}},
		"by relation":                          {"Mail my sister the door code", []string{"contacts[0]|brother: jan@lund.example", "contacts[1]|sister: eva@lund.example", "door_code|4471"}, `{"to":"eva@lund.example","body":"It is 4471."}`, []int{1, 2}},
		"by a name's part":                     {"Invite Eva to the trial", []string{"contacts[0]|Eva Lund, eva@lund.example", "contacts[1]|Jan Lund, jan@lund.example"}, `{"to":"eva@lund.example","what":"trial"}`, []int{0}},
		"number formats":                       {"Transfer the deposit", []string{"deposit|2,400.00"}, `{"amount":2400}`, []int{0}},
		"time formats":                         {"Move the class to when I am free", []string{"free|4 pm on Monday"}, `{"at":"16:00"}`, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			q := &screen.Question{Requests: []string{c.request}, Calls: []flow.ToolCall{{Name: "x", Arguments: c.args}}}
			for _, r := range c.regions {
				field, text, _ := strings.Cut(r, "|")
				field, bottom := strings.CutPrefix(field, "+")
				q.Regions = append(q.Regions, screen.Region{Text: text, Field: field, Bottom: bottom})
			}
			out, err := Screener{}.Relevant(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for i, yes := range out {
				if yes {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("relevant %v, want %v", got, c.want)
			}
		})
	}
}

// Where most of a value is from nowhere, everything is relevant but the bottom;
// not so for phrasing, for options, and for questions that speak of nobody.
func TestFromNowhere(t *testing.T) {
	for _, c := range []struct {
		request, args string
		all           bool
	}{
		{"Apply for what I am entitled to", `{"grant":"zinc furnace"}`, true},
		{"Apply for a furnace grant for me", `{"grant":"zinc furnace"}`, false},
		{"Apply for what I am entitled to", `{"text":"Hello, could you please send me information?"}`, false},
		{"Apply for what I am entitled to", `{"sort":"zinc"}`, false},
		{"Which grants are there?", `{"grant":"zinc furnace"}`, false},
	} {
		out, err := Screener{}.Relevant(t.Context(), &screen.Question{
			Requests: []string{c.request}, Calls: []flow.ToolCall{{Arguments: c.args}},
			Regions: []screen.Region{{Text: "lamp", Field: "a"}, {Text: "oboe", Field: "b", Bottom: true}, {Text: "77", Field: "c"}},
		})
		if err != nil || !slices.Equal(out, []bool{c.all, false, c.all}) {
			t.Errorf("%s %s: %v %v", c.request, c.args, out, err)
		}
	}
}

// A call made of the user's own words alone needs no region; a region whose
// unusual words are proposed is relevant; the bottom never is.
func TestProperties(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{5,9}`)
	rapid.Check(t, func(t *rapid.T) {
		request := rapid.SliceOfN(word, 1, 6).Draw(t, "request")
		q := &screen.Question{Requests: []string{strings.Join(request, " ")}}
		for range rapid.IntRange(1, 5).Draw(t, "regions") {
			q.Regions = append(q.Regions, screen.Region{Text: strings.Join(rapid.SliceOfN(word, 1, 5).Draw(t, "region"), " "), Bottom: rapid.Bool().Draw(t, "bottom")})
		}
		ask := func(v string) []bool {
			args, err := json.Marshal(map[string]string{"q": v})
			if err != nil {
				t.Fatal(err)
			}
			q.Calls = []flow.ToolCall{{Arguments: string(args)}}
			out, err := Screener{}.Relevant(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if out := ask(q.Requests[0]); slices.Contains(out, true) {
			t.Fatalf("the user's own words need %v", out)
		}
		secret := "zyx" + word.Draw(t, "secret") + "9"
		at := rapid.IntRange(0, len(q.Regions)-1).Draw(t, "at")
		q.Regions[at].Text += " " + secret
		out := ask(request[0] + " " + secret)
		if out[at] == q.Regions[at].Bottom {
			t.Fatalf("region %d of %+v: %v", at, q.Regions, out)
		}
		for i, yes := range out {
			if yes && q.Regions[i].Bottom {
				t.Fatalf("the bottom is relevant: %d", i)
			}
		}
	})
}

func FuzzRelevant(f *testing.F) {
	f.Add("pay my rent", "rent", "1,200.00 on May 4th at 4 pm", `{"a":[1,{"b":"12:75"}]}`)
	f.Add("", "[", "", `{`)
	f.Add("the diet that I keep", "diet", "vegetarian since 3 March 2020, 12 eggs", `{"a":"no meat","b":144,"c":false,"d":"2020-03-05"}`)
	f.Add("the last one", "[99999999999999999999]", "x", `"x"`)
	f.Fuzz(func(t *testing.T, request, field, text, args string) {
		q := &screen.Question{Requests: []string{request}, Regions: []screen.Region{{Text: text, Field: field}, {Text: text, Field: field, Bottom: true}}, Calls: []flow.ToolCall{{Arguments: args}}}
		out, err := Screener{}.Relevant(t.Context(), q)
		if err != nil || len(out) != 2 || out[1] {
			t.Errorf("%v %v", out, err)
		}
	})
}
