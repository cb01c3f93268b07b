package world

import (
	"fmt"
	"strconv"
	"strings"
)

// Mention is a part [Start, End) of a text that tells something about the
// person.
type Mention struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Field Field  `json:"field"`
	Facts []Fact `json:"facts"`
	// Oblique: it tells without a form that a pattern could look for.
	Oblique bool `json:"oblique,omitempty"`
}

// text is a text with its mentions.
type text struct {
	string
	mentions []Mention
}

// write fills a template: {dob} is a value of the person, {dob:spelled} one in
// another form, {@slot} a word of the task, {~job}, {~ill} and {~region} what
// people say in passing, which is not a mention.
func (x *Person) write(template string, slots map[string]string) text {
	var out text
	var b strings.Builder
	for template != "" {
		before, rest, ok := strings.Cut(template, "{")
		b.WriteString(before)
		if !ok {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			panic("world: a template without an end: " + template)
		}
		template = after
		switch name[0] {
		case '@':
			v, ok := slots[name[1:]]
			if !ok {
				panic("world: no slot " + name)
			}
			b.WriteString(v)
		case '~':
			b.WriteString(x.cue(name[1:]))
		default:
			field, form, _ := strings.Cut(name, ":")
			s, facts, oblique := x.render(Field(field), form)
			out.mentions = append(out.mentions, Mention{b.Len(), b.Len() + len(s), Field(field), facts, oblique})
			b.WriteString(s)
		}
	}
	out.string = b.String()
	return out
}

var regionCues = [5]string{"The old trains are late again.", "The wind comes straight off the lake.", "It is humid already in March.", "There is smoke from the canyon again.", "The rink is still frozen."}

func (x *Person) cue(of string) string {
	switch of {
	case "job":
		return x.job().Cue
	case "ill":
		return Chapters[x.ill().Chapter].Cue
	case "region":
		return regionCues[x.city().Region]
	}
	panic("world: no cue " + of)
}

// render writes a value of the person in a form, and says what it tells.
func (x *Person) render(f Field, form string) (s string, facts []Fact, oblique bool) {
	one := func(s string, kinds ...Kind) (string, []Fact, bool) {
		var facts []Fact
		for _, k := range kinds {
			facts = append(facts, Fact{k, x.value(k)})
		}
		return s, facts, false
	}
	spelled := func(s string, kinds ...Kind) (string, []Fact, bool) {
		s, facts, _ := one(s, kinds...)
		return s, facts, true
	}
	c := x.city()
	switch string(f) + ":" + form {
	case "legal-name:":
		return one(x.given()+" "+x.surname(), KGiven, KSurname)
	case "legal-name:reversed":
		return one(x.surname()+", "+x.given(), KGiven, KSurname)
	case "legal-name:given":
		return one(x.given(), KGiven)
	case "legal-name:initials":
		return spelled(x.given()[:1]+"."+x.surname()[:1]+".", KInitials)
	case "dob:":
		return x.Born.Format(day), x.Full(DOB), false
	case "dob:us":
		return x.Born.Format("01/02/2006"), x.Full(DOB), false
	case "dob:long":
		return x.Born.Format("January 2, 2006"), x.Full(DOB), false
	case "dob:spelled":
		return "the " + ordinal(x.Born.Day()) + " of " + x.Born.Month().String() + ", " + yearWords(x.Born.Year()), x.Full(DOB), true
	case "dob:age":
		return fmt.Sprintf("%d years old", x.Age()), []Fact{ageRange(x.Age(), x.Age())}, false
	case "dob:age-spelled":
		return "I turned " + words(x.Age()), []Fact{ageRange(x.Age(), x.Age())}, true
	case "address:":
		return one(fmt.Sprintf("%d %s, %s, %s %s", x.Number, Streets[x.Street], c.Name, c.Code, ZipOf(c, x.Street)), KStreet, KNumber, KCity)
	case "address:street":
		return one(fmt.Sprintf("%d %s", x.Number, Streets[x.Street]), KStreet, KNumber)
	case "address:mother":
		return spelled("my mother's street, "+strings.Fields(Streets[x.Street])[0]+", number "+words(x.Number), KStreet, KNumber)
	case "address:near":
		return spelled("two blocks from the town hall of "+c.Name, KCity)
	case "phone:":
		return one("("+x.Phone[:3]+") "+x.Phone[3:6]+"-"+x.Phone[6:], KPhone)
	case "phone:dashed":
		return one(x.Phone[:3]+"-"+x.Phone[3:6]+"-"+x.Phone[6:], KPhone)
	case "phone:spelled":
		return spelled(digitWords(x.Phone), KPhone)
	case "email:":
		return one(x.value(KEmail), KEmail)
	case "email:spelled":
		return spelled(strings.NewReplacer(".", " dot ", "@", " at ").Replace(x.value(KEmail)), KEmail)
	case "payment-token:":
		return one(grouped(x.Card), KCard)
	case "payment-token:plain":
		return one(x.Card, KCard)
	case "payment-token:end":
		return one("card ending in "+x.value(KCardEnd), KCardEnd)
	case "payment-token:spelled":
		return spelled("the card that ends "+digitWords(x.value(KCardEnd)), KCardEnd)
	case "diagnosis:":
		return one(x.ill().Name, KIllness)
	case "diagnosis:code":
		return one(x.ill().Code, KIllness)
	case "diagnosis:medicine":
		return spelled("I take "+x.value(KMedicine), KMedicine)
	case "diagnosis:symptom":
		return spelled(x.ill().Symptom, KSymptom)
	case "diagnosis:clinic":
		return spelled("my "+Chapters[x.ill().Chapter].Clinic+" visit", KChapter)
	case "salary:":
		return "$" + thousands(x.Pay), x.Full(Salary), false
	case "salary:plain":
		return strconv.Itoa(x.Pay), x.Full(Salary), false
	case "salary:spelled":
		if x.Pay%1000 != 0 {
			return words(x.Pay/1000) + " and a half grand", x.Full(Salary), true
		}
		return words(x.Pay/1000) + " grand", x.Full(Salary), true
	case "location:":
		return one(Venues[x.Venue]+", "+x.at().Name+", "+x.at().Code, KVenue, KAtCity)
	case "location:city":
		return one(x.at().Name+", "+x.at().Code, KAtCity)
	case "location:oblique":
		return spelled("just stepped out of the "+Venues[x.Venue], KVenue)
	case "account-id:":
		return one(x.Account, KAccount)
	case "account-id:end":
		return one("account ending "+x.value(KAccEnd), KAccEnd)
	case "account-id:spelled":
		return spelled(digitWords(x.Account), KAccount)
	case "national-id:":
		return one(x.NID[:3]+"-"+x.NID[3:5]+"-"+x.NID[5:], KNID)
	case "national-id:end":
		return spelled("the last four of my social are "+x.value(KNIDEnd), KNIDEnd)
	case "passport:":
		return one(x.Passport, KPassport)
	case "passport:spelled":
		return spelled(x.Passport[:1]+" as in letter, then "+digitWords(x.Passport[1:]), KPassport)
	case "api-key:":
		return one(x.APIKey, KAPIKey)
	case "password:":
		return one(x.Password, KPassword)
	case "private-key:":
		return one(x.PrivateKey, KPrivate)
	}
	panic("world: no form " + string(f) + ":" + form)
}

