package effect

// Influence is who had a part in a call, at most: what is above includes what
// is below.
type Influence uint8

// Influences.
const (
	// User: the user's and the developer's own words alone.
	User Influence = iota
	// Workspace: the files of a folder that the user trusts, too.
	Workspace
	// World: anybody, such as a page, a mail, an issue, a package.
	World
)

// Rule says under whose influence an effect comes about unasked.
type Rule struct {
	Effect Effect
	// Most is the highest influence; Known the one where the user knows the
	// place that the call is about: he named it himself, or a list does.
	Most, Known Influence
	// Always: a person is asked whoever had a part in it.
	Always bool
	// Why is the reason that a question and the documents give.
	Why string
}

// Table is the policy of effects, one rule for each. It is all there is: packs
// and commands say what a call does, and this says who may cause it.
//
// An edit may follow from anything only where labels follow the file, and into
// a workspace; code that the world may have changed counts as reaching out.
var Table = [count]Rule{
	{Effect: Observe, Most: World, Known: World, Why: "it reads, and tells nobody"},
	{Effect: Edit, Most: World, Known: World, Why: "it changes files of the workspace, which keep the label of who caused it"},
	{Effect: Run, Most: Workspace, Known: Workspace, Why: "it runs code of the workspace: strangers' text must not decide what runs"},
	{Effect: Persist, Most: User, Known: Workspace, Why: "it outlives the task or is obeyed later, so files alone must not cause it"},
	{Effect: Reach, Most: User, Known: Workspace, Why: "it reaches a place outside this machine that the user has not named"},
	{Effect: Spend, Most: User, Known: User, Why: "it spends money: the user alone may cause it"},
	{Effect: Destroy, Most: User, Known: Workspace, Why: "it removes what can't be had back, so files alone must not cause it"},
	{Effect: Administer, Most: User, Known: User, Always: true, Why: "it changes Margay itself: a person is always asked"},
}

// Rule returns the rule of an effect; that of Administer for one that is not
// known.
func (e Effect) Rule() Rule {
	if e < count {
		return Table[e]
	}
	return Table[Administer]
}

// Most is the highest influence under which an effect comes about unasked. It
// reports false where a person is always asked.
func (e Effect) Most(known bool) (Influence, bool) {
	r := e.Rule()
	if known {
		return r.Known, !r.Always
	}
	return r.Most, !r.Always
}
