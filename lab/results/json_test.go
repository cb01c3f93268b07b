package results

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// Every row is a line, and what is written reads back, indented or not.
func TestJSON(t *testing.T) {
	for _, r := range []Result{
		{Suite: "x", Seed: 3, N: 5, Source: `a "rows":null <source>`, Models: map[string]string{"m": "h"}},
		{
			Suite: "y", Notes: []string{"one & two", "three"},
			Rows: []Row{{Defence: "a", Slice: "all", Metrics: map[string]float64{"f1": 0.25}, CI: map[string][2]float64{"f1": {0, 1}}}, {Defence: "b", Slice: "all", Metrics: map[string]float64{}}},
		},
	} {
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		indented, err := json.MarshalIndent(&r, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows == nil {
			r.Rows = []Row{}
		}
		for _, text := range [][]byte{b.Bytes(), indented} {
			var got Result
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got.Rows == nil {
				got.Rows = []Row{}
			}
			if !reflect.DeepEqual(got, r) {
				t.Errorf("%+v became %+v", r, got)
			}
		}
		lines := 2 + len(r.Rows)
		if len(r.Notes) > 0 {
			lines += 1 + len(r.Notes)
		}
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != lines {
			t.Errorf("%d lines:\n%s", n, b.Bytes())
		}
	}
}
