package library_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/recount"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// said are phrases in which clauses find a field in a text, whatever its path.
// What stands around the value is of words that are no secret.
var said = map[string]string{
	"legal-name": "for %s, please", "dob": "who is born %s, and", "diagnosis": "who has %s, and", "email": "write to %s soon",
	"payment-token": "pay with %s today", "salary": "who earns $%s, and", "location": "who lives in %s, and", "account-id": "account number %s, please",
	"phone": "call %s soon", "icd-code": "icd code %s, please", "age": "aged %s, and", "medication": "who takes %s, and", "host": "on %s, please",
	"card-code": "cvv %s, please", "card-brand": "with %s, please", "api-key": "use %s for it", "private-key": "use %s for it", "address": "ship to %s soon",
}

// inPhrases are the values that those phrases are for: what is written in others
// is no matter of a clause but of the detectors.
var inPhrases = map[string]*regexp.Regexp{
	"legal-name": regexp.MustCompile(`^[A-Z][a-z]+ [A-Z][a-z]+$`), "salary": regexp.MustCompile(`^\d{3,6}$`), "location": regexp.MustCompile(`^\p{Lu}\p{Ll}{2,}$`),
	"account-id": regexp.MustCompile(`^\d{6,20}$`), "phone": regexp.MustCompile(`^(\+|00)\d{10,14}$`), "diagnosis": regexp.MustCompile(`^[a-z ]{5,}$`),
	"medication": regexp.MustCompile(`^[a-z]{5,}$`), "address": regexp.MustCompile(`^\d+ Oak Street, \p{Lu}\p{L}{2,18}$`),
	"host": regexp.MustCompile(`^[\d.]+$`),
}

var filler = regexp.MustCompile(`^(for|please|who|is|born|and|has|write|to|soon|pay|with|today|earns|lives|in|account|number|call|icd|code|aged|takes|on|cvv|use|it|ship)$`)

// prose are names of arguments that people write freely in: none of it is what
// a curious sink is asked.
var prose = []string{"notes", "note", "comments", "text", "body", "message", "description", "details", "reason", "summary", "subject", "memo", "letter", "remarks", "special_requests", "metadata", "x"}

// shown is what a sink got of a value.
type shown struct {
	class flow.Class
	value [2]string // group, and the value in its normal form
	view  rubric.View
}

// trajectory is one in the making, for one rubric.
type trajectory struct {
	*payloads
	v      *declassify.Verifier
	book   *ledger.Book
	values map[string][]string
	shown  []shown
}

func newTrajectory(t *rapid.T, p *payloads) *trajectory {
	v, book := verifierOf(t, p.rules)
	return &trajectory{payloads: p, v: v, book: book, values: map[string][]string{}}
}

// value is a new one of a field, or one that was there before.
func (y *trajectory) value(t *rapid.T, field string) string {
	if old := y.values[field]; len(old) > 0 && rapid.Bool().Draw(t, "again") {
		return rapid.SampledFrom(old).Draw(t, "old")
	}
	v := y.draw(t, field)
	y.values[field] = append(y.values[field], v)
	return v
}

// asked is one text with values of several fields, in phrases.
func (y *trajectory) asked(t *rapid.T) string {
	var out []string
	for _, field := range rapid.SliceOfN(rapid.SampledFrom(y.rules.Fields()), 0, 3).Draw(t, "spoken of") {
		phrase, v := said[field], y.value(t, field)
		if re := inPhrases[field]; phrase == "" || v == unlisted || re != nil && !re.MatchString(v) {
			continue
		}
		if field == "payment-token" {
			v = "4111 1111 1111 1111" // clauses look at the check digit
		}
		out = append(out, fmt.Sprintf(phrase, v))
	}
	return strings.Join(out, " ")
}

