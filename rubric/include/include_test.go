package include_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/include"
)

const names = `# People.
version: 1
vocabulary: names
fields:
  given: {population: {uniform: 10}}
  family: {population: {uniform: 20.50}}
coverage:
  - {id: given-path, field: given, path: given}
  - {id: family-path, field: family, path: family}
  - {id: family-text, field: family, text: x}
dependencies:
  - {between: [given@a, family@b], n: 1}
  - {between: [given@a, city@c], n: 2}
samples:
  - {field: given, value: a}
  - {text: both, find: {given: a, family: b}}
  - {text: nothing, find: {}}
`

const places = "version: 1\nvocabulary: places\nfields: {city: {population: {uniform: 30}}}\ncoverage: [{id: city-path, field: city, path: c}]\n"

const most = 1 << 16

func pin(b string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(b))) }

// head includes files, whose hashes are right.
func head(t testing.TB, files map[string]string, items ...string) string {
	t.Helper()
	out := "include:\n"
	for _, item := range items {
		name, more, _ := strings.Cut(item, ",")
		if more != "" {
			more = "," + more
		}
		out += fmt.Sprintf("  - {file: %s, sha256: %s%s}\n", name, pin(files[name]), more)
	}
	return out
}

func files(m map[string]string) include.Open {
	return func(file string) ([]byte, error) {
		b, ok := m[file]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(b), nil
	}
}

func expand(text string, open include.Open) (*yamldoc.Document, error) {
	d, err := yamldoc.Read("r.yaml", []byte(text), most, "a rubric", include.Version)
	if err != nil {
		return nil, err
	}
	return include.Expand(d, most, open)
}

