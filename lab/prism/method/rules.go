package method

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"
)

// Rules is the rule scanner: the gitleaks library with its whole default rule
// set, by its own detector; the secrets of its findings are redacted. (The
// paper's TruffleHog is under a licence that may not be linked here.)
type Rules struct {
	lib *detect.Detector // safe for concurrent use
}

// NewRules builds the library's detector.
func NewRules() (*Rules, error) {
	quiet.Do(func() { zerolog.SetGlobalLevel(zerolog.Disabled) })
	lib, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return &Rules{lib: lib}, nil
}

// quiet keeps the library's log out of the results' table.
var quiet sync.Once

// Name implements Method.
func (*Rules) Name() string { return "rules" }

// Filter implements Method.
func (r *Rules) Filter(_ context.Context, in *Input) (Output, error) {
	found := r.lib.DetectString(in.Text)
	var spans []span
	for i := range found {
		spans = appendAll(spans, in.Text, found[i].Secret)
	}
	return removing(in, spans), nil
}

// appendAll appends every occurrence of value in text: who redacts a value
// that a scanner names replaces it wherever it stands.
func appendAll(spans []span, text, value string) []span {
	if value == "" {
		return spans
	}
	for at := 0; ; {
		i := strings.Index(text[at:], value)
		if i < 0 {
			return spans
		}
		spans = append(spans, span{at + i, at + i + len(value)})
		at += i + len(value)
	}
}
