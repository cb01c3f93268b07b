package results

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const document = `{"suite":"s","seed":1,"n":2,"rows":[
{"defence":"one","slice":"all","metrics":{"f1":0.5,"p":1},"ci":{"f1":[0.4,0.6]}},
{"defence":"two","slice":"all","metrics":{"f1":0.9}},
{"defence":"one","slice":"hard","metrics":{"f1":0.1}}]}`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Two files are compared: what lies outside the interval is apart.
func TestRead(t *testing.T) {
	dir := folder(t, map[string]string{"a.json": document, "b.json": strings.Replace(document, `"f1":0.5`, `"f1":0.7`, 1), "notes.txt": "x", "UP.json": document})
	got, err := Read(dir, "a", "b", "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(got.Names, " ") != "a b" || got.Slice != "all" || strings.Join(got.Slices, " ") != "all hard" || len(got.Tables) != 1 || len(got.Tables[0].Rows) != 2 {
		t.Fatalf("%+v", got)
	}
	row := got.Tables[0].Rows[0]
	if f1 := row.Cells[0]; *f1.Value != 0.5 || *f1.Other != 0.7 || !f1.Apart || f1.Interval[1] != 0.6 {
		t.Errorf("f1 is %+v", f1)
	}
	if p := row.Cells[1]; *p.Value != 1 || p.Apart || got.Tables[0].Rows[1].Cells[1].Value != nil {
		t.Errorf("p is %+v", p)
	}
	if got, err = Read(dir, "a", "", "hard"); err != nil || got.Slice != "hard" || len(got.Tables[0].Rows) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = Read("", "", "", ""); err != nil || len(got.Names) != 0 {
		t.Errorf("without a folder: %+v, %v", got, err)
	}
}

// What is no result of the folder is none, whatever its name.
func TestReadBadInput(t *testing.T) {
	dir := folder(t, map[string]string{"a.json": document, "half.json": `{"suite":`, "none.json": `{}`})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.json"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder, a, b string
		want         error
	}{
		{dir, "c", "", ErrUnknown},
		{dir, "../outside", "", ErrUnknown},
		{dir, "..", "", ErrUnknown},
		{dir, "a.json", "", ErrUnknown},
		{dir, strings.Repeat("a", 65), "", ErrUnknown},
		{dir, "A", "", ErrUnknown},
		{"", "a", "", ErrUnknown},
		{dir, "a", "c", ErrUnknown},
		{dir, "", "a", ErrAlone},
		{filepath.Join(dir, "gone"), "", "", ErrFolder},
		{dir, "half", "", ErrBroken},
		{dir, "none", "", ErrBroken},
	} {
		if _, err := Read(c.folder, c.a, c.b, ""); !errors.Is(err, c.want) {
			t.Errorf("%q, %q: %v, want %v", c.a, c.b, err, c.want)
		}
	}
}

// A plot is well-formed, and names in it are text.
func TestDots(t *testing.T) {
	half, more := 0.5, 0.9
	table := BenchTable{Metrics: []string{"f1<script>"}, Rows: []BenchRow{
		{Defence: "<img src=x onerror=alert(1)>\u202e", Cells: []BenchCell{{Value: &half, Interval: &[2]float64{0.4, 0.6}, Other: &more}}},
		{Defence: `"two" & 'three'`, Cells: []BenchCell{{Value: &more}}},
	}}
	out := string(Dots(table, 0))
	for d := xml.NewDecoder(strings.NewReader(out)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if e, ok := tok.(xml.StartElement); ok && !strings.Contains("svg line text circle", e.Name.Local) {
			t.Errorf("the plot has %s", e.Name.Local)
		}
	}
	if strings.Count(out, `class="a"`) != 2 || strings.Count(out, `class="b"`) != 1 || strings.Count(out, `class="ci"`) != 1 || strings.Contains(out, "\u202e") {
		t.Error(out)
	}
	if Dots(BenchTable{Metrics: []string{"f1"}, Rows: table.Rows[1:]}, 0) != "" {
		t.Error("one dot is no plot")
	}
}
