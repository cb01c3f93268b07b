package status

import (
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/taint/effect"
)

// Questions are what people were asked since a time, and how they answered.
//
// A regret is a yes after which, in the same session, somebody said no to the same
// thing: to the same call, to one that differs in its free arguments alone, or to a
// call of the same tool with the same effects at the same places, or, where nothing
// says what the tool's calls do, to a call of the same tool. That is all the store
// shows; a person may regret more.
type Questions struct {
	Since   time.Time `json:"since"`
	Asked   int       `json:"asked"`
	Once    int       `json:"once"`    // yes, for one call
	Session int       `json:"session"` // yes, for the rest of the session
	No      int       `json:"no"`
	// Expired are denied, since nobody answered in time. Where an agent asks its user
	// by itself, a no is never told, and counts here.
	Expired int            `json:"expired"`
	Waiting int            `json:"waiting"`
	By      map[string]int `json:"by"` // how those that were answered were: terminal, hook, elicitation, console
	Regrets int            `json:"regrets"`
	// Unread are questions whose content can't be opened: a regret among them is
	// seen by the same call alone.
	Unread int `json:"unread,omitempty"`
	// Cut: the store keeps no more questions than these, so that there may have been
	// more.
	Cut bool `json:"cut,omitempty"`
}

// Count counts the questions of rows that were asked since a time. Open opens one.
func Count(rows []confirm.Row, open func(*confirm.Row) (*confirm.Question, error), since, now time.Time) *Questions {
	out := &Questions{Since: since, By: map[string]int{}}
	var answered []*confirm.Row
	for i := range rows {
		r := &rows[i]
		if r.Asked.Before(since) {
			continue
		}
		out.Asked++
		switch {
		case r.Answer == confirm.Once:
			out.Once++
		case r.Answer == confirm.Trajectory:
			out.Session++
		case r.Answer != "":
			out.No++
		case now.Before(r.Expires):
			out.Waiting++
		default:
			out.Expired++
		}
		if r.Answer != "" {
			by, _, _ := strings.Cut(r.By, ":") // a name may follow
			out.By[by]++
			answered = append(answered, r)
		}
	}
	slices.SortStableFunc(answered, func(a, b *confirm.Row) int { return a.Answered.Compare(b.Answered) })
	yes := map[string][]string{} // ids of questions that were answered yes, by what they are about
	regretted := map[string]bool{}
	for _, r := range answered {
		q, err := open(r)
		if err != nil {
			q = nil
			out.Unread++
		}
		for _, what := range about(r, q) {
			if r.Answer != confirm.Deny {
				yes[what] = append(yes[what], r.ID)
				continue
			}
			for _, id := range yes[what] {
				regretted[id] = true
			}
		}
	}
	out.Regrets = len(regretted)
	return out
}

// about names what a question is about, in all ways that make two questions be about
// the same thing.
func about(r *confirm.Row, q *confirm.Question) []string {
	of := string(r.Trajectory) + "\x00"
	out := []string{of + "call\x00" + string(r.Digest[:])}
	if r.Grant != [32]byte{} {
		out = append(out, of+"grant\x00"+string(r.Grant[:]))
	}
	if q == nil {
		return out
	}
	var does []string
	placed := false
	for i := range q.Deeds {
		if d := &q.Deeds[i]; d.Effect != effect.Observe.String() && d.Effect != effect.Edit.String() {
			does, placed = append(does, d.Effect+"\x00"+d.To), placed || d.To != ""
		}
	}
	if placed || len(q.Deeds) == 0 {
		slices.Sort(does)
		out = append(out, of+"tool\x00"+q.Call.Name+"\x00"+strings.Join(slices.Compact(does), "\x00"))
	}
	return out
}
