package leakage

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// pools are other names by kind. No name is part of another or of a word that
// tasks are written in.
var pools = map[string][]string{
	"person": {
		"Amara Diallo", "Jonas Ekberg", "Priya Raman", "Mateo Ferrante", "Sinead Kavanagh", "Yusuf Demirel", "Hanna Virtanen", "Rafael Couto",
		"Noor Bakker", "Dmitri Sokolov", "Chiara Bellini", "Kwame Ofori", "Elif Aksoy", "Lars Holmgren", "Mei Takahashi", "Zofia Nowak",
	},
	"given":   {"Amara", "Jonas", "Priya", "Mateo", "Sinead", "Yusuf", "Hanna", "Rafael", "Chiara", "Kwame"},
	"handle":  {"@blue-heron", "@north-pier", "@jk-orchard", "@salt-works", "@mira-dot", "@oak-and-iron", "@lumen-nine", "@tarn-view", "@red-kiln", "@fjord-cat", "@sixth-mill"},
	"place":   {"Osteria Luna", "Café Brücke", "Haus Edelweiss", "Studio Pelikan", "Atelier Morgan", "Villa Serena", "Garten Kobold", "Halle Kranich", "Salon Miramar", "Praxis Tulpe"},
	"street":  {"3 Juniper Row", "91 Harbour Walk", "45 Cobbler Hill", "12 Saffron Mews", "60 Windmill Path", "7 Chandler Yard"},
	"city":    {"Turku", "Bergamo", "Leuven", "Graz", "Zaragoza", "Lyon", "Gdansk", "Malmo", "Galway", "Toledo", "Bremen", "Ljubljana"},
	"product": {"Falken Jug", "Mirabel Fern", "Tundra Grip", "Kestrel Board", "Ostro Bench", "Pomelo Ring", "Quarzo Tray", "Birka Stool", "Savona Pan", "Delta Wisp"},
	"secret":  {"copper-Lantern-54", "velvet-Anchor-19", "cinder-Meadow-72", "silver-Magpie-40", "amber-Trellis-63"},
	"hobby":   {"sailing", "pottery", "archery", "gardening", "fencing", "birdwatching", "beekeeping"},
	"outing":  {"planetarium", "circus", "ballet", "zoo"},
	"food":    {"lactose", "peanuts", "shellfish", "sesame"},
	// What does not go with a product of the tasks would change their sense.
	"material": {"suede", "wool", "nylon"},
}

const (
	upper  = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	digits = "0123456789"
)

// Generate returns n tasks made from the written ones, in turn, with other
// people, places, goods and numbers. The same seed gives the same tasks.
func Generate(n int, seed uint64) ([]*Task, error) {
	src, err := sources()
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x6c65616b))
	var out []*Task
	for i := range n {
		s := &src[i%len(src)]
		model, err := s.parse(s.text)
		if err != nil {
			return nil, err
		}
		text, err := vary(s.text, model.Vary, rng)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", model.ID, err)
		}
		t, err := s.parse(text)
		if err != nil {
			return nil, fmt.Errorf("made of %s: %w", model.ID, err)
		}
		t.ID = fmt.Sprintf("%s-%d", model.ID, i/len(src)+1)
		out = append(out, t)
	}
	return out, nil
}

// vary replaces a task's names.
func vary(text string, kinds map[string][]string, rng *rand.Rand) (string, error) {
	swap := map[string]string{}
	used := map[string]bool{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		pool := slices.Clone(pools[kind])
		rng.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		for i, old := range kinds[kind] {
			var fresh string
			switch kind {
			case "code", "money":
				for fresh == "" || used[fresh] || fresh == old {
					fresh = sameShape(old, kind == "money", rng)
				}
			default:
				if len(pool) < len(kinds[kind]) {
					return "", fmt.Errorf("%d names of kind %q are asked for, and there are %d", len(kinds[kind]), kind, len(pool))
				}
				fresh = pool[i]
			}
			swap[old], used[fresh] = fresh, true
			if kind == "person" {
				oldGiven, _, _ := strings.Cut(old, " ")
				swap[oldGiven], _, _ = strings.Cut(fresh, " ")
			}
		}
	}
	// The longest first, all at once, so that no fresh name is replaced.
	olds := slices.SortedFunc(maps.Keys(swap), func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(olds) == 0 {
		return text, nil
	}
	var alternatives []string
	for _, o := range olds {
		alternatives = append(alternatives, regexp.QuoteMeta(o))
	}
	re, err := regexp.Compile(strings.Join(alternatives, "|"))
	if err != nil {
		return "", err
	}
	return re.ReplaceAllStringFunc(text, func(old string) string { return swap[old] }), nil
}

// sameShape draws another code or amount: letters for letters, digits for
// digits; an amount begins as it did, so that it stays of one size.
func sameShape(old string, money bool, rng *rand.Rand) string {
	b := []byte(old)
	for i, c := range b {
		switch {
		case c >= 'A' && c <= 'Z':
			b[i] = upper[rng.IntN(len(upper))]
		case c >= '0' && c <= '9' && (i > 0 || !money):
			b[i] = digits[rng.IntN(len(digits))]
		}
	}
	if money && b[len(b)-1] == '0' {
		b[len(b)-1] = '5'
	}
	return string(b)
}
