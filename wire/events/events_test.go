package events

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

var vocabulary = body.Table{Lists: map[string]string{"typed": "type", "words": "piece", "ids": "id", "keys": "type pad text number"}, IsID: func(raw []byte) bool { return body.IsName(raw, 8) }}.New()

// read reads an event of an API that has one text, a number and padding.
func read(r *Reader, data []byte, recall bool) (*wire.Chunk, error) {
	if recall {
		if c, _ := r.Recall(nil, data); c != nil {
			return c, nil
		}
	}
	r.Start()
	if err := r.Read(data, vocabulary); err != nil {
		return nil, err
	}
	for i := range r.Doc.All(0) {
		n := &r.Doc.Nodes[i]
		switch {
		case r.Doc.KeyIs(i, "text"):
			r.Add(i, flow.StreamKey{Field: flow.FieldContent})
		case r.Doc.KeyIs(i, "pad") && n.Kind == strictjson.String:
			r.Padding(i)
		case r.Doc.KeyIs(i, "number") && n.Kind == strictjson.Number:
			r.Number = i
			if v, ok := r.Doc.Int(i); ok {
				r.Seq = v
			}
		default:
			r.Strings(i, false, func(int) flow.StreamKey { return flow.StreamKey{Choice: -1} })
		}
	}
	r.Keys()
	r.Learn(nil, data, false)
	return &r.Chunk, nil
}

// What is recalled of an event is what a parse of it gives.
func TestTemplates(t *testing.T) {
	heads := []string{`{"type":"piece","number":7,"text":"`, `{"number":7,"text":"`, `{"pad":"x","id":"a","text":"`, `{"other":"`, `{"some key":1,"text":"`}
	tails := []string{`"}`, `","pad":"abc"}`, `","pad":"q\u0071"}`, `","pad":7}`, `","other":"y"}`, `"`, `","text2":{}}`}
	texts := []string{"", "a", "word ", `q\"uote`, `\u00e9`, "\xff", "\x01", `\`, `","number":8,"pad":"`, `\ud83d`, "☕", "piece"}
	var r Reader
	r.Limits = wire.Limits{MaxBytes: 200}
	rng := rand.New(rand.NewPCG(1, 2))
	hits := 0
	head, tail := heads[0], tails[0]
	for i := range 40000 {
		if rng.IntN(4) == 0 {
			head, tail = heads[rng.IntN(len(heads))], tails[rng.IntN(len(tails))]
		}
		data := []byte(head + texts[rng.IntN(len(texts))] + tail)
		fresh := Reader{Limits: r.Limits, Once: true}
		want, wantErr := read(&fresh, data, false)
		if c, _ := r.Recall(nil, data); c != nil {
			hits++
		}
		got, err := read(&r, data, true)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("event %d: %v, alone %v", i, err, wantErr)
		}
		if err != nil {
			continue
		}
		a, b := *got, *want
		a.Names, b.Names = nil, nil
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) || r.Seq != fresh.Seq {
			t.Fatalf("event %d is read in another way than alone: %s\n%+v\n%+v", i, data, a, b)
		}
	}
	if hits < 1000 {
		t.Errorf("only %d events were recalled", hits)
	}
	r.Reset(wire.Limits{}, false)
	if c, _ := r.Recall(nil, []byte(heads[0]+tails[0])); c != nil {
		t.Error("a template was not forgotten")
	}
}

// An edit that can't be made is an error, and any other is made.
func TestTexts(t *testing.T) {
	for name, c := range map[string]struct {
		edits map[int][]byte
		want  error
	}{
		"a string":  {map[int][]byte{0: []byte(`x"`)}, nil},
		"a value":   {map[int][]byte{1: []byte(`[2]`)}, nil},
		"a text":    {map[int][]byte{1: []byte(`"b"`)}, ErrValue},
		"no value":  {map[int][]byte{1: []byte(`[2`)}, ErrValue},
		"fixed":     {map[int][]byte{2: []byte("x")}, ErrFixed},
		"a mark":    {map[int][]byte{3: []byte("x")}, ErrPlace},
		"a key":     {map[int][]byte{4: []byte("x")}, ErrKey},
		"past them": {map[int][]byte{5: []byte("x")}, ErrPlace},
	} {
		var r Reader
		r.Start()
		if err := r.Read([]byte(`{"text":"a","id":[1],"type":"b","some key":1}`), vocabulary); err != nil {
			t.Fatal(err)
		}
		r.Add(1, flow.StreamKey{})
		r.Add(2, flow.StreamKey{})
		r.Add(4, flow.StreamKey{}).Fixed = true
		r.Mark(flow.StreamKey{})
		r.Keys()
		e := r.Editor()
		beside := 0
		if err := r.Texts(e, c.edits, func(int) { beside++ }); !errors.Is(err, c.want) || err == nil && beside != 1 {
			t.Errorf("%s: %v, called %d times", name, err, beside)
		}
		if c.want == nil && string(e.Bytes()) == string(r.Doc.Raw) {
			t.Errorf("%s: nothing changed", name)
		}
	}
}
