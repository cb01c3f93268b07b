package connectortest_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/connectortest/gatewaytest"
)

func TestCoverageIsUpToDate(t *testing.T) {
	b, err := os.ReadFile("../docs/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != connectortest.Coverage() {
		t.Error("docs/coverage.md is not what the tables say: go generate ./connectortest")
	}
}

// faulty is a link that does wrong what the fault says.
type faulty struct {
	connectortest.Link
	registered []string
	fault      fault
}

// fault changes what arrived at either end. registered is a secret.
type fault struct {
	open   func(t testing.TB, registered []string) connectortest.Link // instead of the gateway
	before func(x *connectortest.Exchange)
	after  func(x *connectortest.Exchange, r *connectortest.Result, registered string)
	kept   func(registered string) []byte
}

func (f *faulty) Do(x *connectortest.Exchange) (*connectortest.Result, error) {
	y := *x
	if f.fault.before != nil {
		f.fault.before(&y)
	}
	r, err := f.Link.Do(&y)
	if err == nil && f.fault.after != nil {
		f.fault.after(x, r, f.registered[0])
	}
	return r, err
}

func (f *faulty) Kept() []byte {
	if f.fault.kept != nil {
		return f.fault.kept(f.registered[0])
	}
	return nil
}

func pass(testing.TB, []string) connectortest.Link { return passer{} }

// passer lets everything through.
type passer struct{}

func (passer) Kept() []byte { return nil }

func (passer) Do(x *connectortest.Exchange) (*connectortest.Result, error) {
	r := &connectortest.Result{Far: &connectortest.Arrived{Path: x.Path, Header: x.Header, Body: x.Body}, Status: x.Answer.Status, Header: x.Answer.Header, Body: bytes.Join(x.Answer.Chunks, nil)}
	if r.Status == 0 {
		r.Status = 200
	}
	return r, nil
}

// replacer is a passer that replaces secrets within one event, by their shape.
func replacer(_ testing.TB, registered []string) connectortest.Link {
	return &faulty{Link: passer{}, registered: registered, fault: fault{after: func(_ *connectortest.Exchange, r *connectortest.Result, known string) {
		shape := regexp.MustCompile(`ghp_\w{36}|` + known)
		r.Body = shape.ReplaceAll(r.Body, []byte("[REDACTED:token]"))
		r.Far.Body = shape.ReplaceAll(r.Far.Body, []byte("margay-token-abcdefghij2345"))
	}}}
}

// streamed reports whether an answer is a stream with something in it.
func streamed(r *connectortest.Result) bool {
	return bytes.HasPrefix(r.Body, []byte("data: ")) && r.Status == 200
}

var red = regexp.MustCompile(`\[REDACTED:[a-z-]+\]`)

