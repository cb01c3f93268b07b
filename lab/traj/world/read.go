package world

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// pop has the tables that readers know: what is common knowledge in it.
var pop = Joint()

// Disclosed returns the facts of a part that its released text discloses. It
// compares the two word by word: a mention that is still there discloses what
// the original did, and what replaces a mention is read. The facts need not be
// true.
func Disclosed(original *Part, released string) []Fact {
	if released == "" || len(original.Mentions) == 0 {
		return nil
	}
	var out []Fact
	if released == original.Text {
		for i := range original.Mentions {
			out = append(out, original.Mentions[i].Facts...)
		}
		return Implied(out)
	}
	a, b := tokens(original.Text), tokens(released)
	match := align(original.Text, released, a, b)
	loosen(released, b, match)
	for i := range original.Mentions {
		m := &original.Mentions[i]
		whole := true
		from, to := 0, len(released)
		for k := range a {
			switch {
			case a[k].end <= m.Start:
				if match[k] >= 0 {
					from = b[match[k]].end
				}
			case a[k].start >= m.End:
				if match[k] >= 0 && to == len(released) {
					to = b[match[k]].start
				}
			case match[k] < 0:
				whole = false
			}
		}
		switch {
		case whole && from <= to && strings.Contains(released[from:to], original.Text[m.Start:m.End]):
			out = append(out, m.Facts...)
		case from < to:
			out = append(out, Read(m.Field, released[from:to])...)
		}
	}
	return Implied(out)
}

// Survived reports which mentions are still in a released text as they were.
func Survived(original *Part, released string) []bool {
	out := make([]bool, len(original.Mentions))
	if released == "" {
		return out
	}
	for i := range original.Mentions {
		m := &original.Mentions[i]
		one := Part{Path: original.Path, Text: original.Text, Mentions: []Mention{*m}}
		one.Mentions[0].Facts = []Fact{{"mark", ""}}
		one.Mentions[0].Field = "none"
		out[i] = len(Disclosed(&one, released)) > 0
	}
	return out
}

type token struct{ start, end int }

