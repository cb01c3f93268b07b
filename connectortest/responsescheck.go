package connectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

type responsesObject struct {
	ID, Object, Status string
	Output             []map[string]any
	Incomplete         *struct{ Reason string } `json:"incomplete_details"`
}

// responsesCheck reads an answer strictly.
func responsesCheck(stream, partial bool, raw []byte) error {
	if stream {
		return responsesCheckStream(partial, raw)
	}
	var any struct {
		Object string
		Error  *struct{ Message string }
	}
	if err := strict(raw, &any); err != nil {
		return err
	}
	if any.Error != nil || any.Object == "response.input_tokens" {
		return nil
	}
	var r responsesObject
	if err := strict(raw, &r); err != nil {
		return err
	}
	return r.check(partial)
}

func (r *responsesObject) check(partial bool) error {
	if r.ID == "" || r.Object != "response" || r.Output == nil {
		return errors.New("no response")
	}
	if partial != (r.Status == "incomplete") || partial && (r.Incomplete == nil || r.Incomplete.Reason != "content_filter") {
		return fmt.Errorf("its status is %q", r.Status)
	}
	for i, it := range r.Output {
		if it["type"] == nil || it["id"] == nil {
			return fmt.Errorf("item %d has no type or no id", i)
		}
		if it["type"] == "function_call" {
			if args, ok := it["arguments"].(string); !ok || !json.Valid([]byte(args)) || it["call_id"] == nil || it["name"] == nil {
				return fmt.Errorf("item %d is not a call", i)
			}
		}
	}
	return nil
}

// responsesReader reads a stream: events are numbered, items and parts begin
// and end in their order, and what is sent several times is the same each time.
type responsesReader struct {
	next    int
	begun   bool
	over    string
	items   []map[string]any // as they ended; nil while they are open
	open    map[int]bool
	pieces  map[string]*strings.Builder
	partial bool
}

type responsesEvent struct {
	Type     string
	Number   *int `json:"sequence_number"`
	Index    *int `json:"output_index"`
	Content  *int `json:"content_index"`
	Summary  *int `json:"summary_index"`
	Item     map[string]any
	Part     map[string]any
	Delta    *string
	Response *responsesObject
	ItemID   string `json:"item_id"`
}

func responsesCheckStream(partial bool, raw []byte) error {
	evs, err := sseStream(raw)
	if err != nil {
		return err
	}
	r := responsesReader{open: map[int]bool{}, pieces: map[string]*strings.Builder{}, partial: partial}
	for i, e := range evs {
		if e.comment {
			continue
		}
		if err := r.event(e); err != nil {
			return fmt.Errorf("event %d, %s: %w", i, e.typ, err)
		}
	}
	if r.over == "" {
		return errors.New("the stream has no end")
	}
	if !partial && r.over != "response.completed" {
		return errors.New("the stream ends with " + r.over)
	}
	return nil
}

func (r *responsesReader) event(e event) error {
	var d responsesEvent
	var all map[string]any
	if err := strict([]byte(e.data), &d); err != nil {
		return err
	}
	if err := strict([]byte(e.data), &all); err != nil {
		return err
	}
	switch {
	case d.Type != e.typ:
		return fmt.Errorf("its data is of type %q", d.Type)
	case d.Number == nil || *d.Number != r.next:
		return fmt.Errorf("its number is not %d", r.next)
	case r.over != "":
		return errors.New("it comes behind the end")
	case !r.begun && d.Type != "response.created" && d.Type != "error":
		return errors.New("it comes before response.created")
	}
	r.begun = true
	r.next++
	switch d.Type {
	case "response.created", "response.in_progress":
		if d.Response == nil || d.Response.Status != "in_progress" {
			return errors.New("no response in progress")
		}
		return nil
	case "response.completed", "response.incomplete", "response.failed":
		r.over = d.Type
		return r.end(&d)
	case "error":
		r.over = "error"
		if all["message"] == nil || all["code"] == nil {
			return errors.New("no message or no code")
		}
		return nil
	}
	return r.item(&d, all)
}

func (r *responsesReader) item(d *responsesEvent, all map[string]any) error {
	if d.Index == nil {
		return errors.New("no output_index")
	}
	n := *d.Index
	if d.Type == "response.output_item.added" {
		if n != len(r.items) || d.Item["id"] == nil {
			return errors.New("the item does not begin in its order")
		}
		r.items, r.open[n] = append(r.items, nil), true
		return nil
	}
	if !r.open[n] {
		return errors.New("the item is not open")
	}
	key := fmt.Sprint(n, num(d.Content), num(d.Summary))
	switch {
	case d.Type == "response.output_item.done":
		r.items[n], r.open[n] = d.Item, false
		for k, b := range r.pieces {
			if strings.HasPrefix(k, fmt.Sprint(n, " ")) && !holds(d.Item, b.String()) {
				return errors.New("the item has another text than its pieces")
			}
		}
	case strings.HasSuffix(d.Type, "_part.done"):
		if b := r.pieces[key]; b != nil && !holds(d.Part, b.String()) {
			return errors.New("the part has another text than its pieces")
		}
	case strings.HasSuffix(d.Type, ".delta"):
		if d.Delta == nil || d.ItemID == "" {
			return errors.New("no delta or no item_id")
		}
		b := r.pieces[key]
		if b == nil {
			b = &strings.Builder{}
			r.pieces[key] = b
		}
		b.WriteString(*d.Delta)
	case strings.HasSuffix(d.Type, ".done"):
		if b := r.pieces[key]; b != nil && !holds(all, b.String()) {
			return errors.New("it has another text than its pieces")
		}
	}
	return nil
}

// end judges the response that ends a stream: it has the items as they were
// told.
func (r *responsesReader) end(d *responsesEvent) error {
	if d.Response == nil {
		return errors.New("no response")
	}
	if d.Type == "response.failed" {
		return nil
	}
	if err := d.Response.check(d.Type == "response.incomplete"); err != nil {
		return err
	}
	for i, it := range r.items {
		if it == nil && d.Type == "response.completed" {
			return fmt.Errorf("item %d has not ended", i)
		}
		if it != nil && (i >= len(d.Response.Output) || !reflect.DeepEqual(it, d.Response.Output[i])) {
			return fmt.Errorf("item %d differs from what the stream sent", i)
		}
	}
	if d.Type == "response.completed" && len(d.Response.Output) != len(r.items) {
		return fmt.Errorf("%d items of %d", len(d.Response.Output), len(r.items))
	}
	return nil
}

func num(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// holds reports whether a value contains a string anywhere.
func holds(v any, s string) bool {
	switch v := v.(type) {
	case string:
		return v == s
	case []any:
		for _, c := range v {
			if holds(c, s) {
				return true
			}
		}
	case map[string]any:
		for _, c := range v {
			if holds(c, s) {
				return true
			}
		}
	}
	return false
}
