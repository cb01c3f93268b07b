// Package document reads the text of a rubric and writes its canonical bytes.
//
// A rubric is YAML that people write, with files that it includes ([Read]),
// or canonical bytes that were hashed and signed ([ReadCanonical]). Both must
// satisfy the same JSON Schema, and both become the same Document, whose
// canonical bytes do not depend on how it was written. The format is in
// docs/format/rubric.md.
package document

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/dependency"
	"github.com/margaydev/margay/rubric/domain"
	"github.com/margaydev/margay/rubric/population"
)

// Document is a rubric's text, which the schema has checked. It must not be
// changed.
type Document struct {
	Rubric       string                         `json:"rubric"`
	Revision     int                            `json:"revision"`
	Title        string                         `json:"title"`
	Expires      string                         `json:"expires"`
	Signature    Signature                      `json:"signature"`
	Fields       map[string]Field               `json:"fields"`
	Coverage     []Clause                       `json:"coverage"`
	Residual     map[string][]string            `json:"residual"`
	Screened     *Screened                      `json:"screened"`
	Necessity    map[string]map[string]string   `json:"necessity"`
	Operators    map[string]map[string][]string `json:"operators"`
	Templates    map[string]Template            `json:"templates"`
	Limits       Limits                         `json:"limits"`
	Utility      map[string]map[string]string   `json:"utility"`
	Dependencies []dependency.Table             `json:"dependencies"`
	Samples      []Sample                       `json:"samples"`

	source    *yamldoc.Document
	canonical []byte
}

// Screened says where other free text may pass by the judgement of a model.
type Screened struct {
	Error json.Number         `json:"error"` // the share of texts, at most, of which it is wrong under attack
	Cap   json.Number         `json:"cap"`   // bits of a trajectory
	Paths map[string][]string `json:"paths"` // by class
}

// Field declares a secret field.
type Field struct {
	About      string        `json:"about"`
	Population *domain.Spec  `json:"population"`
	Of         string        `json:"of"`
	Reads      population.By `json:"reads"`
	Levels     []Level       `json:"levels"`
}

// Level declares a level of a field.
type Level struct {
	Name string        `json:"name"`
	By   population.By `json:"by"`
	Bits json.Number   `json:"bits"`
	As   string        `json:"as"`
	Rest string        `json:"rest"`
}

// Clause declares what notices a field.
type Clause struct {
	ID      string  `json:"id"`
	Field   string  `json:"field"`
	Path    string  `json:"path"`
	Text    string  `json:"text"`
	Entity  string  `json:"entity"`
	Lexicon Lexicon `json:"lexicon"`
	Only    bool    `json:"only"` // what it matches is of its field and no other
}

// Lexicon is a list, or the values of the field's table.
type Lexicon struct {
	Values bool
	List   []string
}

// UnmarshalJSON takes both forms.
func (l *Lexicon) UnmarshalJSON(j []byte) error {
	if len(j) > 0 && j[0] == '"' {
		l.Values = true
		return nil
	}
	return json.Unmarshal(j, &l.List)
}

// Template is a text that replaces a field, with context in braces.
type Template struct {
	Text    string   `json:"text"`
	Context []string `json:"context"`
}

// Limits are amounts in bits, and weights.
type Limits struct {
	Budget   json.Number            `json:"budget"`
	Caps     map[string]json.Number `json:"caps"`
	Weights  map[string]json.Number `json:"weights"`
	Margin   json.Number            `json:"margin"`
	Presence json.Number            `json:"presence"`
	Equality json.Number            `json:"equality"`
}

// Sample is an input with what is expected of it: a text with what is found in
// it, a value with its levels, or a release with whether the rubric is for it.
type Sample struct {
	Path string           `json:"path,omitempty"`
	Text string           `json:"text,omitempty"`
	Find map[string]Texts `json:"find,omitempty"`

	Field   string            `json:"field,omitempty"`
	Value   string            `json:"value,omitempty"`
	Levels  map[string]string `json:"levels,omitempty"`
	Outside bool              `json:"outside,omitempty"`

	Release *Release `json:"release,omitempty"`
	Applies bool     `json:"applies,omitempty"`
}

// Texts is one, or several.
type Texts []string

// UnmarshalJSON takes both forms.
func (t *Texts) UnmarshalJSON(j []byte) error {
	if len(j) > 0 && j[0] == '"' {
		var s string
		err := json.Unmarshal(j, &s)
		*t = Texts{s}
		return err
	}
	return json.Unmarshal(j, (*[]string)(t))
}

// Bits reads an amount of information, which is exact: a rubric's numbers have
// at most six places. What is not set is zero.
func Bits(n json.Number) (flow.Bits, error) {
	if n == "" {
		return 0, nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || r.Sign() < 0 {
		return 0, fmt.Errorf("%s is not an amount of information", n)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(flow.Bit)))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("%s is not a whole number of millionths of a bit", n)
	}
	return flow.Bits(r.Num().Int64()), nil
}
