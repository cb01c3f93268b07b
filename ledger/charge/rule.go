package charge

import "fmt"

// Rule names a rule that an entry broke. It is an error; the errors of this
// package wrap it, so that errors.Is(err, charge.Budget) works.
type Rule string

// Rules of one entry, and of an entry that follows others.
const (
	Encoding  Rule = "encoding"  // the bytes are not the canonical encoding of an entry
	Shape     Rule = "shape"     // a field is missing, out of range or out of order
	Signature Rule = "signature" // it is not signed by the ledger's key
	Family    Rule = "family"    // it belongs to another family
	Sequence  Rule = "sequence"  // it is not the next of its family
	Previous  Rule = "previous"  // its prev is not the hash of the entry before
	Time      Rule = "time"      // its time is before that of the entry before
	Fixed     Rule = "fixed"     // its limits are not those of the first entry
	Value     Rule = "value"     // two atoms differ about one value
	Falling   Rule = "falling"   // less is known of a value than before
	Order     Rule = "order"     // worse sinks know more than all sinks together
	Unseen    Rule = "unheard"   // a class is charged for what went to a better one
	Cost      Rule = "cost"      // less is known than the release alone discloses
	Free      Rule = "free"      // it releases nothing, but charges
	Charge    Rule = "charge"    // its charge is not that of its atoms
	Total     Rule = "total"     // its total is not the sum of all charges
	Caps      Rule = "caps"      // its sums by class are not those of all values
	Budget    Rule = "budget"    // the total is over B
	Cap       Rule = "cap"       // the sum of a class is over its cap
	Doubt     Rule = "doubt"     // what passed by models' judgement is over its cap, or not their sum
)

// Error names the rule.
func (r Rule) Error() string { return "ledger rule " + string(r) }

// Errorf returns an error that wraps the rule and says how it was broken.
func (r Rule) Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{r}, args...)...)
}
