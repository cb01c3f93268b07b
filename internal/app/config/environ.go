package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Variables that start with MARGAY_ and are not keys of the configuration.
const (
	EnvConfig = "MARGAY_CONFIG" // path of the configuration file
	EnvKeys   = "MARGAY_KEYS"   // the keys themselves, instead of files
	// EnvLedgerKey is the key that signs the ledger, instead of a file.
	EnvLedgerKey = "MARGAY_LEDGER_KEY"
	// EnvTrajectory is the trajectory that margay run gives to its child, for the
	// mediators that the child starts.
	EnvTrajectory = "MARGAY_TRAJECTORY"
)

var otherVariables = []string{EnvConfig, EnvKeys, EnvLedgerKey, "MARGAY_SOCKET", "MARGAY_RUN_TOKEN", "MARGAY_RUN_SHIMS", "MARGAY_DATA", "MARGAY_REQUIRE", EnvTrajectory}

// environment sets every key that MARGAY_<KEY> names: underscores join the parts
// of a nested key and stand for dashes, commas separate lists. An empty variable
// sets nothing. It returns which variable set which key.
func (c *Config) environment(environ []string) (map[string]string, error) {
	e := &environment{vars: map[string]string{}, from: map[string]string{}}
	for _, kv := range environ {
		if name, v, ok := strings.Cut(kv, "="); ok && v != "" && strings.HasPrefix(name, "MARGAY_") && !slices.Contains(otherVariables, name) {
			e.vars[name] = v
		}
	}
	if err := e.set(reflect.ValueOf(c).Elem(), "MARGAY", ""); err != nil {
		return nil, err
	}
	c.Unknown = slices.Sorted(maps.Keys(e.vars))
	return e.from, nil
}

type environment struct {
	vars map[string]string // not yet used
	from map[string]string // key → variable
}

func (e *environment) set(v reflect.Value, prefix, path string) error {
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		if key == "-" {
			continue
		}
		name, at := prefix+"_"+upper(key), strings.TrimPrefix(path+"."+key, ".")
		f := v.Field(i)
		var err error
		switch f.Kind() {
		case reflect.Struct:
			err = e.set(f, name, at)
		case reflect.Map:
			err = e.setMap(f, name, at)
		default:
			err = e.setLeaf(f, name, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func upper(key string) string { return strings.ToUpper(strings.ReplaceAll(key, "-", "_")) }

// setMap sets the entries of a policy, whose keys are kinds, or of upstreams,
// whose keys are between the prefix and a key of an upstream.
func (e *environment) setMap(f reflect.Value, prefix, path string) error {
	if f.IsNil() {
		f.Set(reflect.MakeMap(f.Type()))
	}
	if f.Type().Elem().Kind() == reflect.Slice {
		return nil // no variable can have its names
	}
	if f.Type().Elem().Kind() == reflect.String {
		for _, k := range Kinds() {
			if v, ok := e.take(prefix+"_"+upper(k), path+"."+k); ok {
				f.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(v))
			}
		}
		return nil
	}
	for _, name := range e.names(prefix) {
		item := reflect.New(f.Type().Elem()).Elem()
		if old := f.MapIndex(reflect.ValueOf(name)); old.IsValid() {
			item.Set(old)
		}
		if err := e.set(item, prefix+"_"+upper(name), path+"."+name); err != nil {
			return err
		}
		f.SetMapIndex(reflect.ValueOf(name), item)
	}
	return nil
}

// names lists the upstreams that variables name.
func (e *environment) names(prefix string) []string {
	suffixes := []string{"_URL", "_API", "_CA_FILE", "_ON_ERROR", "_PASS_PATHS", "_POLICY_ON_RED", "_CHANGED_TOOLS", "_PASSWORD", "_ROLE"}
	for _, k := range Kinds() {
		suffixes = append(suffixes, "_POLICY_PROMPT_"+upper(k), "_POLICY_GENERATE_"+upper(k))
	}
	// The longest suffix wins: the name is what precedes it.
	slices.SortFunc(suffixes, func(a, b string) int { return len(b) - len(a) })
	found := map[string]bool{}
	for name := range e.vars {
		rest, ok := strings.CutPrefix(name, prefix+"_")
		if !ok {
			continue
		}
		for _, s := range suffixes {
			if up, ok := strings.CutSuffix(rest, s); ok && up != "" {
				found[strings.ToLower(strings.ReplaceAll(up, "_", "-"))] = true
				break
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (e *environment) take(name, path string) (string, bool) {
	v, ok := e.vars[name]
	if ok {
		delete(e.vars, name)
		e.from[path] = name
	}
	return v, ok
}

func (e *environment) setLeaf(f reflect.Value, name, path string) error {
	s, ok := e.take(name, path)
	if !ok {
		return nil
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return &Error{Where: name, Detail: path + " must be true or false"}
		}
		f.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return &Error{Where: name, Detail: path + " must be a whole number"}
		}
		f.SetInt(int64(n))
	default: // a list
		if f.Type().Elem().Kind() != reflect.String {
			return &Error{Where: name, Detail: path + " can be set in a file alone"}
		}
		var list []string
		for x := range strings.SplitSeq(s, ",") {
			if x = strings.TrimSpace(x); x != "" {
				list = append(list, x)
			}
		}
		f.Set(reflect.ValueOf(list))
	}
	return nil
}
