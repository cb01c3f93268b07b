package world

// Regions are in the order of Population's index.
var Regions = []string{"Northeast", "Midwest", "South", "West", "Canada"}

// CountryOf is the country of a region.
func CountryOf(region int) string {
	if Regions[region] == "Canada" {
		return "Canada"
	}
	return "United States"
}

// City is a city with what is common knowledge about it.
type City struct {
	Name, State, Code string // Code is the state's abbreviation
	Region            int
	Areas             []string // area codes of telephones
	Zip               string   // the first three characters of its codes
	weight            float64  // among the cities of its region
}

// cityTable has twelve cities of each region of the United States, and seven
// of Canada.
var cityTable = []City{
	{"Boston", "Massachusetts", "MA", 0, []string{"617", "857"}, "021", 5},
	{"Worcester", "Massachusetts", "MA", 0, []string{"508"}, "016", 2},
	{"Providence", "Rhode Island", "RI", 0, []string{"401"}, "029", 2},
	{"Hartford", "Connecticut", "CT", 0, []string{"860"}, "061", 2},
	{"New Haven", "Connecticut", "CT", 0, []string{"203"}, "065", 2},
	{"Buffalo", "New York", "NY", 0, []string{"716"}, "142", 3},
	{"Rochester", "New York", "NY", 0, []string{"585"}, "146", 2},
	{"Albany", "New York", "NY", 0, []string{"518"}, "122", 2},
	{"Newark", "New Jersey", "NJ", 0, []string{"973"}, "071", 3},
	{"Philadelphia", "Pennsylvania", "PA", 0, []string{"215", "267"}, "191", 6},
	{"Pittsburgh", "Pennsylvania", "PA", 0, []string{"412"}, "152", 3},
	{"Portland", "Maine", "ME", 0, []string{"207"}, "041", 1},
	{"Chicago", "Illinois", "IL", 1, []string{"312", "773"}, "606", 8},
	{"Peoria", "Illinois", "IL", 1, []string{"309"}, "616", 1},
	{"Detroit", "Michigan", "MI", 1, []string{"313"}, "482", 4},
	{"Lansing", "Michigan", "MI", 1, []string{"517"}, "489", 1},
	{"Columbus", "Ohio", "OH", 1, []string{"614"}, "432", 4},
	{"Cleveland", "Ohio", "OH", 1, []string{"216"}, "441", 3},
	{"Indianapolis", "Indiana", "IN", 1, []string{"317"}, "462", 4},
	{"Milwaukee", "Wisconsin", "WI", 1, []string{"414"}, "532", 3},
	{"Minneapolis", "Minnesota", "MN", 1, []string{"612"}, "554", 3},
	{"Omaha", "Nebraska", "NE", 1, []string{"402"}, "681", 2},
	{"Wichita", "Kansas", "KS", 1, []string{"316"}, "672", 2},
	{"Des Moines", "Iowa", "IA", 1, []string{"515"}, "503", 1},
	{"Houston", "Texas", "TX", 2, []string{"713", "281"}, "770", 7},
	{"Austin", "Texas", "TX", 2, []string{"512"}, "787", 4},
	{"Dallas", "Texas", "TX", 2, []string{"214", "972"}, "752", 5},
	{"Atlanta", "Georgia", "GA", 2, []string{"404"}, "303", 4},
	{"Savannah", "Georgia", "GA", 2, []string{"912"}, "314", 1},
	{"Miami", "Florida", "FL", 2, []string{"305", "786"}, "331", 4},
	{"Tampa", "Florida", "FL", 2, []string{"813"}, "336", 3},
	{"Charlotte", "North Carolina", "NC", 2, []string{"704"}, "282", 3},
	{"Nashville", "Tennessee", "TN", 2, []string{"615"}, "372", 3},
	{"Memphis", "Tennessee", "TN", 2, []string{"901"}, "381", 2},
	{"Louisville", "Kentucky", "KY", 2, []string{"502"}, "402", 2},
	{"Richmond", "Virginia", "VA", 2, []string{"804"}, "232", 2},
	{"Seattle", "Washington", "WA", 3, []string{"206"}, "981", 4},
	{"Spokane", "Washington", "WA", 3, []string{"509"}, "992", 1},
	{"Eugene", "Oregon", "OR", 3, []string{"541"}, "974", 1},
	{"Salem", "Oregon", "OR", 3, []string{"503", "971"}, "973", 2},
	{"Sacramento", "California", "CA", 3, []string{"916"}, "958", 3},
	{"Fresno", "California", "CA", 3, []string{"559"}, "937", 2},
	{"San Diego", "California", "CA", 3, []string{"619"}, "921", 5},
	{"Oakland", "California", "CA", 3, []string{"510"}, "946", 3},
	{"Denver", "Colorado", "CO", 3, []string{"303", "720"}, "802", 4},
	{"Phoenix", "Arizona", "AZ", 3, []string{"602", "480"}, "850", 5},
	{"Tucson", "Arizona", "AZ", 3, []string{"520"}, "857", 2},
	{"Boise", "Idaho", "ID", 3, []string{"208"}, "837", 1},
	{"Toronto", "Ontario", "ON", 4, []string{"416", "647"}, "M5V", 6},
	{"Ottawa", "Ontario", "ON", 4, []string{"613"}, "K1P", 2},
	{"Montreal", "Quebec", "QC", 4, []string{"514", "438"}, "H3B", 5},
	{"Vancouver", "British Columbia", "BC", 4, []string{"604"}, "V6B", 4},
	{"Calgary", "Alberta", "AB", 4, []string{"403"}, "T2P", 3},
	{"Winnipeg", "Manitoba", "MB", 4, []string{"204"}, "R3C", 2},
	{"Halifax", "Nova Scotia", "NS", 4, []string{"902"}, "B3J", 1},
}

