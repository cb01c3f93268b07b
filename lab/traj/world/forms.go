package world

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Form is a way to write a field of a person. What it tells is part of it: no
// text is searched for what stands in it.
type Form struct {
	Field   Field
	Name    string // empty for the plain form
	Oblique bool   // it tells without a form that a pattern could look for
	write   func(x *Person) (string, []Fact)
}

// String is the form as templates write it.
func (f *Form) String() string {
	if f.Name == "" {
		return "{" + string(f.Field) + "}"
	}
	return "{" + string(f.Field) + ":" + f.Name + "}"
}

// Write writes the form for a person.
func (f *Form) Write(x *Person) string {
	s, _ := f.write(x)
	return s
}

func formOf(field Field, name string) *Form {
	for i := range Forms {
		if f := &Forms[i]; f.Field == field && f.Name == name {
			return f
		}
	}
	return nil
}

// whole writes a form that tells values of the person.
func whole(s string, x *Person, kinds ...Kind) (string, []Fact) {
	var facts []Fact
	for _, k := range kinds {
		facts = append(facts, Fact{k, x.value(k)})
	}
	return s, facts
}

func (x *Person) nick() string { return nicknames[x.given()] }

func (x *Person) medicine() string { return x.value(KMedicine) }

func spelledOut(s string) string { return strings.Join(strings.Split(strings.ToUpper(s), ""), ", ") }

// zipWords writes a postal code as people read it out.
func zipWords(zip string) string {
	var out []string
	for _, r := range zip {
		switch {
		case r >= '0' && r <= '9':
			out = append(out, units[r-'0'])
		case r != ' ':
			out = append(out, string(r))
		}
	}
	return strings.Join(out, " ")
}

// milestones are days that people date their lives by.
var milestones = []struct {
	what string
	day  time.Time
}{
	{"the war ended in Europe", time.Date(1945, 5, 8, 0, 0, 0, 0, time.UTC)},
	{"men first walked on the moon", time.Date(1969, 7, 20, 0, 0, 0, 0, time.UTC)},
	{"the Berlin Wall came down", time.Date(1989, 11, 9, 0, 0, 0, 0, time.UTC)},
	{"the Olympics opened in London for the third time", time.Date(2012, 7, 27, 0, 0, 0, 0, time.UTC)},
}

// milestone is the first one that the person can remember, and the age then.
func (x *Person) milestone() (what string, at time.Time, years int) {
	for _, m := range milestones {
		if n := ageAt(x.Born, m.day); n >= 4 {
			return m.what, m.day, n
		}
	}
	last := milestones[len(milestones)-1]
	return last.what, last.day, ageAt(x.Born, last.day)
}

func ageAt(born, on time.Time) int {
	n := on.Year() - born.Year()
	if on.Month() < born.Month() || on.Month() == born.Month() && on.Day() < born.Day() {
		n--
	}
	return n
}

// untilBirthday is how many days there are until the next birthday, 0 today.
func (x *Person) untilBirthday() int {
	next := time.Date(Today.Year(), x.Born.Month(), x.Born.Day(), 0, 0, 0, 0, time.UTC)
	if next.Before(Today) {
		next = time.Date(Today.Year()+1, x.Born.Month(), x.Born.Day(), 0, 0, 0, 0, time.UTC)
	}
	return int(next.Sub(Today).Hours() / 24)
}

func daysAhead(n int) string {
	switch n {
	case 0:
		return "my birthday is today"
	case 1:
		return "my birthday is tomorrow"
	}
	return "my birthday is in " + words(n) + " days"
}

func decadeWords(year int) string {
	if year >= 2000 {
		return "the two thousands"
	}
	return "the " + strings.TrimSuffix(tens[year/10%10], "y") + "ies"
}

// monthly is a twelfth of the salary to the nearest hundred dollars, and the
// salaries that it may stand for.
func (x *Person) monthly() (dollars, low, high int) {
	dollars = (x.Pay/12 + 50) / 100 * 100
	return dollars, (dollars - 51) * 12, (dollars + 51) * 12
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}

