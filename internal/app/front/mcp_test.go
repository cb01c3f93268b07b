package front

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

func TestFamilyFromEnv(t *testing.T) {
	t.Setenv(config.EnvTrajectory, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	if id, err := familyFromEnv(); err != nil || id != "01ARZ3NDEKTSV4RRFFQ69G5FAV" {
		t.Errorf("%s, %v", id, err)
	}
	t.Setenv(config.EnvTrajectory, "nonsense")
	if _, err := familyFromEnv(); err == nil {
		t.Error("nonsense was taken")
	}
	t.Setenv(config.EnvTrajectory, "")
	if id, err := familyFromEnv(); err != nil || id != "" {
		t.Errorf("%s, %v without a run", id, err)
	}
}

// Entries of a program of another name would not be found again.
func TestEditsNeedTheName(t *testing.T) {
	for _, undo := range []bool{false, true} {
		a := &app{App: &invocation.App{Command: cli.Command{Out: io.Discard, Err: io.Discard}, StateDir: t.TempDir()}}
		err := a.edit(&editFlags{undo: undo, dry: true}, nil, nil, part{})
		var p *problem.Error
		if named := errors.As(err, &p) && strings.Contains(err.Error(), "the name margay") && p.Hint != ""; named == undo {
			t.Errorf("undo %v: %v", undo, err)
		}
	}
}
