// Package mcp reads and edits the JSON-RPC messages of the Model Context
// Protocol, of its generations up to 2025-11-25 and from 2026-07-28 on.
//
// Every string of a message is text unless the protocol gives it another
// meaning, so methods and fields that this package has not heard of are looked
// at, too. Edits are surgical: they replace string literals, or JSON values
// whole, and leave every other byte alone. The package does no input or output
// besides reading lines, and holds no policy.
package mcp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
)

// Limits bound a message.
type Limits = strictjson.Limits

// Kind is what a message is.
type Kind uint8

// Kinds.
const (
	Request Kind = iota
	Notification
	Response // a result
	Failure  // an error
)

// maxID bounds the bytes of an id.
const maxID = 256

// ID is a request's id as JSON. Equal ids are equal strings; empty means none.
type ID string

// NullID is the id in an answer to what can't be told.
const NullID ID = "null"

// Error says why bytes are no message.
type Error struct {
	// Code is JSON-RPC's: CodeParse or CodeInvalid.
	Code   int
	Reason string // stable, kebab-case: "syntax", "duplicate-key", "batch", …
	Detail string // one line for a person; it quotes nothing
}

func (e *Error) Error() string { return e.Detail }

// Message is one message. It is valid until its Parser parses the next one,
// and not safe for concurrent use.
type Message struct {
	Kind   Kind
	ID     ID     // of a Request, or of what a Response or Failure answers
	Method string // of a Request or Notification

	doc  strictjson.Doc
	lim  Limits
	body int // the node of params, result or error; -1 for none

	// Of Parts.
	parts  []Part
	node   []int // by part: its node
	names  []string
	states []string
	done   bool
}

// Parser parses messages one after the other in the same memory. The zero
// Parser is ready; it is not safe for concurrent use.
type Parser struct {
	Limits Limits
	m      Message
	again  strictjson.Doc
}

// Parse reads one message. raw must not change while the message is used.
// Errors are of type *Error.
func (p *Parser) Parse(raw []byte) (*Message, error) {
	m := &p.m
	*m = Message{doc: m.doc, lim: p.Limits, parts: m.parts[:0], node: m.node[:0], body: -1}
	if err := m.doc.Parse(raw, p.Limits); err != nil {
		var se *strictjson.Error
		if !errors.As(err, &se) {
			return nil, &Error{CodeParse, "syntax", err.Error()}
		}
		code := CodeInvalid
		if se.Code == strictjson.Syntax || se.Code == strictjson.InvalidUTF8 {
			code = CodeParse
		}
		return nil, &Error{code, string(se.Code), "the message is not strict JSON: " + se.Error()}
	}
	return m, m.envelope()
}

func invalid(reason, format string, args ...any) error {
	return &Error{CodeInvalid, reason, fmt.Sprintf(format, args...)}
}