// Forms are all ways in which templates can write a person's fields. The first
// of each field is the plain one, in which records are kept.
var Forms = []Form{
	{LegalName, "", false, func(x *Person) (string, []Fact) { return whole(x.given()+" "+x.surname(), x, KGiven, KSurname) }},
	{LegalName, "reversed", false, func(x *Person) (string, []Fact) { return whole(x.surname()+", "+x.given(), x, KGiven, KSurname) }},
	{LegalName, "given", false, func(x *Person) (string, []Fact) { return whole(x.given(), x, KGiven) }},
	{LegalName, "surname", false, func(x *Person) (string, []Fact) { return whole(x.surname(), x, KSurname) }},
	{LegalName, "initials", true, func(x *Person) (string, []Fact) {
		return whole(x.given()[:1]+"."+x.surname()[:1]+".", x, KInitials)
	}},
	{LegalName, "initials-words", true, func(x *Person) (string, []Fact) {
		return whole("a first name with "+x.given()[:1]+" and a last name with "+x.surname()[:1], x, KInitials)
	}},
	{LegalName, "nickname", true, func(x *Person) (string, []Fact) { return whole(x.nick(), x, KGiven) }},
	{LegalName, "spelled", true, func(x *Person) (string, []Fact) { return whole(spelledOut(x.surname()), x, KSurname) }},

	{DOB, "", false, func(x *Person) (string, []Fact) { return x.Born.Format(day), x.Full(DOB) }},
	{DOB, "us", false, func(x *Person) (string, []Fact) { return x.Born.Format("01/02/2006"), x.Full(DOB) }},
	{DOB, "long", false, func(x *Person) (string, []Fact) { return x.Born.Format("January 2, 2006"), x.Full(DOB) }},
	{DOB, "age", false, func(x *Person) (string, []Fact) {
		return fmt.Sprintf("%d years old", x.Age()), []Fact{ageRange(x.Age(), x.Age())}
	}},
	{DOB, "year", false, func(x *Person) (string, []Fact) {
		return x.Born.Format("2006"), []Fact{yearRange(x.Born.Year(), x.Born.Year())}
	}},
	{DOB, "spelled", true, func(x *Person) (string, []Fact) {
		return "the " + ordinal(x.Born.Day()) + " of " + x.Born.Month().String() + ", " + yearWords(x.Born.Year()), x.Full(DOB)
	}},
	{DOB, "age-spelled", true, func(x *Person) (string, []Fact) {
		return "I turned " + words(x.Age()), []Fact{ageRange(x.Age(), x.Age())}
	}},
	{DOB, "age-words", true, func(x *Person) (string, []Fact) {
		return words(x.Age()), []Fact{ageRange(x.Age(), x.Age())}
	}},
	{DOB, "next-age", true, func(x *Person) (string, []Fact) {
		return words(x.Age()+1) + " on my next birthday", []Fact{ageRange(x.Age(), x.Age())}
	}},
	{DOB, "birthday", true, func(x *Person) (string, []Fact) { return whole(daysAhead(x.untilBirthday()), x, KBirthday) }},
	{DOB, "class", true, func(x *Person) (string, []Fact) {
		return "finished school with the class of " + yearWords(x.Born.Year()+18), []Fact{yearRange(x.Born.Year(), x.Born.Year())}
	}},
	{DOB, "event", true, func(x *Person) (string, []Fact) {
		what, at, years := x.milestone()
		return words(years) + " when " + what, []Fact{Range(at.AddDate(-years-1, 0, 1), at.AddDate(-years, 0, 0))}
	}},
	{DOB, "decade", true, func(x *Person) (string, []Fact) {
		d := x.Born.Year() / 10 * 10
		return "a child of " + decadeWords(d), []Fact{yearRange(d, d+9)}
	}},

	{PaymentToken, "", false, func(x *Person) (string, []Fact) { return whole(grouped(x.Card), x, KCard) }},
	{PaymentToken, "plain", false, func(x *Person) (string, []Fact) { return whole(x.Card, x, KCard) }},
	{PaymentToken, "end", false, func(x *Person) (string, []Fact) {
		return whole("card ending in "+x.value(KCardEnd), x, KCardEnd)
	}},
	{PaymentToken, "brand", false, func(x *Person) (string, []Fact) { return whole(x.value(KBrand), x, KBrand) }},
	{PaymentToken, "spelled", true, func(x *Person) (string, []Fact) {
		return whole("the card that ends "+digitWords(x.value(KCardEnd)), x, KCardEnd)
	}},
	{PaymentToken, "words", true, func(x *Person) (string, []Fact) { return whole(digitWords(x.Card), x, KCard) }},
	{PaymentToken, "bank", true, func(x *Person) (string, []Fact) {
		return whole("the card from "+Banks[x.Bank].Name, x, KBin)
	}},

	{Diagnosis, "", false, func(x *Person) (string, []Fact) { return whole(x.ill().Name, x, KIllness) }},
	{Diagnosis, "code", false, func(x *Person) (string, []Fact) { return whole(x.ill().Code, x, KIllness) }},
	{Diagnosis, "medicine", true, func(x *Person) (string, []Fact) { return whole("I take "+x.medicine(), x, KMedicine) }},
	{Diagnosis, "refill", true, func(x *Person) (string, []Fact) { return whole("the refill of "+x.medicine(), x, KMedicine) }},
	{Diagnosis, "symptom", true, func(x *Person) (string, []Fact) { return whole(x.ill().Symptom, x, KSymptom) }},
	{Diagnosis, "clinic", true, func(x *Person) (string, []Fact) {
		return whole("my "+Chapters[x.ill().Chapter].Clinic+" visit", x, KChapter)
	}},
	{Diagnosis, "doctor", true, func(x *Person) (string, []Fact) {
		return whole("my "+specialists[x.ill().Chapter], x, KChapter)
	}},
	{Diagnosis, "code-spelled", true, func(x *Person) (string, []Fact) {
		return whole("the letter "+x.ill().Code[:1]+" and then "+digitWords(x.ill().Code[1:]), x, KIllness)
	}},

	{Address, "", false, func(x *Person) (string, []Fact) {
		c := x.city()
		return whole(fmt.Sprintf("%d %s, %s, %s %s", x.Number, Streets[x.Street], c.Name, c.Code, ZipOf(c, x.Street)), x, KStreet, KNumber, KCity)
	}},
	{Address, "street", false, func(x *Person) (string, []Fact) {
		return whole(fmt.Sprintf("%d %s", x.Number, Streets[x.Street]), x, KStreet, KNumber)
	}},
	{Address, "city", false, func(x *Person) (string, []Fact) {
		return whole(x.city().Name+", "+x.city().Code, x, KCity)
	}},
	{Address, "mother", true, func(x *Person) (string, []Fact) {
		return whole("my mother's street, "+strings.Fields(Streets[x.Street])[0]+", number "+words(x.Number), x, KStreet, KNumber)
	}},
	{Address, "near", true, func(x *Person) (string, []Fact) {
		return whole("two blocks from the town hall of "+x.city().Name, x, KCity)
	}},
	{Address, "drive", true, func(x *Person) (string, []Fact) {
		return whole("twenty minutes by car from downtown "+x.city().Name, x, KCity)
	}},
	{Address, "zip-spelled", true, func(x *Person) (string, []Fact) {
		return whole("the postal code "+zipWords(x.value(KZip)), x, KZip, KCity)
	}},
	{Address, "state-nick", true, func(x *Person) (string, []Fact) { return whole(stateNick[x.city().State], x, KState) }},

	{Phone, "", false, func(x *Person) (string, []Fact) {
		return whole("("+x.Phone[:3]+") "+x.Phone[3:6]+"-"+x.Phone[6:], x, KPhone)
	}},
	{Phone, "dashed", false, func(x *Person) (string, []Fact) {
		return whole(x.Phone[:3]+"-"+x.Phone[3:6]+"-"+x.Phone[6:], x, KPhone)
	}},
	{Phone, "dotted", false, func(x *Person) (string, []Fact) {
		return whole("+1 "+x.Phone[:3]+"."+x.Phone[3:6]+"."+x.Phone[6:], x, KPhone)
	}},
	{Phone, "spelled", true, func(x *Person) (string, []Fact) { return whole(digitWords(x.Phone), x, KPhone) }},
	{Phone, "end-spelled", true, func(x *Person) (string, []Fact) {
		return whole("the number that ends "+digitWords(x.value(KPhoneEnd)), x, KPhoneEnd)
	}},
	{Phone, "area-spelled", true, func(x *Person) (string, []Fact) {
		return whole("a "+strings.ReplaceAll(digitWords(x.Phone[:3]), " ", "-")+" number", x, KArea)
	}},

	{Email, "", false, func(x *Person) (string, []Fact) { return whole(x.value(KEmail), x, KEmail) }},
	{Email, "spelled", true, func(x *Person) (string, []Fact) {
		return whole(strings.NewReplacer(".", " dot ", "@", " at ").Replace(x.value(KEmail)), x, KEmail)
	}},
	{Email, "handle", true, func(x *Person) (string, []Fact) {
		name, _, _ := strings.Cut(x.Domain, ".")
		return whole(x.value(KLocal)+" over at "+name, x, KEmail)
	}},

	{AccountID, "", false, func(x *Person) (string, []Fact) { return whole(x.Account, x, KAccount) }},
	{AccountID, "end", false, func(x *Person) (string, []Fact) {
		return whole("account ending "+x.value(KAccEnd), x, KAccEnd)
	}},
	{AccountID, "spelled", true, func(x *Person) (string, []Fact) { return whole(digitWords(x.Account), x, KAccount) }},
	{AccountID, "end-spelled", true, func(x *Person) (string, []Fact) {
		return whole("the account that ends "+digitWords(x.value(KAccEnd)), x, KAccEnd)
	}},
	{AccountID, "bank", true, func(x *Person) (string, []Fact) {
		return whole("my account at "+Banks[x.Bank].Name, x, KPrefix)
	}},

	{NationalID, "", false, func(x *Person) (string, []Fact) {
		return whole(x.NID[:3]+"-"+x.NID[3:5]+"-"+x.NID[5:], x, KNID)
	}},
	{NationalID, "plain", false, func(x *Person) (string, []Fact) { return whole(x.NID, x, KNID) }},
	{NationalID, "end", true, func(x *Person) (string, []Fact) {
		return whole("the last four of my social are "+x.value(KNIDEnd), x, KNIDEnd)
	}},
	{NationalID, "spelled", true, func(x *Person) (string, []Fact) { return whole(digitWords(x.NID), x, KNID) }},

	{Passport, "", false, func(x *Person) (string, []Fact) { return whole(x.Passport, x, KPassport) }},
	{Passport, "spelled", true, func(x *Person) (string, []Fact) {
		return whole(x.Passport[:1]+" as in letter, then "+digitWords(x.Passport[1:]), x, KPassport)
	}},

	{APIKey, "", false, func(x *Person) (string, []Fact) { return whole(x.APIKey, x, KAPIKey) }},
	{APIKey, "split", true, func(x *Person) (string, []Fact) {
		return whole("the live key without its prefix, "+x.APIKey[8:20]+" and then "+x.APIKey[20:], x, KAPIKey)
	}},

	{Password, "", false, func(x *Person) (string, []Fact) { return whole(x.Password, x, KPassword) }},
	{Password, "split", true, func(x *Person) (string, []Fact) {
		i := strings.IndexAny(x.Password, "!#%+=")
		return whole("the word "+x.Password[:i]+", then "+signs[x.Password[i]]+", then "+x.Password[i+1:], x, KPassword)
	}},

	{PrivateKey, "", false, func(x *Person) (string, []Fact) { return whole(x.PrivateKey, x, KPrivate) }},
	{PrivateKey, "body", true, func(x *Person) (string, []Fact) {
		return whole("the line "+strings.Split(x.PrivateKey, "\n")[1], x, KPrivate)
	}},

	{Salary, "", false, func(x *Person) (string, []Fact) { return "$" + thousands(x.Pay), x.Full(Salary) }},
	{Salary, "plain", false, func(x *Person) (string, []Fact) { return strconv.Itoa(x.Pay), x.Full(Salary) }},
	{Salary, "k", false, func(x *Person) (string, []Fact) {
		if x.Pay%1000 == 0 {
			return fmt.Sprintf("$%dk", x.Pay/1000), []Fact{Money(x.Pay, x.Pay+999)}
		}
		return "$" + strconv.FormatFloat(float64(x.Pay)/1000, 'f', 1, 64) + "k", x.Full(Salary)
	}},
	{Salary, "spelled", true, func(x *Person) (string, []Fact) {
		s := words(x.Pay/1000) + " grand"
		if x.Pay%1000 != 0 {
			s = words(x.Pay/1000) + " and a half grand"
		}
		return s, x.Full(Salary)
	}},
	{Salary, "monthly", true, func(x *Person) (string, []Fact) {
		n, low, high := x.monthly()
		return "about " + bigWords(n) + " a month before tax", []Fact{Money(low, high)}
	}},
	{Salary, "job", true, func(x *Person) (string, []Fact) {
		return whole("what "+article(x.job().Title)+" earns", x, KJob)
	}},

	{Location, "", false, func(x *Person) (string, []Fact) {
		return whole(Venues[x.Venue]+", "+x.at().Name+", "+x.at().Code, x, KVenue, KAtCity)
	}},
	{Location, "city", false, func(x *Person) (string, []Fact) {
		return whole(x.at().Name+", "+x.at().Code, x, KAtCity)
	}},
	{Location, "oblique", true, func(x *Person) (string, []Fact) {
		return whole("just stepped out of the "+Venues[x.Venue], x, KVenue)
	}},
	{Location, "across", true, func(x *Person) (string, []Fact) {
		return whole("across the road from the "+Venues[x.Venue], x, KVenue)
	}},
	{Location, "weekend", true, func(x *Person) (string, []Fact) {
		return whole("around "+x.at().Name+" until Sunday", x, KAtCity)
	}},
	{Location, "state-nick", true, func(x *Person) (string, []Fact) { return whole(stateNick[x.at().State], x, KAtState) }},
}

