package ledger

import "fmt"

// Rule names a rule that an entry broke. It is an error; the errors of this
// package wrap it, so that errors.Is(err, ledger.Budget) works.
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
	Value     Rule = "value"     // two atoms tell different things of one value
	Falling   Rule = "falling"   // less is known of a value than before
	Order     Rule = "order"     // worse sinks know more than all sinks together
	Unheard   Rule = "unheard"   // a class is charged for what went to a better one
	Cost      Rule = "cost"      // less is known than the release alone tells
	Free      Rule = "free"      // it releases nothing, and charges
	Charge    Rule = "charge"    // its charge is not what the atoms come to
	Total     Rule = "total"     // its total is not what all charges come to
	Caps      Rule = "caps"      // its sums by class are not what all values come to
	Budget    Rule = "budget"    // the total is over B
	Cap       Rule = "cap"       // the sum of a class is over its cap
)

// Rules of an export as a whole.
const (
	Framing Rule = "framing" // it is cut short, or something is where it does not belong
	Foreign Rule = "foreign" // it was made under another key
	Ending  Rule = "ending"  // a family does not end where its head says
	Arrival Rule = "arrival" // entries did not arrive in the order of their chain
	Rubrics Rule = "rubrics" // a rubric that entries name is missing, or another is there
	Lax     Rule = "lax"     // a family began with more than any rubric of its first entry allows
	Anchor  Rule = "anchor"  // the checkpoint is of other entries
	Seal    Rule = "seal"    // bytes were changed after the export was made
	Older   Rule = "older"   // it is older than a checkpoint that is known
	Forked  Rule = "forked"  // it does not have the history of a checkpoint that is known
)

// Error says what the rule is.
func (r Rule) Error() string { return "ledger rule " + string(r) }

// broken returns an error that wraps the rule and says how it was broken.
func (r Rule) broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{r}, args...)...)
}