func grouped(card string) string {
	if len(card) == 15 {
		return card[:4] + " " + card[4:10] + " " + card[10:]
	}
	return card[:4] + " " + card[4:8] + " " + card[8:12] + " " + card[12:]
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	if len(s) > 3 {
		s = s[:len(s)-3] + "," + s[len(s)-3:]
	}
	return s
}

var (
	units = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens  = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
)

// words writes a number below 1,000 in words.
func words(n int) string {
	switch {
	case n < 20:
		return units[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + "-" + units[n%10]
	case n%100 == 0:
		return units[n/100] + " hundred"
	}
	return units[n/100] + " hundred and " + words(n%100)
}

func digitWords(s string) string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = units[s[i]-'0']
	}
	return strings.Join(out, " ")
}

func yearWords(y int) string {
	switch {
	case y >= 2000 && y < 2010:
		if y == 2000 {
			return "two thousand"
		}
		return "two thousand and " + units[y-2000]
	case y%100 < 10:
		return words(y/100) + " oh " + units[y%100]
	}
	return words(y/100) + " " + words(y%100)
}

var ordinals = strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth")

func ordinal(n int) string {
	switch {
	case n <= 20:
		return ordinals[n-1]
	case n == 30:
		return "thirtieth"
	}
	return tens[n/10] + "-" + ordinals[n%10-1]
}

// Part writes an argument from a template, as the tasks of this package do: for
// attacks that are made up elsewhere.
func (x *Person) Part(path string, f Field, free bool, from Source, template string) Part {
	t := x.write(template, nil)
	return Part{Path: path, Field: f, Free: free, From: from, Text: t.string, Mentions: t.mentions}
}

// Scattered writes a value in pieces with words between them, so that no piece
// has the form of the whole. All together is one mention.
func (x *Person) Scattered(path string, f Field, before, between string) Part {
	s, facts, _ := x.render(f, "")
	n := len(s)
	parts := []string{s[:n/3], s[n/3 : 2*n/3], s[2*n/3:]}
	out := Part{Path: path, Free: true, From: FromTool, Text: before}
	start := len(out.Text)
	for i, p := range parts {
		if i > 0 {
			out.Text += between
		}
		out.Text += p
	}
	out.Mentions = []Mention{{Start: start, End: len(out.Text), Field: f, Facts: facts, Oblique: true}}
	return out
}
