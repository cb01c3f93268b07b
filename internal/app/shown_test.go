package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/visible"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// hostile are texts that would make lines, steer a terminal or reorder what is
// shown.
var hostile = []string{
	"a\nmargay: all is well", "a\r\nb", "a\rb", "\x1b[2J\x1b]0;x\x07", "\u009b31m", "\u0085x", "\u202eevil\u2066", "a\u2028b\u2029c", "a\tb", "\x00\x08\x7f", "\u200b\u2060", "\ufeffx",
}

// fill sets each text below a value, but for ids, to one that f makes.
func fill(v reflect.Value, f func() string, keep ...string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).CanSet() && !slices.Contains(keep, name) {
				fill(v.Field(i), f, keep...)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fill(v.Index(i), f, keep...)
		}
	default:
	}
}

// shownWorld is a state in which each text has an end of its own, and the
// commands that show it.
func shownWorld(t *testing.T, end func(i int) string) (dir string, commands [][]string) {
	t.Helper()
	c := config.Default()
	c.StateDir = t.TempDir()
	must(t, c.Check())
	st, err := state.Open(t.Context(), c)
	must(t, err)
	defer st.Close()
	n := 0
	text := func() string {
		n++
		return fmt.Sprintf("t%d%s", n, end(n))
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	for i := range 2 * len(hostile) {
		en := audit.Entry{Findings: make([]audit.Finding, 2)}
		fill(reflect.ValueOf(&en).Elem(), text, "ID", "Trajectory", "Finding")
		en.ID, en.Trajectory, en.At = flow.NewID(), "01K00000000000000000000001", now
		for k := range en.Findings {
			en.Findings[k].ID = flow.NewID()
		}
		must(t, st.Store.AppendDecisions(t.Context(), []audit.Entry{en}))
		commands = append(commands, []string{"explain", en.ID}, []string{"explain", en.Findings[1].ID})

		rec := secret.Record{ID: flow.NewID(), Fingerprint: secret.Fingerprint{1, byte(i)}, Length: 20, Created: now}
		fill(reflect.ValueOf(&rec).Elem(), text, "ID", "Fingerprint")
		must(t, st.Store.PutSecrets(t.Context(), []secret.Record{rec}))
		allow := secret.Allow{ID: flow.NewID(), Created: now}
		fill(reflect.ValueOf(&allow).Elem(), text, "ID", "Fingerprint")
		must(t, st.Store.PutAllow(t.Context(), allow))

		q := confirm.Question{Trajectory: flow.TrajectoryID(flow.NewID()), Digest: [32]byte{1, byte(i)}}
		fill(reflect.ValueOf(&q).Elem(), text, "ID", "Trajectory", "Digest", "Grant")
		must(t, confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, MaxOpen: 1000, Limit: time.Hour}).Put(context.WithoutCancel(t.Context()), &q))
		commands = append(commands, []string{"approve", "show", q.ID})
	}
	return c.StateDir, append(commands, []string{"log"}, []string{"allow", "list"}, []string{"secrets", "list"}, []string{"approve", "list"}, []string{"doctor", "--offline"})
}

// TestClaimsNoFieldForgesALine: whatever is in the fields of what is kept, no
// command shows a character that steers a terminal, and each has as many lines as
// if the fields were words.
func TestClaimsNoFieldForgesALine(t *testing.T) {
	plain, benign := shownWorld(t, func(int) string { return "" })
	evil, commands := shownWorld(t, func(i int) string { return hostile[i%len(hostile)] })
	for i, args := range commands {
		want, got := shownBy(plain, benign[i]), shownBy(evil, args)
		if shown := visible.Text(got); shown != got || strings.Contains(got, "\t") {
			t.Errorf("margay %s shows a control character: %q", strings.Join(args, " "), got)
		}
		if strings.Count(got, "\n") != strings.Count(want, "\n") || strings.Count(got, "\n") == 0 {
			t.Errorf("margay %s shows %d lines, and of words %d: %q", strings.Join(args, " "), strings.Count(got, "\n"), strings.Count(want, "\n"), got)
		}
	}
}

// shownBy is all that a command writes.
func shownBy(dir string, args []string) string {
	var out, errs bytes.Buffer
	Main(append([]string{"--state-dir", dir}, args...), strings.NewReader(""), &out, &errs)
	return out.String() + errs.String()
}

// So it is with the names of files, and in the log of what Margay does.
func TestClaimsNoNameForgesALine(t *testing.T) {
	token := "gh" + "p_" + strings.Repeat("aB3dE5gH", 4) + "jK7m"
	for _, h := range hostile {
		var b bytes.Buffer
		slog.New(slog.NewTextHandler(&b, nil)).Info("decision", "name", h, "error", fmt.Errorf("%s", h)) //nolint:sloglint // what others chose
		if line := strings.TrimSuffix(b.String(), "\n"); strings.Contains(line, "\n") || visible.Text(line) != line || strings.Contains(line, "\t") {
			t.Errorf("the log has %q", line)
		}
		if strings.ContainsAny(h, "\x00/") || runtime.GOOS == "windows" {
			continue
		}
		file := filepath.Join(t.TempDir(), "f"+h)
		must(t, os.WriteFile(file, []byte("token "+token+"\n"), 0o600))
		for _, args := range [][]string{{"scan", file}, {"scan", "--record", file}, {"scan", file + "x"}, {"secrets", "add", h}, {"allow", "add", h}, {"explain", h}, {"policy", "show", file}, {"--config", file, "config", "check"}} {
			if got := shownBy(t.TempDir(), args); visible.Text(got) != got || strings.Contains(got, "\t") || strings.Count(got, "\n") > 2 {
				t.Errorf("margay %q shows %q", args, got)
			}
		}
	}
}

// TestClaimsUndo: only what changed something can be undone: findings that were
// reported or allowed come without a command that undoes them.
func TestClaimsUndo(t *testing.T) {
	c := config.Default()
	c.StateDir = t.TempDir()
	must(t, c.Check())
	st, err := state.Open(t.Context(), c)
	must(t, err)
	entries := map[flow.Action]audit.Entry{}
	for _, a := range []flow.Action{flow.ActAllow, flow.ActReport, flow.ActPseudonym, flow.ActRedact, flow.ActBlock} {
		en := audit.Entry{
			Decision: flow.Decision{ID: flow.NewID(), Verb: flow.Prompt, Outcome: flow.Rewrite, At: time.Now(), Reasons: []flow.Reason{{Code: "secret-found", Detail: "d", Action: a}}},
			Findings: []audit.Finding{{ID: flow.NewID(), Rule: "r", Kind: secret.KindToken, Action: a, Length: 20}},
		}
		must(t, st.Store.AppendDecisions(t.Context(), []audit.Entry{en}))
		entries[a] = en
	}
	st.Close()
	for a, en := range entries {
		changed := a != flow.ActAllow && a != flow.ActReport
		for _, args := range [][]string{{"explain", en.ID}, {"explain", en.Findings[0].ID}, {"explain", "--json", en.ID}, {"log"}, {"log", "--json"}} {
			if offers := strings.Contains(shownBy(c.StateDir, args), "margay allow add "+en.Findings[0].ID); offers != changed {
				t.Errorf("margay %v offers to undo what was done, %s: %v", args, a, offers)
			}
		}
	}
}
