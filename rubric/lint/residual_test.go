package lint_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/rubric/lint"
)

func TestResidualPaths(t *testing.T) {
	for _, c := range []struct {
		channels, expression string
		good                 bool
	}{
		{"", `^notes$`, true},
		{"", `^$`, true},
		{"", `(?i)(^|[._])(notes?|query)([._]|$)`, true},
		{"", `^passengers\.\d+\.note$`, true},
		{"", `^items\.[^.]+\.note$`, true},
		{"", `\.##$`, true},
		{"", `.`, true},
		{"", `^(/notes|notes)$`, true},
		{"", `^\$\.notes$`, false},
		{"", `^/notes$`, false},
		{"", `^items\[\d+\]\.note$`, false},
		{"", `^items\.\.note$`, false},
		{"", `^\.notes$`, false},
		{"", `^notes\.$`, false},
		{"", `a^`, false},
		{"[model]", `^content$`, true},
		{"[model]", `tool-arguments|reasoning`, true},
		{"[model]", `^notes$`, false},
		{"[model]", `^messages\.\d+\.content$`, false},
		{"[model, tool]", `^notes$`, true},
	} {
		b := edit(t, "required-service: ['^notes$']", "required-service: ['"+c.expression+"']")
		if c.channels != "" {
			b = []byte(strings.Replace(string(b), "actions: [book-seat]", "actions: [book-seat]\n  channels: "+c.channels, 1))
		}
		r := parse(t, b)
		i := slices.IndexFunc(lint.Check(r, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), func(f lint.Finding) bool { return f.Code == "residual-path" })
		if (i < 0) != c.good {
			t.Errorf("%s of %q: finding %d", c.expression, c.channels, i)
		}
	}
}