// Streets are in every city, with numbers from 1 to MaxNumber.
var Streets = []string{
	"Alder Street", "Birch Avenue", "Cedar Lane", "Dogwood Drive", "Elm Street", "Fairview Avenue", "Garfield Street", "Hawthorne Road",
	"Irving Place", "Juniper Court", "King Street", "Lakeview Drive", "Magnolia Avenue", "Northgate Road", "Orchard Lane", "Prospect Street",
	"Quarry Road", "Ridgeway Drive", "Sycamore Street", "Terrace Avenue", "Union Street", "Valley Road", "Walnut Street", "York Avenue",
}

// MaxNumber is the largest number of a house.
const MaxNumber = 180

// zipsPerCity: the last two digits of a code go by the street.
const zipsPerCity = 6

// Venues are in every city; who is somewhere is at one of them.
var Venues = []string{
	"Union Station", "Riverside Park", "City Library", "Central Market", "Museum of Art", "Civic Arena", "Botanical Garden", "Old Town Hall",
	"Harbor Cafe", "Grand Theater", "Science Center", "Memorial Hospital", "Law School", "North Mall", "South Gym", "Airport Terminal B",
}

// Banks issue cards and keep accounts. Their weight goes by region.
var Banks = []struct {
	Name, Bin, Brand, Prefix string
	Home                     int // the region where it is most usual
}{
	{"Harborside Bank", "412051", "Visa", "0311", 0},
	{"Empire Savings", "520933", "Mastercard", "0217", 0},
	{"Liberty Union", "417733", "Visa", "0390", 0},
	{"Lakes National", "413340", "Visa", "0712", 1},
	{"Prairie Trust", "530812", "Mastercard", "0748", 1},
	{"Heartland Credit", "371244", "American Express", "0781", 1},
	{"Magnolia Bank", "416022", "Visa", "1113", 2},
	{"Lone Star Federal", "540077", "Mastercard", "1140", 2},
	{"Gulf Savings", "419981", "Visa", "1176", 2},
	{"Cascade Bank", "414709", "Visa", "3251", 3},
	{"Golden Gate Trust", "551204", "Mastercard", "3217", 3},
	{"Sierra Credit", "376550", "American Express", "3290", 3},
}

const regionBoost = 5.0 // how much more usual a name or a bank is at home
