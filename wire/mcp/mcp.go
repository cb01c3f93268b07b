// Package mcp reads and edits the JSON-RPC messages of the Model Context
// Protocol, of its generations up to 2025-11-25 and from 2026-07-28 on.
//
// Every string of a message is text unless the protocol gives it another
// meaning, so unknown methods and fields are mediated, too. Edits are
// surgical: they replace string literals, or whole JSON values, and leave
// every other byte alone. The package does no input or output besides reading
// lines, and holds no policy.
package mcp

import (
	"encoding/base64"
	"errors"
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

// NullID is the id in an answer to a message whose id is unknown.
const NullID ID = "null"

// Error says why bytes are not a message.
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
	// Note is a text that Rewrite adds to the content of a tool's result.
	Note string

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

// envelope reads what makes the document a JSON-RPC message.
func (m *Message) envelope() error {
	d := &m.doc
	switch d.Nodes[0].Kind {
	case strictjson.Object:
	case strictjson.Array:
		return &Error{CodeInvalid, "batch", "batches of messages are not part of the protocol"}
	default:
		return &Error{CodeInvalid, "envelope", "a message is an object"}
	}
	id, method, params, result, failure := d.Find(0, "id"), d.Find(0, "method"), d.Find(0, "params"), d.Find(0, "result"), d.Find(0, "error")
	called, validID := method >= 0, true
	if id >= 0 {
		m.ID, validID = idOf(d, id)
	}
	kind := func(node int) strictjson.Kind { return d.Nodes[max(node, 0)].Kind }
	for _, rule := range [...]struct {
		broken         bool
		reason, detail string
	}{
		{d.Text(d.Find(0, "jsonrpc")) != "2.0", "envelope", "the member jsonrpc is not 2.0"},
		{!validID, "id", "an id is a string of at most 256 bytes or a whole number"},
		{called && (result >= 0 || failure >= 0), "envelope", "a message with a method has no result or error"},
		{called && kind(method) != strictjson.String, "envelope", "the method is not a string"},
		{called && kind(params) != strictjson.Object && kind(params) != strictjson.Array, "envelope", "params are an object"},
		{called && m.ID == NullID, "id", "a request's id is not null"},
		{!called && id < 0, "envelope", "a message has a method or an id"},
		{!called && params >= 0, "envelope", "an answer has no params"},
		{!called && (result >= 0) == (failure >= 0), "envelope", "an answer has either a result or an error"},
		{result >= 0 && m.ID == NullID, "id", "a result's id is not null"},
	} {
		if rule.broken {
			return &Error{CodeInvalid, rule.reason, rule.detail}
		}
	}
	switch {
	case called && id >= 0:
		m.Kind, m.Method, m.body = Request, d.Text(method), params
	case called:
		m.Kind, m.Method, m.body = Notification, d.Text(method), params
	case result >= 0:
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

// Target returns the name of the tool or prompt, or the URI of the resource, that
// a request is about; empty for other requests.
func (m *Message) Target() string {
	switch m.Method {
	case "tools/call", "prompts/get":
		return m.doc.Text(m.param("name"))
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return m.doc.Text(m.param("uri"))
	}
	return ""
}

// Typed reports whether a request expects results that state their type: the
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

// HeaderText returns the text of a header that repeats a part of a message,
// plain or wrapped as =?base64?…?=.
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
	for i := range m.doc.Nodes {
		switch m.doc.Nodes[i].Kind {
		case strictjson.String:
			if string(m.doc.Bytes(i)) == text {
				return true
			}
		case strictjson.Number, strictjson.True, strictjson.False:
			if string(m.doc.Value(i)) == text {
				return true
			}
		default:
		}
	}
	return false
}