// tokens are words, and single characters that are in no word.
func tokens(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
		case len(out) > 0 && out[len(out)-1].end == i && wordy(r) && wordy(last(s[:i])):
			out[len(out)-1].end = i + n
		default:
			out = append(out, token{i, i + n})
		}
		i += n
	}
	return out
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func last(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

const maxTokens = 1500 // of a text that is aligned; longer ones are cut

// align returns, for each token of the original, its place in the released
// text, or -1: a longest common subsequence, in which words are worth more than
// punctuation.
func align(x, y string, a, b []token) []int {
	match := make([]int, len(a))
	for i := range match {
		match[i] = -1
	}
	a, b = a[:min(len(a), maxTokens)], b[:min(len(b), maxTokens)]
	word := func(s string, t token) string { return s[t.start:t.end] }
	best := make([][]int32, len(a)+1)
	for i := range best {
		best[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if w := word(x, a[i]); w == word(y, b[j]) {
				best[i][j] = max(best[i][j], best[i+1][j+1]+worth(w))
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch w := word(x, a[i]); {
		case w == word(y, b[j]) && best[i][j] == best[i+1][j+1]+worth(w):
			match[i] = j
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	return match
}

// loosen takes back the matches of punctuation that stands between new words
// without a space: the comma of 50,000 is not the comma of the sentence.
func loosen(released string, b []token, match []int) {
	matched := make([]bool, len(b)+1)
	for _, j := range match {
		if j >= 0 {
			matched[j] = true
		}
	}
	for i, j := range match {
		if j <= 0 || j+1 >= len(b) || worth(released[b[j].start:b[j].end]) > 1 {
			continue
		}
		if b[j-1].end == b[j].start && b[j].end == b[j+1].start && !matched[j-1] && !matched[j+1] {
			match[i] = -1
		}
	}
}

func worth(word string) int32 {
	if r, _ := utf8.DecodeRuneInString(word); wordy(r) {
		return 2
	}
	return 1
}

var (
	isoDate   = regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})\b`)
	usDate    = regexp.MustCompile(`\b(\d{1,2})/(\d{1,2})/(\d{4})\b`)
	longDate  = regexp.MustCompile(`\b([A-Z][a-z]+) (\d{1,2}),? (\d{4})\b`)
	dayMonth  = regexp.MustCompile(`\b(\d{1,2}) ([A-Z][a-z]+) (\d{4})\b`)
	isoMonth  = regexp.MustCompile(`\b(\d{4})-(\d{2})\b`)
	monthYear = regexp.MustCompile(`\b([A-Z][a-z]+),? (\d{4})\b`)
	quarter   = regexp.MustCompile(`\bQ([1-4])[ -]?(\d{4})\b|\b(\d{4})[ -]?Q([1-4])\b`)
	yearSpan  = regexp.MustCompile(`\b((?:19|20)\d\d) ?(?:-|–|to|\.\.) ?((?:19|20)\d\d)\b`)
	decadeOf  = regexp.MustCompile(`\b((?:19|20)\d)0'?s\b`)
	decadeX   = regexp.MustCompile(`\b((?:19|20)\d)[xX*]`)
	oneYear   = regexp.MustCompile(`\b((?:19|20)\d\d)\b`)
	ageSpan   = regexp.MustCompile(`\b(\d{1,2}) ?(?:-|–|to) ?(\d{1,2})\b`)
	ageOf     = regexp.MustCompile(`\b(\d{1,3}) years? old\b|\bage[d:]? ?(\d{1,3})\b`)
	ageOver   = regexp.MustCompile(`\b(\d{2})\+|\bover (\d{2})\b`)
	digitsRun = regexp.MustCompile(`\d+`)
	fiveZip   = regexp.MustCompile(`\b(\d{5})\b`)
	otherZip  = regexp.MustCompile(`\b([A-Z]\d[A-Z]) \d[A-Z]\d\b`)
	threeZip  = regexp.MustCompile(`\b(\d{3})(?:xx|XX|\*\*)`)
	mail      = regexp.MustCompile(`[\w.+-]+@([\w-]+(?:\.[\w-]+)+)`)
	domainOf  = regexp.MustCompile(`@?\b([\w-]+\.example)\b`)
	codeSpan  = regexp.MustCompile(`\b([A-Z]\d\d) ?(?:-|–|to) ?([A-Z]\d\d)\b`)
	code      = regexp.MustCompile(`\b([A-Z]\d\d)\b`)
	money     = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?) ?([kK]\b|thousand\b)?`)
	initialsR = regexp.MustCompile(`\b([A-Z])\.? ?([A-Z])\b\.?`)
	keyShape  = regexp.MustCompile(`sk_live_[A-Za-z0-9]{24}`)
	passShape = regexp.MustCompile(`[A-Z][a-z]+[!#%+=][A-Za-z0-9]{6}`)
	pemShape  = regexp.MustCompile(`-----BEGIN PRIVATE KEY-----\n\w+\n-----END PRIVATE KEY-----`)
	passportR = regexp.MustCompile(`\b[A-Z]\d{8}\b`)
)

var months = func() map[string]time.Month {
	out := map[string]time.Month{}
	for m := time.January; m <= time.December; m++ {
		out[m.String()], out[m.String()[:3]] = m, m
	}
	return out
}()

// Read reads what a text tells about a field, without knowing whether it is
// true: coarse forms of every usual kind are understood. Markers and opaque
// tokens tell nothing.
func Read(f Field, s string) []Fact {
	s = markers.ReplaceAllString(s, " ")
	switch f {
	case DOB:
		return readDate(s)
	case Address:
		return readPlace(s, KCity, KState, KRegion, KCountry, true)
	case Location:
		return readPlace(s, KAtCity, KAtState, KAtRegion, KAtCountry, false)
	case Email:
		return readMail(s)
	case Diagnosis:
		return readIllness(s)
	case Salary:
		return readMoney(s)
	case LegalName:
		return readName(s)
	case Phone:
		return readNumber(s, 10, KPhone, KArea, 3, KPhoneEnd)
	case AccountID:
		return readNumber(s, 12, KAccount, KPrefix, 4, KAccEnd)
	case NationalID:
		return readNumber(s, 9, KNID, KNIDArea, 3, KNIDEnd)
	case PaymentToken:
		n := 16
		if len(strings.Join(digitsRun.FindAllString(s, -1), "")) == 15 {
			n = 15
		}
		out := readNumber(s, n, KCard, KBin, 6, KCardEnd)
		for i := range Banks {
			if has(s, Banks[i].Brand) || Banks[i].Brand == "American Express" && has(s, "Amex") {
				out = append(out, Fact{KBrand, Banks[i].Brand})
			}
		}
		return unique(out)
	case Passport:
		return shape(s, passportR, KPassport)
	case APIKey:
		return shape(s, keyShape, KAPIKey)
	case Password:
		return shape(s, passShape, KPassword)
	case PrivateKey:
		return shape(s, pemShape, KPrivate)
	}
	return nil
}

// markers are what defences put in the place of a value: [REDACTED…] and typed
// tokens with a keyed suffix, which tell no more than the kind.
var markers = regexp.MustCompile(`\[?REDACTED[^\]\s]*\]?|\b(?:legal-name|dob|payment-token|diagnosis|address|phone|email|account-id|national-id|passport|api-key|password|private-key|salary|location)[-_][0-9A-Za-z-]{4,}`)

func shape(s string, re *regexp.Regexp, k Kind) []Fact {
	if v := re.FindString(s); v != "" {
		return []Fact{{k, v}}
	}
	return nil
}

func has(s, word string) bool {
	s, word = strings.ToLower(s), strings.ToLower(word)
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		i += at
		before, after := last(s[:i]), rune(0)
		if i+len(word) < len(s) {
			after, _ = utf8.DecodeRuneInString(s[i+len(word):])
		}
		if (i == 0 || !wordy(before)) && (i+len(word) == len(s) || !wordy(after)) {
			return true
		}
		at = i + 1
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func readDate(s string) []Fact {
	one := func(y, m, d int) []Fact {
		t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
		return []Fact{Range(t, t)}
	}
	month := func(y, m, n int) []Fact {
		from := time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC)
		return []Fact{Range(from, from.AddDate(0, n, -1))}
	}
	if m := isoDate.FindStringSubmatch(s); m != nil {
		return one(atoi(m[1]), atoi(m[2]), atoi(m[3]))
	}
	if m := usDate.FindStringSubmatch(s); m != nil {
		return one(atoi(m[3]), atoi(m[1]), atoi(m[2]))
	}
	if m := longDate.FindStringSubmatch(s); m != nil && months[m[1]] > 0 {
		return one(atoi(m[3]), int(months[m[1]]), atoi(m[2]))
	}
	if m := dayMonth.FindStringSubmatch(s); m != nil && months[m[2]] > 0 {
		return one(atoi(m[3]), int(months[m[2]]), atoi(m[1]))
	}
	if m := yearSpan.FindStringSubmatch(s); m != nil {
		return []Fact{yearRange(atoi(m[1]), atoi(m[2]))}
	}
	if m := isoMonth.FindStringSubmatch(s); m != nil && atoi(m[2]) <= 12 {
		return month(atoi(m[1]), atoi(m[2]), 1)
	}
	if m := monthYear.FindStringSubmatch(s); m != nil && months[m[1]] > 0 {
		return month(atoi(m[2]), int(months[m[1]]), 1)
	}
	if m := quarter.FindStringSubmatch(s); m != nil {
		y, q := max(atoi(m[2]), atoi(m[3])), max(atoi(m[1]), atoi(m[4]))
		return month(y, 3*q-2, 3)
	}
	if m := decadeOf.FindStringSubmatch(s); m != nil {
		return []Fact{yearRange(10*atoi(m[1]), 10*atoi(m[1])+9)}
	}
	if m := decadeX.FindStringSubmatch(s); m != nil {
		return []Fact{yearRange(10*atoi(m[1]), 10*atoi(m[1])+9)}
	}
	if m := oneYear.FindStringSubmatch(s); m != nil {
		return []Fact{yearRange(atoi(m[1]), atoi(m[1]))}
	}
	if m := ageOf.FindStringSubmatch(s); m != nil {
		n := max(atoi(m[1]), atoi(m[2]))
		return []Fact{ageRange(n, n)}
	}
	if m := ageSpan.FindStringSubmatch(s); m != nil {
		return []Fact{ageRange(atoi(m[1]), atoi(m[2]))}
	}
	if m := ageOver.FindStringSubmatch(s); m != nil {
		return []Fact{ageRange(max(atoi(m[1]), atoi(m[2])), 120)}
	}
	return nil
}

func readPlace(s string, kCity, kState, kRegion, kCountry Kind, home bool) []Fact {
	var out []Fact
	if !home {
		for _, v := range Venues {
			if has(s, v) {
				out = append(out, Fact{KVenue, v})
				s = strings.ReplaceAll(s, v, "") // the South Gym is in no region
			}
		}
	}
	for i := range pop.Cities {
		c := &pop.Cities[i]
		if has(s, c.Name) {
			out = append(out, Fact{kCity, c.Name})
		}
		// Two capitals are a state's code, not "in" or "or".
		if has(s, c.State) || codeIn(s, c.Code) {
			out = append(out, Fact{kState, c.State})
		}
		if !home {
			continue
		}
		if m := fiveZip.FindStringSubmatch(s); m != nil && strings.HasPrefix(m[1], c.Zip) {
			out = append(out, Fact{KZip, m[1]}, Fact{KCity, c.Name})
		}
		if m := otherZip.FindStringSubmatch(s); m != nil && m[1] == c.Zip {
			out = append(out, Fact{KZip, m[0]}, Fact{KCity, c.Name})
		}
		if m := threeZip.FindStringSubmatch(s); m != nil && m[1] == c.Zip {
			out = append(out, Fact{KCity, c.Name})
		}
	}
	for _, r := range Regions {
		if has(s, r) || has(s, r+"ern") {
			out = append(out, Fact{kRegion, r})
		}
	}
	if has(s, "United States") || has(s, "USA") || codeIn(s, "US") || has(s, "U.S.") {
		out = append(out, Fact{kCountry, "United States"})
	}
	if has(s, "Canada") {
		out = append(out, Fact{kCountry, "Canada"})
	}
	if !home {
		return unique(out)
	}
	for _, st := range Streets {
		if !has(s, st) {
			continue
		}
		out = append(out, Fact{KStreet, st})
		before, _, _ := strings.Cut(s, st)
		if n := digitsRun.FindAllString(before, -1); len(n) > 0 {
			out = append(out, Fact{KNumber, n[len(n)-1]})
		}
	}
	return unique(out)
}

func codeIn(s, code string) bool {
	for _, t := range tokens(s) {
		if s[t.start:t.end] == code {
			return true
		}
	}
	return false
}

func readMail(s string) []Fact {
	if m := mail.FindStringSubmatch(s); m != nil && !strings.ContainsAny(m[0], "*•") {
		return []Fact{{KEmail, m[0]}}
	}
	var out []Fact
	if m := domainOf.FindStringSubmatch(s); m != nil {
		out = append(out, Fact{KDomain, m[1]})
	}
	return out
}

func readIllness(s string) []Fact {
	var out []Fact
	for i := range pop.Ills {
		ill := &pop.Ills[i]
		if has(s, ill.Name) {
			out = append(out, Fact{KIllness, ill.Name})
		}
		if has(s, ill.Symptom) {
			out = append(out, Fact{KSymptom, ill.Symptom})
		}
		for _, m := range ill.Medicines {
			if has(s, m) {
				out = append(out, Fact{KMedicine, m})
			}
		}
	}
	if m := codeSpan.FindStringSubmatch(s); m != nil {
		return unique(append(out, Fact{KChapter, m[1] + "-" + m[2]}))
	}
	if m := code.FindStringSubmatch(s); m != nil {
		for i := range pop.Ills {
			if pop.Ills[i].Code == m[1] {
				out = append(out, Fact{KIllness, pop.Ills[i].Name})
			}
		}
	}
	for i := range Chapters {
		for _, w := range append(chapterWords[i], Chapters[i].Name, Chapters[i].Clinic) {
			if has(s, w) {
				out = append(out, Fact{KChapter, Chapters[i].Range})
			}
		}
	}
	return unique(out)
}

// chapterWords are other names of the chapters.
var chapterWords = [][]string{
	{"endocrine", "metabolic"},
	{"mental", "behavioural", "behavioral", "psychiatric"},
	{"nervous", "neurological"},
	{"circulatory", "cardiovascular"},
	{"respiratory"},
	{"digestive"},
	{"skin"},
	{"musculoskeletal"},
	{"genitourinary"},
	{"neoplasm", "neoplasms", "cancer"},
}

func readMoney(s string) []Fact {
	all := money.FindAllStringSubmatch(s, -1)
	var amounts []int
	var thousand bool
	for i, m := range all {
		v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if err != nil {
			continue
		}
		k := m[2] != ""
		// "50-75k" means thousands for both.
		if !k && i+1 < len(all) && all[i+1][2] != "" && v < 1000 {
			k = true
		}
		if k {
			v, thousand = v*1000, true
		}
		amounts = append(amounts, int(v))
	}
	low := strings.ToLower(s)
	switch {
	case len(amounts) == 0:
		return nil
	case len(amounts) >= 2:
		a, b := min(amounts[0], amounts[1]), max(amounts[0], amounts[1])
		return []Fact{Money(a, b)}
	case strings.Contains(low, "under") || strings.Contains(low, "below") || strings.Contains(low, "less than") || strings.Contains(s, "<"):
		return []Fact{Money(0, amounts[0])}
	case strings.Contains(low, "over") || strings.Contains(low, "above") || strings.Contains(low, "more than") || strings.ContainsAny(s, ">≥+"):
		return []Fact{Money(amounts[0], 10_000_000)}
	case thousand && amounts[0]%1000 == 0:
		return []Fact{Money(amounts[0], amounts[0]+999)}
	}
	return []Fact{Money(amounts[0], amounts[0])}
}

func readName(s string) []Fact {
	var out []Fact
	for _, g := range pop.Givens {
		if has(s, g) {
			out = append(out, Fact{KGiven, g})
		}
	}
	for _, n := range pop.Surnames {
		if has(s, n) {
			out = append(out, Fact{KSurname, n})
		}
	}
	if len(out) == 0 {
		if m := initialsR.FindStringSubmatch(s); m != nil {
			out = append(out, Fact{KInitials, m[1] + m[2]})
		}
	}
	return unique(out)
}

// readNumber reads a number of n digits, whatever stands between them, or what
// is shown of its ends.
func readNumber(s string, n int, whole, head Kind, first int, tail Kind) []Fact {
	runs := digitsRun.FindAllString(s, -1)
	all := strings.Join(runs, "")
	if len(all) == n+1 && n == 10 && all[0] == '1' {
		all = all[1:] // the country's code
	}
	if len(all) == n {
		return []Fact{{whole, all}}
	}
	var out []Fact
	// Behind a country's code, or before stars: the head. Otherwise four
	// digits are the tail.
	for _, r := range runs {
		switch {
		case len(r) == 4 && head != KPrefix || len(r) == 4 && strings.HasSuffix(strings.TrimRight(s, ").] "), r):
			out = append(out, Fact{tail, r})
		case len(r) == first:
			out = append(out, Fact{head, r})
		}
	}
	return out
}

func unique(facts []Fact) []Fact {
	var out []Fact
	for _, f := range facts {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}