func (y *trajectory) candidate(t *rapid.T, class flow.Class) declassify.Candidate {
	c := declassify.Candidate{Trajectory: "T", Decision: "D", Tool: schema.Tool{Name: "tool", Sink: "sink " + class.String(), Class: class, Channel: flow.ChannelTool}}
	if rapid.Bool().Draw(t, "named") {
		c.Names = names{}
	}
	add := func(a schema.Arg, text string) {
		c.Tool.Args, c.Parts = append(c.Tool.Args, a), append(c.Parts, declassify.Part{Path: a.Path, Text: text})
	}
	for i, field := range rapid.SliceOfN(rapid.SampledFrom(y.rules.Fields()), 1, 4).Draw(t, "arguments") {
		add(schema.Arg{Path: fmt.Sprintf("arg%d", i), Field: field}, y.value(t, field))
	}
	if rapid.Bool().Draw(t, "with prose") {
		field := rapid.SampledFrom(y.rules.Fields()).Draw(t, "in prose")
		text := strings.TrimSpace(y.value(t, field) + rapid.SampledFrom([]string{"", " was meant", "\nthirty six, from nowhere"}).Draw(t, "and"))
		add(schema.Arg{Path: rapid.SampledFrom(prose).Draw(t, "prose"), Free: true}, text)
	}
	if text := y.asked(t); text != "" {
		add(schema.Arg{Path: "query", Free: true}, text)
	}
	return c
}

// look looks at what a curious or hostile sink got.
func (y *trajectory) look(t *rapid.T, c *declassify.Candidate, r *declassify.Release) {
	for i, a := range c.Tool.Args {
		if i >= len(r.Parts()) {
			t.Fatalf("%d parts became %d", len(c.Parts), len(r.Parts()))
		}
		in, out := c.Parts[i].Text, r.Parts()[i].Text
		switch {
		case !a.Free:
			y.typed(t, c.Tool.Class, a.Field, in, out)
		default:
			y.text(t, c.Tool.Class, in, out, a.Path == "query" && c.Tool.Class == flow.SemiTrusted)
		}
	}
	for _, a := range r.Atoms {
		if a.Op.Kind >= rubric.Generalize {
			v := c.Parts[a.Part].Text[a.Start:a.End]
			y.shown = append(y.shown, shown{c.Tool.Class, [2]string{y.rules.Group(a.Field), y.rules.Normal(a.Field, v)}, rubric.View{Field: a.Field, Level: a.Op.Level}})
		}
	}
}

// typed holds what became of an argument to what the rubric admits: a phrase
// that is of no value, or one of its coarse levels.
func (y *trajectory) typed(t *rapid.T, class flow.Class, field, in, out string) {
	if out == "" || out == declassify.Redacted || nameRE.MatchString(out) {
		return
	}
	needless := y.rules.Necessity(field, class) == rubric.Unnecessary
	for _, op := range y.rules.Operators(field, class) {
		var want string
		var err error
		switch op.Kind {
		case rubric.Generalize:
			want, err = y.rules.Generalize(field, op.Level, in)
		case rubric.Identity:
			want, err = y.rules.Generalize(field, 0, in)
			if y.of[field] == "" {
				t.Errorf("%s is shown to %s sinks as it is", field, class)
			}
		default:
			continue
		}
		if err != nil || out != want {
			continue
		}
		if needless {
			t.Errorf("%s is not needed, and came to %s sinks as %q", field, class, out)
		}
		return
	}
	t.Errorf("%s: %q came to %s sinks as %q, which no operator makes of it", field, in, class, out)
}

// text holds what became of a text to levels that the rubric admits for what is
// needed and, where something was asked, to words that are no secret.
func (y *trajectory) text(t *rapid.T, class flow.Class, in, out string, asked bool) {
	rest := nameRE.ReplaceAllString(strings.ReplaceAll(out, declassify.Redacted, " "), " ")
	var labels []string
	for field, values := range y.values {
		for _, v := range append(slices.Clip(values), "4111 1111 1111 1111") {
			for _, op := range y.rules.Operators(field, class) {
				if op.Kind < rubric.Generalize || y.rules.Necessity(field, class) == rubric.Unnecessary {
					continue
				}
				if label, err := y.rules.Generalize(field, op.Level, v); err == nil && (op.Kind == rubric.Generalize || y.of[field] != "") {
					labels = append(labels, label)
				}
			}
		}
	}
	slices.SortFunc(labels, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	for _, l := range labels {
		rest = strings.ReplaceAll(rest, l, " ")
	}
	for _, w := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" ,.$-\n", r) }) {
		if !asked || !filler.MatchString(w) {
			t.Errorf("%q came to %s sinks as %q, which says %q", in, class, out, w)
		}
	}
}

