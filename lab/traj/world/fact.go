package world

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Field is one of the ontology's kinds of secrets.
type Field string

// The ontology.
const (
	LegalName    Field = "legal-name"
	DOB          Field = "dob"
	PaymentToken Field = "payment-token"
	Diagnosis    Field = "diagnosis"
	Address      Field = "address"
	Phone        Field = "phone"
	Email        Field = "email"
	AccountID    Field = "account-id"
	NationalID   Field = "national-id"
	Passport     Field = "passport"
	APIKey       Field = "api-key"
	Password     Field = "password"
	PrivateKey   Field = "private-key"
	Salary       Field = "salary"
	Location     Field = "location"
)

// Fields are all of the ontology.
var Fields = []Field{
	LegalName, DOB, PaymentToken, Diagnosis, Address, Phone, Email, AccountID, NationalID, Passport, APIKey, Password, PrivateKey, Salary, Location,
}

// Kind is what a fact is about.
type Kind string

// Kinds of facts. Values are as people write them, in one spelling.
const (
	KGiven     Kind = "given"
	KSurname   Kind = "surname"
	KInitials  Kind = "initials" // "ML"
	KBorn      Kind = "born"     // a range of days, "1984-01-01..1984-12-31"
	KBirthday  Kind = "birthday" // "03-17"
	KStreet    Kind = "street"
	KNumber    Kind = "number"
	KZip       Kind = "zip"
	KCity      Kind = "city"
	KState     Kind = "state"
	KRegion    Kind = "region"
	KCountry   Kind = "country"
	KVenue     Kind = "venue"
	KAtCity    Kind = "at-city"
	KAtState   Kind = "at-state"
	KAtRegion  Kind = "at-region"
	KAtCountry Kind = "at-country"
	KPhone     Kind = "phone" // ten digits
	KArea      Kind = "area"
	KPhoneEnd  Kind = "phone-end" // the last four
	KEmail     Kind = "email"
	KLocal     Kind = "local"
	KDomain    Kind = "domain"
	KIllness   Kind = "illness"
	KChapter   Kind = "chapter" // its range, "E00-E89"
	KMedicine  Kind = "medicine"
	KSymptom   Kind = "symptom"
	KPay       Kind = "pay" // a range of dollars, "50000..74999"
	KJob       Kind = "job"
	KCard      Kind = "card"
	KCardEnd   Kind = "card-end"
	KBin       Kind = "bin"
	KBrand     Kind = "brand"
	KAccount   Kind = "account"
	KAccEnd    Kind = "account-end"
	KPrefix    Kind = "account-prefix"
	KNID       Kind = "nid"
	KNIDEnd    Kind = "nid-end"
	KNIDArea   Kind = "nid-area"
	KPassport  Kind = "passport"
	KAPIKey    Kind = "api-key"
	KPassword  Kind = "password"
	KPrivate   Kind = "private-key"
)

// Fact is one thing told about a person. It need not be true: a guess, or a
// value of somebody else, is a Fact, too.
type Fact struct {
	Kind  Kind   `json:"kind"`
	Value string `json:"value"`
}

const day = "2006-01-02"

// Range makes a KBorn of two days.
func Range(from, to time.Time) Fact {
	return Fact{KBorn, from.Format(day) + ".." + to.Format(day)}
}

// Days reads a KBorn.
func (f Fact) Days() (from, to time.Time, ok bool) {
	a, b, ok := strings.Cut(f.Value, "..")
	if !ok || f.Kind != KBorn {
		return from, to, false
	}
	from, err1 := time.Parse(day, a)
	to, err2 := time.Parse(day, b)
	return from, to, err1 == nil && err2 == nil
}

// Money makes a KPay of two amounts, both included.
func Money(low, high int) Fact { return Fact{KPay, fmt.Sprintf("%d..%d", low, high)} }

// Dollars reads a KPay.
func (f Fact) Dollars() (low, high int, ok bool) {
	a, b, ok := strings.Cut(f.Value, "..")
	if !ok || f.Kind != KPay {
		return 0, 0, false
	}
	low, err1 := strconv.Atoi(a)
	high, err2 := strconv.Atoi(b)
	return low, high, err1 == nil && err2 == nil
}

