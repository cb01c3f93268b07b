package rubric

import (
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/population"
)

// document is a rubric's text, which the schema has checked.
type document struct {
	Rubric       string                         `json:"rubric"`
	Revision     int                            `json:"revision"`
	Title        string                         `json:"title"`
	Expires      string                         `json:"expires"`
	Signature    Signature                      `json:"signature"`
	Fields       map[string]fieldDoc            `json:"fields"`
	Coverage     []clauseDoc                    `json:"coverage"`
	Residual     map[string][]string            `json:"residual"`
	Necessity    map[string]map[string]string   `json:"necessity"`
	Operators    map[string]map[string][]string `json:"operators"`
	Templates    map[string]template            `json:"templates"`
	Limits       limitsDoc                      `json:"limits"`
	Utility      map[string]map[string]string   `json:"utility"`
	Dependencies []dependencyDoc                `json:"dependencies"`
	Samples      []Sample                       `json:"samples"`
}

// Signature is a rubric's task signature: the releases that it is for. What is
// empty does not narrow it.
type Signature struct {
	Actions  []string       `json:"actions,omitempty"`
	Tools    []string       `json:"tools,omitempty"` // * stands for anything
	Sinks    []string       `json:"sinks,omitempty"`
	Channels []flow.Channel `json:"channels,omitempty"`
	Classes  []string       `json:"classes,omitempty"`
	Fields   []string       `json:"fields,omitempty"` // all of which the tool's arguments have
}

type fieldDoc struct {
	About      string           `json:"about"`
	Population *population.Spec `json:"population"`
	Of         string           `json:"of"`
	Reads      by               `json:"reads"`
	Levels     []levelDoc       `json:"levels"`
}

type levelDoc struct {
	Name string      `json:"name"`
	By   by          `json:"by"`
	Bits json.Number `json:"bits"`
	As   string      `json:"as"`
	Rest string      `json:"rest"`
}

// by is a column, or one for each part.
type by population.By

// UnmarshalJSON takes both forms.
func (b *by) UnmarshalJSON(j []byte) error {
	if len(j) > 0 && j[0] == '"' {
		var s string
		err := json.Unmarshal(j, &s)
		*b = by{"": s}
		return err
	}
	return json.Unmarshal(j, (*population.By)(b))
}

type clauseDoc struct {
	ID      string  `json:"id"`
	Field   string  `json:"field"`
	Path    string  `json:"path"`
	Text    string  `json:"text"`
	Entity  string  `json:"entity"`
	Lexicon lexicon `json:"lexicon"`
	Only    bool    `json:"only"` // what it matches is of its field and no other
}

// lexicon is a list, or the values of the field's table.
type lexicon struct {
	values bool
	list   []string
}

// UnmarshalJSON takes both forms.
func (l *lexicon) UnmarshalJSON(j []byte) error {
	if len(j) > 0 && j[0] == '"' {
		l.values = true
		return nil
	}
	return json.Unmarshal(j, &l.list)
}

type template struct {
	Text    string   `json:"text"`
	Context []string `json:"context"`
}

type limitsDoc struct {
	Budget   json.Number            `json:"budget"`
	Caps     map[string]json.Number `json:"caps"`
	Weights  map[string]json.Number `json:"weights"`
	Margin   json.Number            `json:"margin"`
	Presence json.Number            `json:"presence"`
	Equality json.Number            `json:"equality"`
}

type dependencyDoc struct {
	Between []string      `json:"between"` // field@level
	Kind    string        `json:"kind"`
	Why     string        `json:"why"`
	Else    []json.Number `json:"else"`
	Table   [][]any       `json:"table"`
}

// Sample is an input with what is expected of it: a text with what is found in
// it, a value with its levels, or a release with whether the rubric is for it.
type Sample struct {
	Path string           `json:"path,omitempty"`
	Text string           `json:"text,omitempty"`
	Find map[string]texts `json:"find,omitempty"`

	Field   string            `json:"field,omitempty"`
	Value   string            `json:"value,omitempty"`
	Levels  map[string]string `json:"levels,omitempty"`
	Outside bool              `json:"outside,omitempty"`

	Release *release `json:"release,omitempty"`
	Applies bool     `json:"applies,omitempty"`
}

type release struct {
	Action  string       `json:"action"`
	Tool    string       `json:"tool"`
	Sink    string       `json:"sink"`
	Channel flow.Channel `json:"channel"`
	Class   string       `json:"class"`
	Fields  []string     `json:"fields"`
}

// texts is one, or several.
type texts []string

// UnmarshalJSON takes both forms.
func (t *texts) UnmarshalJSON(j []byte) error {
	if len(j) > 0 && j[0] == '"' {
		var s string
		err := json.Unmarshal(j, &s)
		*t = texts{s}
		return err
	}
	return json.Unmarshal(j, (*[]string)(t))
}

// bitsOf reads an amount of information, which is exact: a rubric's numbers
// have at most six places.
func bitsOf(n json.Number, unset flow.Bits) (flow.Bits, error) {
	if n == "" {
		return unset, nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || r.Sign() < 0 {
		return 0, fmt.Errorf("%s is no amount of information", n)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(flow.Bit)))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("%s is no whole number of millionths of a bit", n)
	}
	return flow.Bits(r.Num().Int64()), nil
}

// classes by the names that rubrics have for them.
var classNames = map[string]flow.Class{
	flow.RequiredService.String(): flow.RequiredService,
	flow.SemiTrusted.String():     flow.SemiTrusted,
	flow.Adversarial.String():     flow.Adversarial,
}

// ParseClass reads a class of sinks as rubrics name it.
func ParseClass(s string) (flow.Class, bool) {
	c, ok := classNames[s]
	return c, ok
}

// expiry is the end of the last day, so that a rubric holds on it.
func expiry(day string) (time.Time, error) {
	t, err := time.Parse("2006-01-02", day)
	if err != nil {
		return t, fmt.Errorf("%q is no day of the calendar", day)
	}
	return t.AddDate(0, 0, 1), nil
}
