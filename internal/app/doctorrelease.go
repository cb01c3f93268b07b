package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/doctor"
	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/rubric"
)

// checkReleases looks at what releases are held to: the keys that sign the
// ledger and rubrics, the registry, and the names that the configuration has
// from rubrics.
func checkReleases(ctx context.Context, c *config.Config) (all []doctor.Check) {
	add := func(name, status, hint, format string, args ...any) {
		all = append(all, doctor.Check{Name: name, Status: status, Hint: hint, Detail: problem.OneLine(fmt.Sprintf(format, args...))})
	}
	paths := []string{keys.RubricPath(c.Keys())}
	if text := os.Getenv(config.EnvLedgerKey); text == "" {
		paths = append(paths, keys.LedgerPath(c.Keys()))
	} else if _, err := keys.LedgerFromText(text); err != nil {
		add("signing key", doctor.Fail, "unset "+config.EnvLedgerKey+" to use a key file", "%s: %v", config.EnvLedgerKey, err)
	}
	for _, p := range paths {
		var k [32]byte
		switch err := keys.Read(p, &k); {
		case errors.Is(err, fs.ErrNotExist): // made when it is first needed
		case errors.Is(err, keys.ErrOpen):
			add("signing key", doctor.Fail, "chmod 600 "+p, "%s may be read by other users", p)
		case err != nil:
			add("signing key", doctor.Fail, "restore it from a backup", "%v", err)
		default:
			add("signing key", doctor.OK, "", "%s", p)
		}
	}
	if err := state.LostLedgerKey(ctx, c); err != nil {
		hint := ""
		var p *problem.Error
		if errors.As(err, &p) {
			hint = p.Hint
		}
		add("signing key", doctor.Fail, hint, "%v", err)
	}
	on := c.Declassify.Mode != "off"
	bad := doctor.Warn
	if on {
		bad = doctor.Fail
	}
	folder := registryOf(c)
	if _, err := os.Stat(folder.Dir()); errors.Is(err, fs.ErrNotExist) && !on {
		return all
	}
	if _, _, err := folder.Open(nil); err != nil {
		add("rubrics", bad, "margay rubric list shows which ones hold", "%v", err)
		return all
	}
	reg, refused, err := folder.Look(nil)
	if err != nil {
		add("rubrics", bad, "margay rubric list shows which ones hold", "%v", err)
		return all
	}
	for _, r := range refused {
		add("rubrics", doctor.Warn, "margay rubric publish a later revision of it", "%v", r)
	}
	var active []*rubric.Rubric
	for _, r := range reg.All() {
		if reg.Active(r) {
			active = append(active, r)
		}
	}
	if len(active) == 0 && on {
		add("rubrics", doctor.Warn, "margay rubric publish --builtin publishes those that come with Margay", "there is none in %s: all that is secret is redacted", folder.Dir())
		return all
	}
	add("rubrics", doctor.OK, "", "%s: %s", folder.Dir(), count(len(active), "rubric"))
	if on {
		checkNames(&c.Declassify, active, add)
	}
	return all
}

// checkNames looks for names in the configuration that no rubric has.
func checkNames(d *config.Declassify, active []*rubric.Rubric, add func(name, status, hint, format string, args ...any)) {
	tasks, fields := map[string]bool{}, map[string]bool{"text": true, "plain": true}
	for _, r := range active {
		tasks[r.Name()] = true
		for _, f := range rubric.Combine(r).Fields() {
			fields[f] = true
		}
	}
	known := func(of map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(of)), " ") }
	if d.Task != "" && !tasks[d.Task] {
		add("rubrics", doctor.Fail, "rubrics in force: "+known(tasks), "declassify.task: there is no rubric %s", printable(d.Task))
	}
	for _, tool := range slices.Sorted(maps.Keys(d.Tools)) {
		for _, path := range slices.Sorted(maps.Keys(d.Tools[tool].Args)) {
			if f := d.Tools[tool].Args[path]; !fields[f] {
				add("rubrics", doctor.Warn, "fields: "+known(fields), "declassify.tools.%s.args: no rubric has the field %s of %s, so it may be of any", printable(tool), printable(f), printable(path))
			}
		}
	}
}
