package recognise

import (
	"encoding/base64"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// survivor is how many characters of a credential in a row may stay in a text.
const survivor = 8

// survives returns the longest run of [from, to) that no match covers, if it is
// long enough to count.
func survives(found []Match, text string, from, to int) string {
	in := make([]bool, len(text)+1)
	for _, m := range found {
		for i := m.Start; i < m.End; i++ {
			in[i] = true
		}
	}
	longest := ""
	for i := from; i < to; i++ {
		n := 0
		for i+n < to && !in[i+n] {
			n++
		}
		if n > len(longest) {
			longest = text[i : i+n]
		}
	}
	if len(longest) < survivor {
		return ""
	}
	return longest
}

// drawer draws texts that an expression matches.
type drawer struct {
	*rand.Rand
	out      strings.Builder
	from, to int // of the secret group in out
	group    int
}

func (d *drawer) draw(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		d.out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		d.out.WriteRune(d.oneOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		d.out.WriteByte('.')
	case syntax.OpCapture:
		from := d.out.Len()
		d.draw(re.Sub[0])
		if (d.group == 0 || d.group == re.Cap) && d.out.Len() > from && d.to == 0 {
			d.from, d.to = from, d.out.Len()
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			d.draw(sub)
		}
	case syntax.OpAlternate:
		d.draw(re.Sub[d.IntN(len(re.Sub))])
	case syntax.OpStar:
		d.times(re.Sub[0], 0, 40)
	case syntax.OpPlus:
		d.times(re.Sub[0], 1, 40)
	case syntax.OpQuest:
		d.times(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + 40
		}
		d.times(re.Sub[0], re.Min, most)
	}
}

func (d *drawer) times(re *syntax.Regexp, least, most int) {
	for range least + d.IntN(most-least+1) {
		d.draw(re)
	}
}

// oneOf draws a printable character of a class.
func (d *drawer) oneOf(class []rune) rune {
	var all []rune
	for r := rune(' '); r < 0x7f; r++ {
		for i := 0; i < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				all = append(all, r)
			}
		}
	}
	if len(all) == 0 {
		return '\n'
	}
	return all[d.IntN(len(all))]
}

// drawn returns a text with a match of the rule and where its secret lies; or no
// text if none of many draws is found.
func drawn(s *Set, r *Rule, rng *rand.Rand) (text string, from, to int) {
	re, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		return "", 0, 0
	}
	for range 40 {
		d := drawer{Rand: rng, group: r.Group}
		if re.MaxCap() == 0 {
			re = &syntax.Regexp{Op: syntax.OpCapture, Cap: 1, Sub: []*syntax.Regexp{re}}
		}
		gate := ""
		if len(r.Gate) > 0 {
			gate = r.Gate[0] + " "
		}
		d.draw(re)
		text := gate + d.out.String()
		if slices.ContainsFunc(s.Find([]byte(text+" ")), func(m Match) bool { return m.Rule == r }) {
			return text, len(gate) + d.from, len(gate) + d.to
		}
	}
	return "", 0, 0
}

// TestWholeToken: of a credential that is longer than what its rule knows, no
// run of eight characters stays, and the text behind it does. The credentials
// are drawn from the expressions; what is appended is not.
func TestWholeToken(t *testing.T) {
	s := defaultRules(t)
	rng := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for _, r := range s.Rules() {
		if r.Class != ClassCredential || r.ID == PrivateKeyID || r.Path != "" {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			for range 8 {
				text, from, to := drawn(s, r, rng)
				if text == "" {
					t.Skip("nothing that was drawn is found")
				}
				for _, more := range []string{"", "q7Zk2Lx9", "_q7-Zk2Lx9Vb4Nw8Qs1Rt6Yp3"} {
					whole := text[:to] + more + text[to:]
					if !found(s, r, whole+" ") {
						continue // the rule asks for the credential's length
					}
					tried++
					from, to := around(whole, from, to+len(more))
					if run := survives(s.Find([]byte(whole+" ")), whole, from, to); run != "" {
						t.Errorf("%d characters stay of a credential of %d: %s", len(run), to-from, whole)
					}
				}
			}
		})
	}
	if tried < 500 {
		t.Errorf("only %d credentials were tried", tried)
	}
}

func found(s *Set, r *Rule, text string) bool {
	return slices.ContainsFunc(s.Find([]byte(text)), func(m Match) bool { return m.Rule == r })
}