func TestExpand(t *testing.T) {
	all := map[string]string{"names.yaml": names, "places.yaml": places}
	both := head(t, all, "names.yaml", "places.yaml")
	cases := []struct{ name, text, want string }{
		{
			"what no mark places comes first", both + "coverage: [{id: own}]\nsamples: [{text: own, find: {}}]\nother: 1.0\n",
			`{"coverage":[{"field":"given","id":"given-path","path":"given"},{"field":"family","id":"family-path","path":"family"},{"field":"family","id":"family-text","text":"x"},{"field":"city","id":"city-path","path":"c"},{"id":"own"}],` +
				`"dependencies":[{"between":["given@a","family@b"],"n":1},{"between":["given@a","city@c"],"n":2}],` +
				`"fields":{"city":{"population":{"uniform":30}},"family":{"population":{"uniform":20.5}},"given":{"population":{"uniform":10}}},"other":1.0,` +
				`"samples":[{"field":"given","value":"a"},{"find":{"family":"b","given":"a"},"text":"both"},{"find":{},"text":"nothing"},{"find":{},"text":"own"}]}`,
		},
		{
			"marks place, and leave clauses out", both + "coverage: [{id: a}, {include: places}, {id: b}, {include: rest, except: [given-path, family-text]}, {id: c}]\nsamples: [{text: own, find: {}}, {include: names}]\n",
			`{"coverage":[{"id":"a"},{"field":"city","id":"city-path","path":"c"},{"id":"b"},{"field":"family","id":"family-path","path":"family"},{"id":"c"}],` +
				`"dependencies":[{"between":["given@a","family@b"],"n":1},{"between":["given@a","city@c"],"n":2}],` +
				`"fields":{"city":{"population":{"uniform":30}},"family":{"population":{"uniform":20.5}},"given":{"population":{"uniform":10}}},` +
				`"samples":[{"find":{},"text":"own"},{"field":"given","value":"a"},{"find":{"family":"b","given":"a"},"text":"both"},{"find":{},"text":"nothing"}]}`,
		},
		{
			"a table counts as soon as the rubric has its fields, whoever declares them", head(t, all, "names.yaml, fields: [given]") + "fields: {city: {own: 1}}\n",
			`{"coverage":[{"field":"given","id":"given-path","path":"given"}],"dependencies":[{"between":["given@a","city@c"],"n":2}],` +
				`"fields":{"city":{"own":1},"given":{"population":{"uniform":10}}},"samples":[{"field":"given","value":"a"},{"find":{},"text":"nothing"}]}`,
		},
		{"nothing is included", "a: 1\ncoverage: [{include: names}]\n", `{"a":1,"coverage":[{"include":"names"}]}`},
	}
	for _, c := range cases {
		d, err := expand(c.text, files(all))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := plain(t, d.JSON); got != plain(t, []byte(c.want)) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// plain writes numbers alike.
func plain(t *testing.T, b []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestRefusals(t *testing.T) {
	other := strings.Replace(names, "People", "Humans", 1)
	nested := "version: 1\nvocabulary: nested\ninclude: [{file: names.yaml}]\nfields: {a: {}}\n"
	all := map[string]string{
		"names.yaml": names, "places.yaml": places, "more/names.yaml": other, "nested.yaml": nested,
		"new.yaml": "version: 2\nvocabulary: new\nfields: {a: {}}\n", "rest.yaml": "version: 1\nvocabulary: rest\nfields: {a: {}}\n",
		"stray.yaml":   "version: 1\nvocabulary: stray\nfields: {a: {}}\ncoverage:\n  - {id: x, field: a}\n  - {id: y, field: b}\n",
		"release.yaml": "version: 1\nvocabulary: stray\nfields: {a: {}}\nsamples: [{release: {action: x}, applies: true}]\n",
		"rubric.yaml":  "version: 1\nrubric: x\nfields: {a: {}}\n", "bad.yaml": "version: 1\nvocabulary: [\n", "big.yaml": strings.Repeat("# long\n", most/7+1),
		"given.yaml": "version: 1\nvocabulary: given\nfields: {given: {}}\n",
	}
	h := func(items ...string) string { return head(t, all, items...) }
	one := h("names.yaml")
	for _, c := range []struct{ name, text, want string }{
		{"no hash", "include: [{file: names.yaml}]\n", "r.yaml:1:12: include.0: names.yaml: its hash is missing: read the file, then write sha256: " + pin(names)},
		{"another hash", "include:\n  - {file: names.yaml, sha256: " + pin(other) + "}\n", "r.yaml:2:6: include.0: names.yaml: the file is not the one that the rubric pins: read what changed, then write sha256: " + pin(names)},
		{"no file", h("gone.yaml"), "r.yaml:2:6: include.0: gone.yaml: file does not exist"},
		{"up", h("../names.yaml"), "r.yaml:2:6: include.0: ../names.yaml: the name of an included file is a path down"},
		{"around", h("more/../names.yaml"), "is a path down"},
		{"absolute", h("/names.yaml"), "is a path down"},
		{"drive", "include: [{file: 'C:names.yaml'}]\n", "is a path down"},
		{"backslash", `include: [{file: 'more\names.yaml'}]`, "is a path down"},
		{"folder", "include: [{file: .}]\n", "is a path down"},
		{"empty", "include: []\n", "r.yaml:1:10: include: minItems"},
		{"unknown key", "include: [{file: names.yaml, hash: x}]\n", "r.yaml:1:36: include.0.hash: unknown key; known keys are fields, file, sha256"},
		{"short hash", "include: [{file: names.yaml, sha256: abc}]\n", "include.0.sha256: pattern"},
		{"includes in includes", h("nested.yaml"), "nested.yaml:3:10: include: a vocabulary includes nothing itself"},
		{"another version", h("new.yaml"), "new.yaml:1:10: version: the format version is unknown: it is 2"},
		{"a rubric", h("rubric.yaml"), `rubric.yaml:2:9: rubric: unknown key; known keys are coverage, dependencies, fields, samples, version, vocabulary`},
		{"no YAML", h("bad.yaml"), "bad.yaml:2:13: "},
		{"reserved name", h("rest.yaml"), "rest.yaml:2:13: vocabulary: rest is reserved: give the vocabulary another name"},
		{"clause of no field", h("stray.yaml"), `stray.yaml:6:20: coverage.1.field: the vocabulary declares no field "b"`},
		{"sample of a release", h("release.yaml"), "release.yaml:4:12: samples.0: "},
		{"too large together", h("big.yaml"), "include.0: big.yaml: the rubric and what it includes are too large together"},
		{"twice", h("names.yaml", "more/names.yaml"), "r.yaml:3:6: include.1: more/names.yaml: the vocabulary names is included twice"},
		{"unknown field", h("names.yaml, fields: [nickname]"), `include.0: names.yaml: it has no field "nickname"`},
		{"field twice", h("names.yaml", "given.yaml"), "given.yaml declares the field given, and so does something else"},
		{"own field too", one + "fields: {given: {}}\n", "names.yaml declares the field given, and so does something else"},
		{"unknown mark", one + "coverage: [{include: places}]\n", `r.yaml:3:13: coverage.0: no vocabulary "places" is included`},
		{"placed twice", one + "coverage: [{include: names}, {include: names}]\n", "coverage.1: names is placed twice"},
		{"rest twice", one + "samples: [{include: rest}, {include: rest}]\n", "samples.1: rest is placed twice"},
		{"except what is not there", one + "coverage: [{include: names, except: [gone]}]\n", `r.yaml:3:37: coverage.0.except: there is no clause "gone" to leave out`},
		{"except nothing", one + "coverage: [{include: names, except: []}]\n", "what is included is written {include: NAME}"},
		{"except of samples", one + "samples: [{include: names, except: [a]}]\n", "what is included is written {include: NAME}"},
		{"more keys", one + "coverage: [{include: names, field: given}]\n", "what is included is written {include: NAME}"},
		{"no name", one + "coverage: [{include: 5}]\n", "what is included is written {include: NAME}"},
	} {
		_, err := expand(c.text, files(all))
		var e *yamldoc.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := expand(one, nil); err == nil || !strings.Contains(err.Error(), "can't be included here") {
		t.Errorf("without files: %v", err)
	}
}

// A mistake in a vocabulary has its position there, and one in the rubric the
// position that it would have alone.
func TestPositions(t *testing.T) {
	all := map[string]string{"names.yaml": names}
	text := head(t, all, "names.yaml") + "fields:\n  own: {}\ncoverage:\n  - {id: a}\n  - {include: rest}\n  - {id: b,\n     field: own}\n"
	d, err := expand(text, files(all))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, want string }{
		{"coverage 0 id", "r.yaml:6:10"},
		{"coverage 2 path", "names.yaml:9:44"},
		{"coverage 4 field", "r.yaml:9:13"},
		{"fields family population", "names.yaml:6:25"},
		{"fields own", "r.yaml:4:8"},
		{"samples 1 find given", "names.yaml:16:32"},
		{"coverage", "r.yaml:6:3"},
	} {
		at := strings.Fields(c.at)
		file, line, column := d.At(at...)
		if got := fmt.Sprintf("%s:%d:%d", file, line, column); got != c.want {
			t.Errorf("%s is at %s, want %s", c.at, got, c.want)
		}
	}
	var e *yamldoc.Error
	if err := d.Place(yamldoc.Where(errors.New("x"), "coverage", "3", "text")); !errors.As(err, &e) || err.Error() != "names.yaml:10:44: coverage.2.text: x" {
		t.Errorf("%v", err)
	}
}

func FuzzExpand(f *testing.F) {
	all := map[string]string{"a.yaml": names, "b.yaml": places}
	f.Add(head(f, all, "a.yaml", "b.yaml")+"coverage: [{include: names, except: [given-path]}, {include: rest}]\n", names, places)
	f.Add(head(f, all, "a.yaml, fields: [given]"), names, places)
	f.Fuzz(func(t *testing.T, text, a, b string) {
		m := map[string]string{"a.yaml": a, "b.yaml": b}
		// The hashes are made right, so that what stands behind them is reached.
		text = strings.NewReplacer(pin(names), pin(a), pin(places), pin(b)).Replace(text)
		one, err := expand(text, files(m))
		if err != nil {
			var e *yamldoc.Error
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if !json.Valid(one.JSON) {
			t.Fatalf("no JSON: %s", one.JSON)
		}
		two, err := expand(text, files(m))
		if err != nil || !bytes.Equal(one.JSON, two.JSON) {
			t.Fatalf("%v: it differs the second time:\n%s\n%s", err, one.JSON, two.JSON)
		}
		if _, err := include.Expand(yamldoc.FromJSON("again", one.JSON), most, nil); err == nil && bytes.Contains(one.JSON, []byte(`"include":[{"file"`)) {
			t.Fatal("something is still to be included")
		}
	})
}
