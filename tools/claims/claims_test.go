package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each sentence of README, SECURITY and docs that claims something of all cases
// names a test that is there. scripts/claims --run runs those tests.
func TestClaims(t *testing.T) {
	claims, tests, problems, err := static(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	if len(claims) < 50 || len(tests) < 50 {
		t.Errorf("%d claims, %d tests: the check is not what it was", len(claims), len(tests))
	}
}

// What is a sentence, and what it claims.
func TestClaimsIn(t *testing.T) {
	const mark = " <!-- test: TestA -->"
	for name, c := range map[string]struct {
		text   string
		claims int
		wrong  string
	}{
		"none":                      {"Margay redacts secrets. It logs them by name.", 0, ""},
		"unmarked":                  {"Margay redacts secrets. It never logs one. It ends.", 0, `after "It never logs one."`},
		"marked":                    {"Margay redacts secrets. It never logs one." + mark + " It ends.", 1, ""},
		"marked too late":           {"It never logs one. It ends." + mark, 1, "It never logs one."},
		"marked too early":          {"It ends." + mark + " It never logs one.", 1, "It never logs one."},
		"the end of a paragraph":    {"It never\nlogs one." + mark + "\n\nNext.", 1, ""},
		"on the next line":          {"It never logs one.\n<!-- test: TestA -->", 1, ""},
		"in the next paragraph":     {"It never logs one.\n\n<!-- test: TestA -->", 0, "follows no sentence"},
		"two marks":                 {"It never logs one." + mark + mark, 1, ""},
		"half a sentence":           {"It never logs one" + mark + ", and always ends.", 1, "and always ends"},
		"emphasis":                  {"**It never logs one.**" + mark + " It ends.", 1, ""},
		"a word in emphasis":        {"It is **always** so.", 0, `"always"`},
		"upper case":                {"ALWAYS so.", 0, `"ALWAYS"`},
		"over lines":                {"It has no\nvalue that was ever seen.", 0, "ever"},
		"ever alone":                {"Did it ever end?", 0, ""},
		"part of a word":            {"Evergreen wholesale nevertheless.", 0, ""},
		"code":                      {"The flag `--whole` and ``never ` here``.", 0, ""},
		"fenced":                    {"```sh\necho always\n```\nIt ends.", 0, ""},
		"after a fence":             {"```sh\necho\n```\nIt always ends.", 0, "It always ends."},
		"a fence in a fence":        {"````md\n```\nalways\n```\n````\nIt ends.", 0, ""},
		"a comment":                 {"It ends. <!--= always -->", 0, ""},
		"an address":                {"It [ends](docs/always.md).", 0, ""},
		"the text of a link":        {"It [always ends](x.md).", 0, "always ends"},
		"an item":                   {"- It always ends\n- It ends" + mark, 1, "It always ends"},
		"a marked item":             {"1. It always ends" + mark + "\n2. It ends", 1, ""},
		"a cell":                    {"| a | b |\n|---|---|\n| always | x" + mark + " |", 1, `"always"`},
		"a marked cell":             {"| always so" + mark + " | x |", 1, ""},
		"a bar in code":             {"| `a | always` | x |", 0, ""},
		"a heading":                 {"## Always so", 0, "Always so"},
		"quoted":                    {"> It always ends.", 0, "It always ends."},
		"an abbreviation":           {"It ends, e.g. always in v1.2, at 0.5 s." + mark, 1, ""},
		"a mark of another form":    {"It ends. <!-- tests: TestA -->", 0, "not a mark"},
		"a mark without a test":     {"It always ends. <!-- test: -->", 0, "not a mark"},
		"a mark with another comma": {"It always ends. <!-- test: TestA,TestB -->", 0, "not a mark"},
	} {
		claims, problems := claimsIn("x.md", c.text)
		if len(claims) != c.claims || (c.wrong == "") != (len(problems) == 0) || !strings.Contains(strings.Join(problems, "\n"), c.wrong) {
			t.Errorf("%s: %+v, %q", name, claims, problems)
		}
	}
	if _, problems := claimsIn("x.md", "One.\n\nIt ends. It\nends. It is\nalways so.\n"); len(problems) != 1 || !strings.HasPrefix(problems[0], "x.md:4:") {
		t.Errorf("at %q", problems)
	}
}

// repository writes a small one.
func repository(t *testing.T, readme string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example.org/m\n\ngo 1.26\n",
		"README.md":            readme,
		"SECURITY.md":          "# Security\n",
		"docs/a.md":            "A.\n",
		"docs/format/a.md":     "A.\n",
		"a/a_test.go":          "package a\n\nimport \"testing\"\n\nfunc TestGood(*testing.T) {}\n\nfunc TestTwice(*testing.T) {}\n\nfunc FuzzGood(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }\n\nfunc TestBad(t *testing.T) { t.Error(\"bad\") }\n",
		"b/b_test.go":          "package b\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestTwice(*testing.T) {}\n\nfunc TestSkips(t *testing.T) { t.Skip(\"no\") }\n\nfunc TestMaySkip(t *testing.T) {\n\tif os.Getenv(\"NONE\") == \"\" {\n\t\tt.Skip(\"no\")\n\t}\n}\n\nfunc TestParts(t *testing.T) {\n\tt.Run(\"good\", func(*testing.T) {})\n\tt.Run(\"none\", func(t *testing.T) { t.Skip(\"no\") })\n}\n",
		"b/tagged_test.go":     "//go:build never\n\npackage b\n\nimport \"testing\"\n\nfunc TestTagged(*testing.T) {}\n",
		"in/go.mod":            "module example.org/in\n\ngo 1.26\n",
		"in/c/c_test.go":       "package c\n\nimport \"testing\"\n\nfunc TestInner(*testing.T) {}\n",
		"b/testdata/d_test.go": "package d\n\nimport \"testing\"\n\nfunc TestData(*testing.T) {}\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A page fails whose sentence has no test, or one that is missing, that always
// skips or that is not built.
func TestHeld(t *testing.T) {
	for mark, wrong := range map[string]string{
		"":                                        "no test is named",
		"<!-- test: TestGood -->":                 "",
		"<!-- test: FuzzGood -->":                 "",
		"<!-- test: TestInner -->":                "",
		"<!-- test: TestMaySkip -->":              "", // a run tells
		"<!-- test: TestParts/good -->":           "",
		"<!-- test: b.TestTwice -->":              "",
		"<!-- test: c.TestInner -->":              "",
		"<!-- test: a.TestTwice, b.TestTwice -->": "",
		"<!-- test: TestGood, TestGone -->":       "no test TestGone",
		"<!-- test: TestTwice -->":                "more than one test TestTwice",
		"<!-- test: b.TestGood -->":               "no test b.TestGood",
		"<!-- test: TestSkips -->":                "always skips",
		"<!-- test: TestTagged -->":               "no test TestTagged",
		"<!-- test: TestData -->":                 "no test TestData",
	} {
		_, _, problems, err := static(repository(t, "It always ends. "+mark+"\n"))
		if err != nil || (wrong == "") != (len(problems) == 0) || !strings.Contains(strings.Join(problems, "\n"), wrong) {
			t.Errorf("%q: %q, %v", mark, problems, err)
		}
	}
	root := repository(t, "")
	if err := os.Remove(filepath.Join(root, "SECURITY.md")); err != nil {
		t.Fatal(err)
	}
	if _, _, problems, err := static(root); err != nil || len(problems) != 1 {
		t.Errorf("without a page: %q, %v", problems, err)
	}
}

// A run fails where a named test does not pass, and where one is skipped and
// claims are required.
func TestRun(t *testing.T) {
	const all = "It always ends. "
	for _, c := range []struct{ mark, require, wrong string }{
		{"<!-- test: TestGood, FuzzGood, TestInner -->", "claims", ""},
		{"<!-- test: TestParts/good -->", "claims", ""},
		{"<!-- test: TestBad -->", "", "1 tests that pages name do not pass"},
		{"<!-- test: TestMaySkip -->", "", ""},
		{"<!-- test: TestMaySkip -->", "data,claims", "1 skip"},
		{"<!-- test: TestParts -->", "claims", "1 skip"},
		{"<!-- test: TestParts/none -->", "claims", "1 skip"},
		{"<!-- test: TestParts/gone -->", "", "1 tests that pages name do not pass"},
		{"<!-- test: TestGone -->", "", "held by no test"},
	} {
		t.Setenv("MARGAY_REQUIRE", c.require)
		err := check(t.Context(), repository(t, all+c.mark+"\n"), true, false, nil, io.Discard)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s with %q: %v", c.mark, c.require, err)
		}
	}
}

// Tests of a module run together; parts of a test alone, unless all of it runs.
func TestGroups(t *testing.T) {
	a, b := place{".", "a"}, place{".", "b"}
	got := groups([]named{{a, "TestX", ""}, {b, "TestY", ""}, {a, "TestX", "s"}, {b, "TestZ", "s"}, {b, "TestZ", "t/u"}})
	want := []group{{".", "^(TestX|TestY)$", []string{"./a", "./b"}}, {".", "^TestZ$/^(s|t)$", []string{"./b"}}}
	if !slices.EqualFunc(got, want, func(a, b group) bool {
		return a.module == b.module && a.pattern == b.pattern && slices.Equal(a.packages, b.packages)
	}) {
		t.Errorf("%+v", got)
	}
}