// Whatever a connector does wrong, some oracle notices.
func TestSuiteNoticesFaults(t *testing.T) {
	type result = connectortest.Result
	type exch = connectortest.Exchange
	edit := func(f func(b []byte) []byte) fault {
		return fault{after: func(_ *exch, r *result, _ string) { r.Body = f(bytes.Clone(r.Body)) }}
	}
	events := func(f func(evs []string) []string) fault {
		return fault{after: func(_ *exch, r *result, _ string) {
			if streamed(r) {
				r.Body = []byte(strings.Join(f(strings.SplitAfter(string(r.Body), "\n\n")), ""))
			}
		}}
	}
	instead := func(form func(string) string) fault {
		return fault{after: func(_ *exch, r *result, known string) { r.Body = red.ReplaceAll(r.Body, []byte(form(known))) }}
	}
	for name, c := range map[string]struct {
		fault
		want string // in some problem; "" for none at all
	}{
		"nothing":                   {fault{}, ""},
		"passes everything":         {fault{open: pass}, "a part of the secret reached the client, as it is written"},
		"passes requests":           {fault{open: pass}, "a part of the secret reached the far side"},
		"looks at each event alone": {fault{open: replacer}, "joined over events"},
		"eight characters":          {instead(func(k string) string { return "x" + k[9:17] }), "as it is written"},
		"base64":                    {instead(func(k string) string { return base64.StdEncoding.EncodeToString([]byte("a" + k)) }), "as it is written"},
		"hexadecimal":               {instead(func(k string) string { return fmt.Sprintf("%X", k) }), "as it is written"},
		"reversed":                  {instead(reversed), "as it is written"},
		"escaped":                   {instead(func(k string) string { return fmt.Sprintf(`\\u%04x`, k[0]) + k[1:7] + fmt.Sprintf(`\\u%04x`, k[7]) }), "behind escapes"},
		"something else instead":    {instead(func(string) string { return "***" }), "the text became"},
		"twice":                     {edit(func(b []byte) []byte { return red.ReplaceAll(b, []byte("$0$0")) }), "the text became"},
		"eats the text around":      {edit(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("], yes"), []byte("]")) }), "the text became"},
		"a byte dropped elsewhere":  {edit(func(b []byte) []byte { return bytes.Replace(b, []byte(`"created":1,`), []byte(`"created":1`), 1) }), "changed"},
		"a space more":              {edit(func(b []byte) []byte { return bytes.Replace(b, []byte(`"usage":`), []byte(`"usage": `), 1) }), "changed"},
		"a number written anew":     {fault{before: func(x *exch) { x.Body = bytes.Replace(x.Body, []byte("0.70"), []byte("0.7"), 1) }}, "the request changed"},
		"an event is lost":          {events(func(e []string) []string { return append(e[:1:1], e[2:]...) }), "changed"},
		"an event comes twice":      {events(func(e []string) []string { return append(e[:2:2], e[1:]...) }), "changed"},
		"two events change places":  {events(func(e []string) []string { e[0], e[1] = e[1], e[0]; return e }), "changed"},
		"[DONE] is lost":            {events(func(e []string) []string { return e[:len(e)-2] }), "arrived"},
		"events are cut anew": {edit(func(b []byte) []byte {
			return bytes.Replace(b, []byte(`it is [`), []byte("it \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"is ["), 1)
		}), "arrived"},
		"the second choice leaks": {fault{after: secondChoice}, "choice 1 of 2"},
		"whole answers say another": {fault{after: func(_ *exch, r *result, _ string) {
			if !streamed(r) {
				r.Body = red.ReplaceAll(r.Body, []byte("[REDACTED:other]"))
			}
		}}, "where the whole answer says"},
		"the status changes": {fault{after: func(_ *exch, r *result, _ string) { r.Status = 201 }}, "status 201"},
		"a header is lost":   {fault{after: func(_ *exch, r *result, _ string) { r.Header = nil }}, "header X-Request-Id changed"},
		"a secret in a header": {fault{after: func(_ *exch, r *result, k string) {
			r.Header = append(r.Header, connectortest.Header{Name: "X", Value: k})
		}}, "headers"},
		"refuses in words of its own": {fault{after: func(_ *exch, r *result, _ string) {
			if r.Status == 403 {
				r.Body = []byte(`{"detail":"no"}`)
			}
		}}, "not in the API's terms"},
		"refuses without need":      {fault{after: func(_ *exch, r *result, _ string) { r.Far = nil }}, "did not reach the far side"},
		"refuses after it has sent": {fault{after: func(x *exch, r *result, _ string) { r.Far = &connectortest.Arrived{Path: x.Path} }}, "must be refused reached the far side"},
		"a stop without its end":    {fault{after: func(_ *exch, r *result, _ string) { r.Body, _, _ = bytes.Cut(r.Body, []byte(`data: {"error"`)) }}, "not valid"},
		"the rest of a call that isn't": {edit(func(b []byte) []byte {
			return bytes.Replace(b, []byte("was not made"), []byte("call_own_item was not made"), 1)
		}), "something of the call is left"},
		"a call withheld in silence": {edit(func(b []byte) []byte { return bytes.Replace(b, []byte("was not made"), []byte(""), 1) }), "does not say"},
		"a call withheld for good":   {edit(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("margay allow add"), nil) }), "does not say how"},
		"a secret in the log":        {fault{kept: func(k string) []byte { return []byte("request denied: " + k[3:15]) }}, "wrote besides"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := connectortest.Chat()
			api.Fields = slices.DeleteFunc(api.Fields, func(f connectortest.Field) bool {
				return !slices.Contains([]string{"user message", "header", "content", "arguments of a tool call", "id line of an event", "header of the answer"}, f.Name)
			})
			con := connectortest.Connector{Thin: 12, Open: func(t testing.TB, registered []string) connectortest.Link {
				open := c.open
				if open == nil {
					open = gatewaytest.Open
				}
				return &faulty{open(t, registered), registered, c.fault}
			}}
			problems := connectortest.Problems(t, con, api)
			if c.want == "" {
				if len(problems) > 0 {
					t.Errorf("problems where there are none: %s", strings.Join(problems, "\n"))
				}
				return
			}
			for _, p := range problems {
				if strings.Contains(p, c.want) {
					return
				}
			}
			t.Errorf("not noticed; %d other problems: %s", len(problems), strings.Join(problems, "\n"))
		})
	}
}

func reversed(s string) string {
	var b strings.Builder
	for i := len(s) - 1; i >= 0; i-- {
		b.WriteByte(s[i])
	}
	return b.String()
}

// secondChoice lets the second choice's text pass.
func secondChoice(_ *connectortest.Exchange, r *connectortest.Result, known string) {
	evs := strings.SplitAfter(string(r.Body), "\n\n")
	for i, e := range evs {
		if strings.Contains(e, `"index":1,"delta"`) {
			evs[i] = red.ReplaceAllString(e, known)
		}
	}
	r.Body = []byte(strings.Join(evs, ""))
}

// A connector that lets everything through is noticed at every field of every
// API: each has a secret in it that some oracle looks for. Apart from secrets,
// it does nothing wrong.
func TestEveryFieldIsGuarded(t *testing.T) {
	for _, api := range connectortest.APIs() {
		for _, f := range api.Fields {
			one := *api
			one.Fields = []connectortest.Field{f}
			problems := connectortest.Problems(t, connectortest.Connector{Thin: 50, Open: pass}, &one)
			if len(problems) == 0 {
				t.Errorf("%s: %s: not noticed", api.Name, f.Name)
			}
			for _, p := range problems {
				if strings.Contains(p, "clean text") {
					t.Errorf("%s: the suite's own traffic is not valid: %s", api.Name, p)
				}
			}
		}
	}
}

// A client library that can't read an answer is heard.
func TestSuiteAsksTheLibrary(t *testing.T) {
	con := connectortest.Connector{
		Thin: 50, Open: gatewaytest.Open,
		Valid: func(_ *connectortest.API, stream, _ bool, raw []byte) error {
			if stream && bytes.Contains(raw, []byte("REDACTED")) {
				return fmt.Errorf("unreadable")
			}
			return nil
		},
	}
	if p := connectortest.Problems(t, con, connectortest.Chat()); !strings.Contains(strings.Join(p, "\n"), "the client library does not read the answer: unreadable") {
		t.Errorf("not noticed: %v", p)
	}
}
