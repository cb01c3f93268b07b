package known

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestDraws(t *testing.T) {
	texts := []*Text{
		Read("Anna Vogel, anna@vogel.example"), Read("The meeting is on 3 May 2031"), Read("at 14:30 in the blue room"),
		Read("Bring the signed contract, the blueprint and both keys"), Read("blue"),
	}
	without := []*Text{Read("Write to Paul about the meeting.")}
	for name, c := range map[string]struct {
		args     string
		needed   []int
		any      [][]int
		computed bool
	}{
		"what the user said": {args: `{"to":"Paul"}`},
		"one text":           {args: `{"to":"anna@vogel.example"}`, needed: []int{0}},
		"one of two":         {args: `{"colour":"blue"}`, any: [][]int{{2, 4}}},
		"a moment":           {args: `{"at":"2031-05-03 14:30"}`, needed: []int{1, 2}},
		"free text":          {args: `{"body":"Please bring the signed contract, the blueprint and both keys."}`, needed: []int{3}},
		"nested":             {args: `{"list":[{"to":"Anna Vogel"}],"on":true,"none":null}`, needed: []int{0}},
		"computed":           {args: `{"amount":17.5,"to":"Anna Vogel"}`, needed: []int{0}, computed: true},
		"composed":           {args: `{"body":"<a summary>"}`, computed: true},
	} {
		var args map[string]any
		d := json.NewDecoder(strings.NewReader(c.args))
		d.UseNumber()
		if err := d.Decode(&args); err != nil {
			t.Fatal(err)
		}
		got := Draws(args, without, texts)
		want := Drawn{Needed: make([]bool, len(texts)), Any: c.any, Computed: c.computed}
		for _, i := range c.needed {
			want.Needed[i] = true
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := AnswerDraws("Anna Vogel", without, texts); !got.Needed[0] || got.Computed {
		t.Errorf("answer: %+v", got)
	}
}
