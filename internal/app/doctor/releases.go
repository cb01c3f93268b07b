package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/keys"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/rubric"
)

// checkReleases checks what releases depend on: the keys that sign the ledger and
// rubrics, the registry, and the names in the configuration that are of rubrics.
func checkReleases(ctx context.Context, c *config.Config, cs *checkups) {
	checkKey("signing key", keys.RubricPath(c.Keys()), cs)
	if text := os.Getenv(config.EnvLedgerKey); text == "" {
		checkKey("signing key", keys.LedgerPath(c.Keys()), cs)
	} else if _, err := keys.LedgerFromText(text); err != nil {
		cs.add("signing key", Fail, "unset "+config.EnvLedgerKey+" to use a key file", "%s: %v", config.EnvLedgerKey, err)
	}
	if err := state.MissingLedgerKey(ctx, c); err != nil {
		cs.problem("signing key", err)
	}
	on := c.Declassify.Mode != "off"
	bad := Warn
	if on {
		bad = Fail
	}
	folder := rubrics.Of(c)
	if _, err := os.Stat(folder.Dir()); errors.Is(err, fs.ErrNotExist) && !on {
		return
	}
	_, _, open := folder.Open(nil)
	reg, refused, look := folder.Read(nil)
	if err := cmp.Or(open, look); err != nil {
		cs.add("rubrics", bad, "margay rubric list shows which rubrics are in force", "%v", err)
		return
	}
	for _, r := range refused {
		cs.add("rubrics", Warn, "margay rubric publish a later revision of it", "%v", r)
	}
	active := rubrics.InForce(reg)
	if len(active) == 0 && on {
		cs.add("rubrics", Warn, "margay rubric publish --builtin publishes those that come with Margay", "%s has none: everything secret is redacted", folder.Dir())
		return
	}
	cs.ok("rubrics", "%s: %s", folder.Dir(), invocation.Count(len(active), "rubric"))
	if on {
		checkNames(&c.Declassify, active, cs)
	}
}

// checkNames looks for names in the configuration that no rubric has.
func checkNames(d *config.Declassify, active []*rubric.Rubric, cs *checkups) {
	tasks, fields := map[string]bool{}, map[string]bool{"text": true, "plain": true}
	for _, r := range active {
		tasks[r.Name()] = true
		for _, f := range rubric.Combine(r).Fields() {
			fields[f] = true
		}
	}
	known := func(of map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(of)), " ") }
	if d.Task != "" && !tasks[d.Task] {
		cs.add("rubrics", Fail, "rubrics in force: "+known(tasks), "declassify.task: unknown rubric %s", invocation.Printable(d.Task))
	}
	for _, tool := range slices.Sorted(maps.Keys(d.Tools)) {
		for _, path := range slices.Sorted(maps.Keys(d.Tools[tool].Args)) {
			if f := d.Tools[tool].Args[path]; !fields[f] {
				cs.add("rubrics", Warn, "fields: "+known(fields), "declassify.tools.%s.args: no rubric has the field %s of %s, so the argument may be of any field", invocation.Printable(tool), invocation.Printable(f), invocation.Printable(path))
			}
		}
	}
}
