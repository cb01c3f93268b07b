package world

// givenTable has the given names by the decade in which they were most usual,
// from the 1930s.
var givenTable = [8][]string{
	{"Harold", "Dorothy", "Walter", "Mildred", "Ruth", "Clarence", "Irene", "Norma", "Eugene", "Doris", "Lloyd", "Vivian"},
	{"Judith", "Carol", "Ronald", "Gerald", "Sandra", "Larry", "Joyce", "Roger", "Janet", "Wayne", "Gloria", "Dennis"},
	{"Deborah", "Gary", "Pamela", "Bruce", "Kathleen", "Douglas", "Diane", "Keith", "Cheryl", "Randall", "Brenda", "Glenn"},
	{"Lisa", "Todd", "Kimberly", "Scott", "Tammy", "Darren", "Michele", "Craig", "Dawn", "Troy", "Tina", "Curtis"},
	{"Jennifer", "Jason", "Amy", "Chad", "Heather", "Shawn", "Stacy", "Derek", "Monica", "Brent", "Carrie", "Joel"},
	{"Jessica", "Joshua", "Ashley", "Brandon", "Amanda", "Justin", "Megan", "Kyle", "Lindsay", "Travis", "Kristen", "Cody"},
	{"Taylor", "Austin", "Alexis", "Jordan", "Brianna", "Tyler", "Kayla", "Dylan", "Morgan", "Trevor", "Paige", "Connor"},
	{"Madison", "Ethan", "Olivia", "Aiden", "Ava", "Caleb", "Chloe", "Mason", "Zoe", "Landon", "Lily", "Wyatt"},
}

// surnameTable has the surnames by the region where they are most usual.
var surnameTable = [4][]string{
	{"Sullivan", "Russo", "Murphy", "DeLuca", "Kowalski", "Gallagher", "Romano", "Fitzgerald", "Pereira", "Costa", "Bianchi", "Doyle", "Silva", "Brennan", "Marino", "Feeney", "Goldberg", "Ferraro", "Shapiro", "Lavoie", "Ouellette", "Santoro", "Quigley", "Mancini", "Rizzo", "Farrell", "Cahill", "Gagnon", "Pelletier", "Rosen"},
	{"Schmidt", "Olson", "Larson", "Novak", "Schroeder", "Becker", "Lindgren", "Wagner", "Krueger", "Nowicki", "Hoffman", "Swanson", "Zimmerman", "Petersen", "Kaminski", "Vogel", "Halvorson", "Dietrich", "Bauer", "Svoboda", "Engel", "Lindstrom", "Weber", "Hartmann", "Voss", "Jorgensen", "Kessler", "Dvorak", "Meier", "Thorson"},
	{"Boudreaux", "Calhoun", "Beauchamp", "Washington", "Jefferson", "Tillman", "Broussard", "Pruitt", "Gaines", "Hightower", "Langley", "Mayfield", "Rutledge", "Stallings", "Thibodeaux", "Whitfield", "Abernathy", "Barksdale", "Culpepper", "Dunaway", "Faulkner", "Guidry", "Hatcher", "Ledbetter", "McCoy", "Pickett", "Ragland", "Sizemore", "Tolliver", "Yarbrough"},
	{"Nguyen", "Garcia", "Hernandez", "Tanaka", "Lopez", "Ramirez", "Chen", "Nakamura", "Castillo", "Park", "Vasquez", "Singh", "Morales", "Kim", "Delgado", "Yamamoto", "Flores", "Tran", "Mendoza", "Lam", "Ortega", "Sandoval", "Watanabe", "Gutierrez", "Chavez", "Pacheco", "Fong", "Salazar", "Ibarra", "Zamora"},
}

// Occupation is what a person does. Salaries are drawn in steps of SalaryStep
// from Low to High, in dollars a year.
type Occupation struct {
	Title, Sector string
	Low, High     int
	Cue           string  // what those who have it say in passing
	young, old    float64 // weights among the young and the old
}

// SalaryStep is the grid of salaries, in dollars.
const SalaryStep = 500

