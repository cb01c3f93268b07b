package connectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// strict reads one JSON document and nothing behind it.
func strict(raw []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the document has a trailer")
	}
	return nil
}

// event is an event of a stream as its fields say.
type event struct {
	typ, data string
	comment   bool // nothing but comments
}

// sseStream reads a stream of server-sent events by the letter: fields that
// exist, an empty line behind each event, the last included.
func sseStream(raw []byte) (out []event, err error) {
	for i, f := range events(raw) {
		s := strings.ReplaceAll(string(f), "\r\n", "\n")
		if !strings.HasSuffix(s, "\n\n") && s != "\n" {
			return nil, fmt.Errorf("event %d has no end", i)
		}
		e := event{comment: true}
		var data []string
		for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "":
				continue
			case "event":
				e.typ = value
			case "data":
				data = append(data, value)
			case "id", "retry":
			default:
				return nil, fmt.Errorf("event %d has the field %q", i, name)
			}
			e.comment = false
		}
		e.data = strings.Join(data, "\n")
		out = append(out, e)
	}
	return out, nil
}

type chatCall struct {
	Index    *int
	ID, Type string
	Function *struct{ Name, Arguments string }
	Custom   *struct{ Name, Input string }
}

type chatMessage struct {
	Role         string
	Content      json.RawMessage
	ToolCalls    []chatCall `json:"tool_calls"`
	FunctionCall *struct {
		Name, Arguments string
	} `json:"function_call"`
}

type chatDocument struct {
	ID, Object string
	Choices    []struct {
		Index          *int
		Delta, Message *chatMessage
		Text           *string
		Finish         *string `json:"finish_reason"`
	}
	Error *struct{ Message, Type, Code *string }
}

var chatFinishes = map[string]bool{"stop": true, "length": true, "tool_calls": true, "content_filter": true, "function_call": true}

// chatCheck reads an answer strictly.
func chatCheck(stream, partial bool, raw []byte) error {
	if stream {
		return chatCheckStream(partial, raw)
	}
	var d chatDocument
	if err := strict(raw, &d); err != nil {
		return err
	}
	if d.Error != nil {
		return nil
	}
	if len(d.Choices) == 0 {
		return errors.New("no choices")
	}
	for i, c := range d.Choices {
		if c.Index == nil || *c.Index != i || c.Finish == nil || !chatFinishes[*c.Finish] || (c.Message == nil) == (c.Text == nil) {
			return fmt.Errorf("choice %d is not one", i)
		}
		if c.Message == nil {
			continue
		}
		if (*c.Finish == "tool_calls") != (len(c.Message.ToolCalls) > 0) || (*c.Finish == "function_call") != (c.Message.FunctionCall != nil) {
			return fmt.Errorf("choice %d finishes with %s", i, *c.Finish)
		}
		for k, t := range c.Message.ToolCalls {
			if t.ID == "" || (t.Function == nil) == (t.Custom == nil) {
				return fmt.Errorf("tool call %d is none", k)
			}
			if t.Function != nil && !json.Valid([]byte(t.Function.Arguments)) {
				return fmt.Errorf("the arguments of tool call %d are not JSON", k)
			}
		}
	}
	return nil
}

// chatChoice is what is known of a choice of a stream.
type chatChoice struct {
	finished bool
	legacy   bool
	calls    []*strings.Builder // arguments of functions; nil for custom tools
}

func chatCheckStream(partial bool, raw []byte) error {
	evs, err := sseStream(raw)
	if err != nil {
		return err
	}
	choices := map[int]*chatChoice{}
	done, failed := false, false
	for i, ev := range evs {
		if ev.comment {
			continue
		}
		if done || failed {
			return fmt.Errorf("event %d comes behind the end", i)
		}
		if ev.data == "[DONE]" {
			done = true
			continue
		}
		var d chatDocument
		if err := strict([]byte(ev.data), &d); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if d.Error != nil {
			failed = true
			continue
		}
		if d.ID == "" || d.Object == "" || d.Choices == nil {
			return fmt.Errorf("event %d is not a chunk", i)
		}
		if err := chatChunk(&d, choices); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	if failed {
		if !partial {
			return errors.New("the stream ended with an error")
		}
		return nil
	}
	if !done {
		return errors.New("no [DONE]")
	}
	for n, c := range choices {
		if !c.finished {
			return fmt.Errorf("choice %d has not finished", n)
		}
	}
	return nil
}

func chatChunk(d *chatDocument, choices map[int]*chatChoice) error {
	for _, c := range d.Choices {
		if c.Index == nil || (c.Delta == nil) == (c.Text == nil) {
			return errors.New("a choice without its index or its delta")
		}
		n := *c.Index
		s := choices[n]
		if s == nil {
			s = &chatChoice{}
			choices[n] = s
		}
		if s.finished {
			return fmt.Errorf("choice %d goes on behind its end", n)
		}
		if c.Delta != nil {
			s.legacy = s.legacy || c.Delta.FunctionCall != nil
			for _, t := range c.Delta.ToolCalls {
				if err := s.call(t); err != nil {
					return fmt.Errorf("choice %d: %w", n, err)
				}
			}
		}
		if c.Finish == nil {
			continue
		}
		s.finished = true
		if !chatFinishes[*c.Finish] || *c.Finish != "content_filter" && ((*c.Finish == "tool_calls") != (len(s.calls) > 0) || (*c.Finish == "function_call") != s.legacy) {
			return fmt.Errorf("choice %d finishes with %s after %d calls", n, *c.Finish, len(s.calls))
		}
		for k, args := range s.calls {
			if args != nil && !json.Valid([]byte(args.String())) && *c.Finish != "content_filter" {
				return fmt.Errorf("choice %d: the arguments of tool call %d are not JSON", n, k)
			}
		}
	}
	return nil
}

// call takes a piece of a tool call: calls are numbered as they begin, and
// begin with their identifier and name.
func (s *chatChoice) call(t chatCall) error {
	if t.Index == nil || *t.Index < 0 || *t.Index > len(s.calls) {
		return errors.New("a tool call out of its order")
	}
	if *t.Index == len(s.calls) {
		if t.ID == "" || t.Function == nil && t.Custom == nil || t.Function != nil && t.Function.Name == "" || t.Custom != nil && t.Custom.Name == "" {
			return errors.New("a tool call begins without its identifier or its name")
		}
		s.calls = append(s.calls, nil)
		if t.Function != nil {
			s.calls[*t.Index] = &strings.Builder{}
		}
	}
	if args := s.calls[*t.Index]; args != nil && t.Function != nil {
		args.WriteString(t.Function.Arguments)
	}
	return nil
}
