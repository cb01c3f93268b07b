package hook

import "slices"

// Events lists the events of a harness that are known, by name.
func Events(name string) []string { return events(name, func(event) bool { return true }) }

// Carries lists those at which something flows, by name.
func Carries(name string) []string {
	return events(name, func(e event) bool { return len(e.flows) > 0 })
}

func events(name string, want func(event) bool) []string {
	var out []string
	for name, e := range named(name).events {
		if want(e) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