var occupationTable = []Occupation{
	{"nurse", "health", 62000, 96000, "I am on the night shift this week.", 1, .8},
	{"physician", "health", 185000, 290000, "I have rounds until noon.", .4, 1},
	{"pharmacist", "health", 110000, 145000, "I can't leave the counter before six.", .6, .8},
	{"radiographer", "health", 58000, 82000, "I am in the imaging suite all morning.", .8, .5},
	{"medical coder", "health", 41000, 58000, "I am behind on my charts.", .7, .6},
	{"teacher", "school", 44000, 78000, "I have parent evenings this week.", 1, 1},
	{"school principal", "school", 92000, 138000, "The board meets on Thursday.", .2, .9},
	{"librarian", "school", 42000, 69000, "The reading room closes at eight.", .5, .8},
	{"lecturer", "school", 55000, 94000, "My seminar ends at four.", .8, .6},
	{"software engineer", "software", 98000, 182000, "I am on call for the release.", 1.6, .5},
	{"data analyst", "software", 68000, 112000, "The dashboards are due on Friday.", 1.4, .4},
	{"product manager", "software", 112000, 176000, "The roadmap review runs long.", .9, .6},
	{"support technician", "software", 40000, 62000, "My ticket queue is full.", 1.2, .5},
	{"lawyer", "law", 105000, 225000, "I am in court on Tuesday.", .6, 1},
	{"paralegal", "law", 47000, 72000, "There is a filing deadline.", .8, .6},
	{"judge", "law", 150000, 205000, "The docket is full this month.", .05, .9},
	{"accountant", "finance", 58000, 98000, "It is closing week.", 1, 1},
	{"bank teller", "finance", 33000, 44000, "I can't take calls at the window.", 1, .5},
	{"financial adviser", "finance", 72000, 160000, "The markets close at four.", .7, 1},
	{"actuary", "finance", 95000, 165000, "My tables are due.", .6, .5},
	{"electrician", "trades", 48000, 86000, "I am up a ladder most of the day.", 1.1, .9},
	{"plumber", "trades", 46000, 84000, "I am under somebody's sink till five.", 1, .9},
	{"carpenter", "trades", 42000, 72000, "The site opens at seven.", 1, 1},
	{"truck driver", "transport", 45000, 76000, "I am on the road until the weekend.", .9, 1.2},
	{"airline pilot", "transport", 120000, 260000, "I fly out again on Monday.", .5, .8},
	{"train conductor", "transport", 50000, 74000, "I am on the early line.", .7, .9},
	{"chef", "food", 42000, 74000, "Dinner service starts at five.", 1.2, .6},
	{"waiter", "food", 24000, 39000, "I have a double shift.", 1.5, .3},
	{"farmer", "land", 36000, 92000, "The harvest won't wait.", .5, 1.6},
	{"forester", "land", 44000, 70000, "There is no signal in the woods.", .6, .7},
	{"police officer", "public", 55000, 92000, "I am on patrol till ten.", 1, .6},
	{"firefighter", "public", 48000, 82000, "I am at the station for two days.", 1.1, .4},
}

// Employers by sector, with the domain of their mail.
var Employers = map[string][][2]string{
	"health":    {{"Oakview Clinic", "oakview.example"}, {"St Mary Hospital", "stmary.example"}, {"Lakeside Care", "lakesidecare.example"}},
	"school":    {{"Hilltop District", "hilltop-schools.example"}, {"Riverbend College", "riverbend.example"}},
	"software":  {{"Cobalt Systems", "cobalt.example"}, {"Fernworks", "fernworks.example"}, {"Pixelforge", "pixelforge.example"}},
	"law":       {{"Marlow and Finch", "marlowfinch.example"}, {"County Courts", "countycourts.example"}},
	"finance":   {{"Summit Advisers", "summitadvisers.example"}, {"Beacon Mutual", "beaconmutual.example"}},
	"trades":    {{"Ironbark Builders", "ironbark.example"}, {"Copperline", "copperline.example"}},
	"transport": {{"Longhaul Freight", "longhaul.example"}, {"Meridian Air", "meridianair.example"}},
	"food":      {{"Saffron Table", "saffrontable.example"}, {"Bluebird Diners", "bluebird.example"}},
	"land":      {{"Greenfield Cooperative", "greenfield.example"}, {"State Forests", "stateforests.example"}},
	"public":    {{"City Services", "cityservices.example"}, {"Metro Safety", "metrosafety.example"}},
}

// Providers of mail for everybody.
var Providers = []string{"mailbox.example", "postcloud.example", "quickmail.example", "webletter.example"}

// Patterns of the local part of an address of mail, with their shares.
var patterns = []struct {
	name  string
	share float64
}{{"given.surname", .4}, {"gsurname", .25}, {"givensurname", .15}, {"surname.given", .1}, {"given.surnameYY", .1}}

const providerShare = .65 // of addresses that are not the employer's