var signs = map[byte]string{'!': "an exclamation mark", '#': "a hash sign", '%': "a per cent sign", '+': "a plus", '=': "an equals sign"}

// specialists treat the illnesses of the chapters, in their order.
var specialists = []string{
	"endocrinologist", "psychiatrist", "neurologist", "cardiologist", "pulmonologist", "gastroenterologist", "dermatologist", "rheumatologist", "urologist", "oncologist",
}

// stateNick are other names of the states.
var stateNick = map[string]string{
	"Massachusetts": "the Bay State", "Rhode Island": "the Ocean State", "Connecticut": "the Constitution State", "New York": "the Empire State",
	"New Jersey": "the Garden State", "Pennsylvania": "the Keystone State", "Maine": "the Pine Tree State", "Illinois": "the Prairie State",
	"Michigan": "the Great Lakes State", "Ohio": "the Buckeye State", "Indiana": "the Hoosier State", "Wisconsin": "the Badger State",
	"Minnesota": "the North Star State", "Nebraska": "the Cornhusker State", "Iowa": "the Hawkeye State", "Kansas": "the Sunflower State",
	"Texas": "the Lone Star State", "Georgia": "the Peach State", "Florida": "the Sunshine State", "North Carolina": "the Tar Heel State",
	"Tennessee": "the Volunteer State", "Kentucky": "the Bluegrass State", "Virginia": "the Old Dominion", "Washington": "the Evergreen State",
	"Oregon": "the Beaver State", "California": "the Golden State", "Colorado": "the Centennial State", "Arizona": "the Grand Canyon State",
	"Idaho": "the Gem State", "Ontario": "the trillium province", "Quebec": "la belle province", "British Columbia": "the Pacific province",
	"Alberta": "the wild rose province", "Manitoba": "the bison province", "Nova Scotia": "the mayflower province",
}

// nicknames are what friends call those who have a given name: another for
// each.
var nicknames = func() map[string]string {
	out := map[string]string{}
	for i, line := range []string{
		"Harry Dot Wally Millie Ruthie Clancy Renie Normie Gene Dodie Lloydie Viv",
		"Judy Caz Ronnie Gerry Sandy Laz Joycie Rodge Jan Waynie Glo Denny",
		"Debs Gaz Pam Brucie Kathy Dougie Di Keef Cher Randy Bren Glennie",
		"Leese Toddy Kimmie Scotty Tam Daz Shelly Craigie Dawnie Troyboy Teenie Curt",
		"Jenny Jase Ames Chaddy Heath Shawny Stace Dez Mon Brenty Caro Joely",
		"Jess Josh Ash Bran Mandy Jus Meg Ky Linds Trav Kris Codes",
		"Tay Aussie Lex Jordy Bri Ty Kay Dyl Mo Trev Paigey Con",
		"Maddy Eth Livvy Denno Avie Cal Clo Mase Zo Lan Lils Wy",
	} {
		for k, n := range strings.Fields(line) {
			out[givenTable[i][k]] = n
		}
	}
	return out
}()