// charges holds what sinks of each class or worse were shown, worked out from
// the texts that they got, to what the ledger says of it, and that to the caps.
func (y *trajectory) charges(t *rapid.T) {
	c := recount.New(func([]charge.Hash) (recount.Rules, error) { return y.rules, nil })
	s, err := y.book.Replay(t.Context(), "T", c.Entry)
	if err != nil {
		t.Fatal(err)
	}
	limits := y.rules.Limits()
	for class := flow.SemiTrusted; class <= flow.Adversarial; class++ {
		views := map[[2]string][]rubric.View{}
		for _, x := range y.shown {
			if x.class >= class {
				views[x.value] = append(views[x.value], x.view)
			}
		}
		tells := flow.Bits(0)
		for _, v := range views {
			tells += y.rules.Joint(v)
		}
		if tells > s.Caps[class] || s.Caps[class] > limits.Cap[class] {
			t.Errorf("%s sinks were told %s, charged %s, of %s", class, tells, s.Caps[class], limits.Cap[class])
		}
	}
	if s.Total > limits.B {
		t.Errorf("charged %s of %s", s.Total, limits.B)
	}
}

// Whatever values of its own populations a trajectory has, and however they are
// spread over arguments, prose and questions: curious and hostile sinks get no
// value as it is and no level but those that the rubric admits for what they
// need, no prose, and together no more than their caps.
func TestCuriousSinksLearnNoMoreThanTheirCaps(t *testing.T) {
	for _, r := range compiledRules(t) {
		t.Run(r.Name(), func(t *testing.T) {
			p := payloadsOf(t, r)
			cases, released, coarse := 0, 0, 0
			rapid.Check(t, func(t *rapid.T) {
				y := newTrajectory(t, p)
				cases++
				for range rapid.IntRange(1, 4).Draw(t, "releases") {
					c := y.candidate(t, rapid.SampledFrom([]flow.Class{flow.SemiTrusted, flow.SemiTrusted, flow.Adversarial, flow.RequiredService}).Draw(t, "class"))
					got, err := y.v.Release(context.Background(), c)
					if err != nil {
						t.Fatal(err)
					}
					if !got.Released() {
						if got.Parts() != nil || got.Entry != nil {
							t.Error("a denial has parts")
						}
						continue
					}
					if c.Tool.Class != flow.RequiredService {
						released++
						y.look(t, &c, &got)
					}
				}
				y.charges(t)
				coarse += len(y.shown)
			})
			if 2*released < cases || 5*coarse < cases {
				t.Errorf("%d releases, %d values at a coarse level in %d cases: the test is not what it was", released, coarse, cases)
			}
		})
	}
}

// names are pseudonyms of a test.
type names map[string]string

var nameRE = regexp.MustCompile(`margay-([a-z]+(?:-[a-z]+)*)-[0-9a-f]{10}`)

func (n names) Name(field, value string) string {
	sum := sha256.Sum256([]byte(field + "\x00" + value))
	name := "margay-" + field + "-" + hex.EncodeToString(sum[:5])
	n[name] = value
	return name
}

func (n names) Find(text string) []declassify.Pseudonym {
	var out []declassify.Pseudonym
	for _, m := range nameRE.FindAllStringSubmatchIndex(text, -1) {
		if v, ok := n[text[m[0]:m[1]]]; ok {
			out = append(out, declassify.Pseudonym{Start: m[0], End: m[1], Field: text[m[2]:m[3]], Value: v})
		}
	}
	return out
}