// yearRange is the range of a year or of several.
func yearRange(from, to int) Fact {
	return Range(time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(to, 12, 31, 0, 0, 0, 0, time.UTC))
}

// ageRange is the range of births of those who are from low to high years old
// today.
func ageRange(low, high int) Fact {
	return Range(Today.AddDate(-high-1, 0, 1), Today.AddDate(-low, 0, 0))
}

// Holds reports whether a fact is true of a person.
func (x *Person) Holds(f Fact) bool {
	switch f.Kind {
	case KBorn:
		from, to, ok := f.Days()
		return ok && !x.Born.Before(from) && !x.Born.After(to)
	case KPay:
		low, high, ok := f.Dollars()
		return ok && low <= x.Pay && x.Pay <= high
	case KChapter:
		return InChapter(x.ill(), f.Value)
	}
	return x.value(f.Kind) == f.Value
}

// value is the person's value of a kind that has one.
func (x *Person) value(k Kind) string {
	c, at := x.city(), x.at()
	switch k {
	case KGiven:
		return x.given()
	case KSurname:
		return x.surname()
	case KInitials:
		return x.given()[:1] + x.surname()[:1]
	case KBirthday:
		return x.Born.Format("01-02")
	case KStreet:
		return Streets[x.Street]
	case KNumber:
		return strconv.Itoa(x.Number)
	case KZip:
		return ZipOf(c, x.Street)
	case KCity:
		return c.Name
	case KState:
		return c.State
	case KRegion:
		return Regions[c.Region]
	case KCountry:
		return CountryOf(c.Region)
	case KAtCountry:
		return CountryOf(at.Region)
	case KVenue:
		return Venues[x.Venue]
	case KAtCity:
		return at.Name
	case KAtState:
		return at.State
	case KAtRegion:
		return Regions[at.Region]
	case KPhone:
		return x.Phone
	case KArea:
		return x.Phone[:3]
	case KPhoneEnd:
		return x.Phone[6:]
	case KLocal:
		return Local(x.Pattern, x.given(), x.surname(), x.Born.Year())
	case KDomain:
		return x.Domain
	case KEmail:
		return x.value(KLocal) + "@" + x.Domain
	case KIllness:
		return x.ill().Name
	case KChapter:
		return Chapters[x.ill().Chapter].Range
	case KSymptom:
		return x.ill().Symptom
	case KMedicine:
		return x.ill().Medicines[x.Medicine]
	case KJob:
		return x.job().Title
	case KCard:
		return x.Card
	case KCardEnd:
		return x.Card[len(x.Card)-4:]
	case KBin:
		return x.Card[:6]
	case KBrand:
		return Banks[x.Bank].Brand
	case KAccount:
		return x.Account
	case KAccEnd:
		return x.Account[len(x.Account)-4:]
	case KPrefix:
		return x.Account[:4]
	case KNID:
		return x.NID
	case KNIDEnd:
		return x.NID[5:]
	case KNIDArea:
		return x.NID[:3]
	case KPassport:
		return x.Passport
	case KAPIKey:
		return x.APIKey
	case KPassword:
		return x.Password
	case KPrivate:
		return x.PrivateKey
	}
	return ""
}

// Full are the facts that tell a field's whole value.
func (x *Person) Full(f Field) []Fact {
	one := func(kinds ...Kind) []Fact {
		var out []Fact
		for _, k := range kinds {
			out = append(out, Fact{k, x.value(k)})
		}
		return out
	}
	switch f {
	case LegalName:
		return one(KGiven, KSurname)
	case DOB:
		return []Fact{Range(x.Born, x.Born)}
	case PaymentToken:
		return one(KCard)
	case Diagnosis:
		return one(KIllness)
	case Address:
		return one(KStreet, KNumber, KCity)
	case Phone:
		return one(KPhone)
	case Email:
		return one(KEmail)
	case AccountID:
		return one(KAccount)
	case NationalID:
		return one(KNID)
	case Passport:
		return one(KPassport)
	case APIKey:
		return one(KAPIKey)
	case Password:
		return one(KPassword)
	case PrivateKey:
		return one(KPrivate)
	case Salary:
		return []Fact{Money(x.Pay, x.Pay)}
	case Location:
		return one(KVenue, KAtCity)
	}
	return nil
}