// around returns the token around a part of it: up to quotes, brackets, white
// space, and what joins parameters.
func around(text string, from, to int) (int, int) {
	const ends = " \t\r\n\"'`<>(){}[],;|&\\"
	for from > 0 && !strings.ContainsRune(ends+"=:", rune(text[from-1])) {
		from--
	}
	for to < len(text) && !strings.ContainsRune(ends+":.?!", rune(text[to])) {
		to++
	}
	return from, to
}

// TestWholeMarked: what stays of credentials whose extent the samples state.
func TestWholeMarked(t *testing.T) {
	s := defaultRules(t)
	id, body := "2345678901", "q7Zk2Lx9Vb4Nw8Qs1Rt6Yp3Mh5Jc0Fd"
	hex := "0123456789abcdef0f1e2d3c4b5a6978"
	header := "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
	jwt := header + "." + "eyJzdWIiOiJtYXJnYXktMTciLCJpc3MiOiJ0ZXN0In0" + "." + body
	for name, sample := range map[string]string{
		"legacy slack":        "the bot uses «xo" + "xa-2-" + id + "-" + id + "-" + id + "-" + hex + "» today.",
		"slack user, longer":  "«xo" + "xp-" + id + "-" + id + "-" + id + "-" + hex + "abcdef» ",
		"jwt":                 "cookie: «" + jwt + "»; path=/",
		"jwt, end of a line":  "it is «" + jwt + "».",
		"jwt in base64":       "x-auth: «" + base64.StdEncoding.EncodeToString([]byte(jwt)) + "»\n",
		"in a query":          "https://host.example.org/a?t=«gh" + "p_" + body + "abCD12efGH»&next=param-of-the-page-1",
		"in a list":           "[«gh" + "p_" + body + "abCD12efGH»,unrelated-name-77]",
		"behind an equals":    "name= «GN.7Q" + "~" + body + "ab» That was",
		"teams webhook":       "https://example.webhook.office.com/webhookb2/«" + "a1b2c3d4-1a2b-3c4d-5e6f-a1b2c3d4e5f6@a1b2c3d4-1a2b-3c4d-5e6f-a1b2c3d4e5f6/IncomingWebhook/" + hex + "/a1b2c3d4-1a2b-3c4d-5e6f-a1b2c3d4e5f6» now",
		"longer than is held": "«ey" + strings.Repeat("Jq7Zk2Lx9V", 300) + "." + "ey" + strings.Repeat("Jq7Zk2Lx9V", 400) + "." + strings.Repeat("Jq7Zk2Lx9V", 90) + "» and clean-text-goes-on",
	} {
		from, to := strings.Index(sample, "«"), strings.Index(sample, "»")-len("«")
		text := strings.NewReplacer("«", "", "»", "").Replace(sample)
		found := s.Find([]byte(text))
		if run := survives(found, text, from, to); run != "" {
			t.Errorf("%s: %d characters in a row stay", name, len(run))
		}
		for _, m := range found {
			if m.Rule.Class == ClassCredential && m.End > int64(to) {
				t.Errorf("%s: %s takes %q, too", name, m.Rule.ID, text[to:m.End])
			}
		}
	}
}

// TestGateHolds: a rule with a gate finds nothing where no word of the gate is,
// whether or not it begins with a literal.
func TestGateHolds(t *testing.T) {
	for _, regex := range []string{`acme-[0-9]{8}`, `\b([0-9]{8})\b`} {
		s, err := New([]Rule{{ID: "gated", Kind: "secret", Regex: regex, Gate: []string{"harbor"}}})
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]int{"acme-48151623 ": 0, "harbor: acme-48151623 ": 1, "harbor " + strings.Repeat(".", gateFor) + "acme-48151623 ": 0} {
			if got := len(s.Find([]byte(text))); got != want {
				t.Errorf("%s: found %d times, want %d, in a text of %d bytes", regex, got, want, len(text))
			}
		}
	}
}

// What matches inside the reported part of a long token is of that token: it is not
// followed once more.
func TestLongTokens(t *testing.T) {
	set, err := New([]Rule{{ID: "k", Regex: `(key-[a-z0-9-]{8})`}})
	if err != nil {
		t.Fatal(err)
	}
	s := set.NewScanner()
	for range 20000 {
		s.Write([]byte("key-abc123"))
		if n := len(s.tokens); n > 2 {
			t.Fatalf("%d tokens are under way in one, after %d bytes", n, s.pos)
		}
	}
	s.Close()
	end := int64(0)
	for _, m := range s.Take(nil) {
		if m.Start > end {
			t.Fatalf("nothing reports [%d, %d)", end, m.Start)
		}
		end = max(end, m.End)
	}
	if end != s.pos {
		t.Errorf("the token is reported up to %d of %d", end, s.pos)
	}
}
