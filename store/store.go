// Package store has what the engines below it share: what they refuse, their
// bounds, and the precision of times.
package store

import (
	"errors"
	"slices"
	"time"

	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// Bounds of what every engine keeps. Beyond them it discards the oldest
// questions and rows, and the values that were used longest ago; it takes no more
// places.
const (
	MaxQuestions = 10_000
	MaxValues    = 200_000
	MaxSaid      = 200_000 // rows of what models said and families saw, and
	MaxSaidOne   = 4096    // of them of one caller or family
	MaxPlaces    = 50_000
)

// ErrFull says that a bound of what an engine keeps is reached, and that it
// discards nothing for more.
var ErrFull = errors.New("store: no more fits")

// Moment returns a time as engines keep it: in UTC, in milliseconds.
func Moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// CheckRecords returns why records of secrets are refused.
func CheckRecords(recs []secret.Record) error {
	if slices.ContainsFunc(recs, func(r secret.Record) bool { return r.ID == "" || r.Fingerprint.IsZero() }) {
		return errors.New("store: a secret needs an id and a fingerprint")
	}
	return nil
}

// CheckAllow returns why an allowance is refused.
func CheckAllow(a *secret.Allow) error {
	switch {
	case a.ID == "":
		return errors.New("store: an allowance needs an id")
	case a.Fingerprint.IsZero() && a.Rule == "":
		return errors.New("store: an allowance needs a fingerprint or a rule, or it would allow everything")
	case a.Path != "" && a.Rule == "":
		return errors.New("store: an allowance by path needs a rule")
	}
	return nil
}

// CheckEntries returns why entries of the log are refused.
func CheckEntries(entries []audit.Entry) error {
	if slices.ContainsFunc(entries, func(en audit.Entry) bool { return en.ID == "" }) {
		return errors.New("store: a decision needs an id")
	}
	return nil
}

// CheckValues returns why the values behind pseudonyms are refused.
func CheckValues(values map[string][]byte) error {
	for name, v := range values {
		if name == "" || len(v) == 0 {
			return errors.New("store: a value needs a pseudonym and must be sealed")
		}
	}
	return nil
}