// envelope reads what makes the document a JSON-RPC message.
func (m *Message) envelope() error {
	d := &m.doc
	switch d.Nodes[0].Kind {
	case strictjson.Object:
	case strictjson.Array:
		return invalid("batch", "batches of messages are not part of the protocol")
	default:
		return invalid("envelope", "a message is an object")
	}
	var method, id, result, failure, params int
	version := false
	d.Children(0, func(c int) bool {
		switch {
		case d.KeyIs(c, "jsonrpc"):
			version = d.Text(c) == "2.0"
		case d.KeyIs(c, "method"):
			method = c
		case d.KeyIs(c, "id"):
			id = c
		case d.KeyIs(c, "params"):
			params = c
		case d.KeyIs(c, "result"):
			result = c
		case d.KeyIs(c, "error"):
			failure = c
		}
		return true
	})
	if !version {
		return invalid("envelope", "the member jsonrpc is not 2.0")
	}
	if id > 0 {
		var ok bool
		if m.ID, ok = idOf(d, id); !ok {
			return invalid("id", "an id is a string of at most %d bytes or a whole number", maxID)
		}
	}
	switch {
	case method > 0:
		if result > 0 || failure > 0 {
			return invalid("envelope", "a message with a method has no result or error")
		}
		if d.Nodes[method].Kind != strictjson.String {
			return invalid("envelope", "the method is no string")
		}
		if params > 0 && d.Nodes[params].Kind != strictjson.Object && d.Nodes[params].Kind != strictjson.Array {
			return invalid("envelope", "params are an object")
		}
		m.Method, m.Kind = d.Text(method), Notification
		if params > 0 {
			m.body = params
		}
		if id > 0 {
			m.Kind = Request
		}
		if m.ID == NullID {
			return invalid("id", "a request's id is not null")
		}
	case id == 0:
		return invalid("envelope", "a message has a method or an id")
	case params > 0:
		return invalid("envelope", "an answer has no params")
	case (result > 0) == (failure > 0):
		return invalid("envelope", "an answer has either a result or an error")
	case result > 0:
		if m.ID == NullID {
			return invalid("id", "a result's id is not null")
		}
		m.Kind, m.body = Response, result
	default:
		m.Kind, m.body = Failure, failure
	}
	return nil
}

// idOf reads an id. Numbers are whole, so that equal ones are written alike.
func idOf(d *strictjson.Doc, n int) (ID, bool) {
	raw := d.Value(n)
	switch d.Nodes[n].Kind {
	case strictjson.Null:
		return NullID, true
	case strictjson.String:
		text := d.Bytes(n)
		return ID(strictjson.AppendQuote(nil, text)), len(text) <= maxID
	case strictjson.Number:
		for i, c := range raw {
			if (c < '0' || c > '9') && (i > 0 || c != '-') {
				return "", false
			}
		}
		return ID(raw), len(raw) <= maxID && string(raw) != "-0"
	default:
		return "", false
	}
}

// Raw returns the message as it came.
func (m *Message) Raw() []byte { return m.doc.Raw }

// param returns the node of a member of params, result or error; -1 for none.
func (m *Message) param(key string) int {
	if m.body < 0 {
		return -1
	}
	return m.doc.Find(m.body, key)
}

// Target returns what a request is about: the tool's or prompt's name, or the
// resource's URI; empty for others.
func (m *Message) Target() string {
	switch m.Method {
	case "tools/call", "prompts/get":
		return m.doc.Text(m.param("name"))
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return m.doc.Text(m.param("uri"))
	}
	return ""
}

// Typed reports whether a request expects results that say what they are: the
// generation from 2026-07-28 on names its version in every request.
func (m *Message) Typed() bool {
	return m.doc.Find(m.param("_meta"), "io.modelcontextprotocol/protocolVersion") >= 0
}

// Cancels returns the id of the request that a notification cancels.
func (m *Message) Cancels() (ID, bool) {
	if m.Kind != Notification || m.Method != "notifications/cancelled" {
		return "", false
	}
	n := m.param("requestId")
	if n < 0 {
		return "", false
	}
	return idOf(&m.doc, n)
}

// HeaderText returns the text of a header that repeats a part of a message: as
// it is, or wrapped as =?base64?…?=.
func HeaderText(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	inner, ok = strings.CutSuffix(inner, "?=")
	if !ok {
		return value, true
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}

// Holds reports whether a string or another scalar of the message is exactly
// this text.
func (m *Message) Holds(text string) bool {
	return slices.ContainsFunc(m.doc.Nodes, func(n strictjson.Node) bool {
		raw := m.doc.Raw[n.Start:n.End]
		switch n.Kind {
		case strictjson.String:
			if !n.Escaped {
				return string(raw[1:len(raw)-1]) == text
			}
			return string(strictjson.AppendUnescaped(nil, raw[1:len(raw)-1])) == text
		case strictjson.Number, strictjson.True, strictjson.False:
			return string(raw) == text
		default:
			return false
		}
	})
}
