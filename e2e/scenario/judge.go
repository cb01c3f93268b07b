package scenario

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/e2e/leak"
	"github.com/margaydev/margay/e2e/upstream"
)

// Verdict is what came of a scenario.
type Verdict struct {
	// Problems say what was not as it must be. They quote no secrets.
	Problems []string
	// Leaked says that a planted secret reached the upstream, or the client
	// from there.
	Leaked bool
}

// Judge compares what a client got and what the upstream got with what must
// be. mediated says that a mediator stood between: secrets must then have been
// replaced; without one they must have arrived.
func (s *Scenario) Judge(secrets Secrets, mediated bool, result *Result, got []upstream.Exchange, apiKey string) Verdict {
	c := &judged{s: s, secrets: secrets, mediated: mediated, result: result, got: got, apiKey: apiKey}
	if len(got) == 0 {
		c.problem("the upstream was not asked")
		if e := result.Error; e != nil {
			c.problem("the library raised %s: %.300s", e.Class, e.Message)
		}
		return c.verdict
	}
	c.leaks()
	if s.user != "" {
		c.match("the prompt's last user message", c.last("user"), s.user, true)
	}
	if s.tool != "" {
		c.match("the prompt's last tool message", c.last("tool"), s.tool, true)
	}
	if s.texts != nil {
		c.answer()
	}
	if s.calls != nil {
		c.toolCalls()
	}
	c.vendor()
	if s.more != nil {
		s.more(c)
	}
	if mediated && c.verdict.Leaked {
		c.problem("a planted secret got through")
	}
	if !mediated && c.verdict.Leaked != s.plants {
		c.problem("the leak was %v, expected %v", c.verdict.Leaked, s.plants)
	}
	return c.verdict
}

// judged is a scenario under judgement.
type judged struct {
	s        *Scenario
	secrets  Secrets
	mediated bool
	result   *Result
	got      []upstream.Exchange
	apiKey   string
	verdict  Verdict
}

func (c *judged) problem(format string, args ...any) {
	c.verdict.Problems = append(c.verdict.Problems, fmt.Sprintf(format, args...))
}

// leaks looks for secrets in every byte that the upstream got and in all that
// the client was given, also put together over the events of a stream.
func (c *judged) leaks() {
	seen := func(text []byte, where string) {
		if leak.In(text, c.secrets.All()...) {
			c.verdict.Leaked = true
			if c.mediated {
				c.problem("a secret is in %s", where)
			}
		}
	}
	for i := range c.got {
		e := &c.got[i]
		seen([]byte(e.Path), "a request's path")
		seen(e.Body, "a request's body")
		for _, text := range Strings(e.Body) {
			seen([]byte(text), "a request's text")
		}
		for name, values := range e.Header {
			seen([]byte(strings.Join(values, "\n")), "the request header "+name)
		}
	}
	b, err := json.Marshal(c.result)
	if err != nil {
		c.problem("the result can't be encoded")
	}
	seen(b, "the client's result")
	for _, text := range Strings([]byte("[" + strings.Join(c.result.Dump, ",") + "]")) {
		seen([]byte(text), "what the library gave")
	}
}

// answer holds the client's text, its end and the usage to what was said.
func (c *judged) answer() {
	if c.result.Error != nil {
		c.problem("the library raised %s (status %d)", c.result.Error.Class, c.result.Error.Status)
		return
	}
	if len(c.result.Choices) != len(c.s.texts) {
		c.problem("the client got %d choices, expected %d", len(c.result.Choices), len(c.s.texts))
		return
	}
	for i, choice := range c.result.Choices {
		if choice.Index != i {
			c.problem("choice %d has the index %d", i, choice.Index)
		}
		c.match(fmt.Sprintf("the text of choice %d", i), choice.Text, c.s.texts[i], false)
		if choice.Finish != c.end() {
			c.problem("choice %d ended with %q, expected %s", i, choice.Finish, c.end())
		}
	}
	if !reflect.DeepEqual(c.result.Usage, c.usage()) {
		c.problem("the usage is %v, expected %v", c.result.Usage, c.usage())
	}
}

func (c *judged) toolCalls() {
	if len(c.result.Calls) != len(c.s.calls) {
		c.problem("the client got %d tool calls, expected %d", len(c.result.Calls), len(c.s.calls))
		return
	}
	for i, want := range c.s.calls {
		call := c.result.Calls[i]
		if call.ID != want.ID || call.Name != want.Name {
			c.problem("tool call %d has another id or name", i)
		}
		if !json.Valid([]byte(call.Arguments)) {
			c.problem("the arguments of tool call %d are not JSON", i)
		}
		c.match(fmt.Sprintf("the arguments of tool call %d", i), c.written(call.Arguments), c.written(want.Arguments), false)
	}
}

// vendor holds every object that the library gave to the field that no
// library knows.
func (c *judged) vendor() {
	for i, d := range c.result.Dump {
		var object struct {
			Vendor json.RawMessage `json:"x_vendor"`
		}
		if err := json.Unmarshal([]byte(d), &object); err != nil {
			c.problem("object %d from the library is not JSON", i)
			return
		}
		var got, want any
		if object.Vendor == nil && c.s.ours && c.mediated {
			continue
		}
		if json.Unmarshal(object.Vendor, &got) != nil || json.Unmarshal([]byte(upstream.Vendor), &want) != nil || !reflect.DeepEqual(got, want) {
			c.problem("object %d of %d has lost a field that the library does not know", i, len(c.result.Dump))
			return
		}
	}
}

const (
	pseudonym = `margay-[a-z]+(?:-[a-z]+)*-[a-z2-7]{14}`
	redaction = `\[REDACTED:[a-z]+(?:-[a-z]+)*\]`
)

var placeholder = regexp.MustCompile(`\{(known|unknown)\}`)

// match holds a text to a template. In a prompt, pseudonyms stand for secrets,
// equal ones for equal secrets; in an answer, redactions.
func (c *judged) match(what, got, template string, prompt bool) {
	if !c.mediated {
		if got != c.secrets.fill(template) {
			c.problem("%s is not what it was", what)
		}
		return
	}
	form := redaction
	if prompt {
		form = pseudonym
	}
	pattern, at := "^", 0
	var names []string
	for _, m := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		pattern += regexp.QuoteMeta(template[at:m[0]]) + "(" + form + ")"
		names, at = append(names, template[m[2]:m[3]]), m[1]
	}
	pattern += regexp.QuoteMeta(template[at:]) + "$"
	groups := regexp.MustCompile(pattern).FindStringSubmatch(got)
	if groups == nil {
		c.problem("%s is not what it was with its secrets replaced (%d bytes)", what, len(got))
		return
	}
	if !prompt {
		return
	}
	byName := map[string]string{}
	for i, name := range names {
		if first, ok := byName[name]; ok && first != groups[i+1] {
			c.problem("%s has two pseudonyms for one secret", what)
		}
		byName[name] = groups[i+1]
	}
	if byName["known"] != "" && byName["known"] == byName["unknown"] {
		c.problem("%s has one pseudonym for two secrets", what)
	}
}

// last is the text of the last request's last message with a role.
func (c *judged) last(role string) string {
	e := &c.got[len(c.got)-1]
	if c.s.API != APIMessages {
		return chatOf(e).Last(role)
	}
	m := messagesOf(e)
	if role == "tool" {
		return m.LastResult()
	}
	return m.LastUser()
}

// written is JSON as it is compared: libraries of the Messages API give the
// input of a call as a value.
func (c *judged) written(doc string) string {
	var v any
	if c.s.API != APIMessages || json.Unmarshal([]byte(doc), &v) != nil {
		return doc
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // it was JSON
	return strings.TrimSpace(b.String())
}

// end is how an answer says that it is complete, and usage what it reports.
func (c *judged) end() string {
	if c.s.API == APIMessages {
		return "end_turn"
	}
	return "stop"
}

func (c *judged) usage() map[string]int {
	if c.s.API == APIMessages {
		return upstream.MessagesUsage
	}
	return upstream.Usage
}

func chatOf(e *upstream.Exchange) *upstream.Chat {
	if strings.HasPrefix(e.Path, "/v1/responses") {
		r, err := upstream.ResponsesOf(e.Body)
		if err != nil {
			return &upstream.Chat{}
		}
		return r.Chat()
	}
	var c upstream.Chat
	if err := json.Unmarshal(e.Body, &c); err != nil {
		return &upstream.Chat{} // what is looked for is then not found
	}
	return &c
}

// fill puts the secrets into a template.
func (s Secrets) fill(template string) string {
	return strings.NewReplacer(
		"{known}", s.Known, "{unknown}", s.Unknown, "{part}", s.Known[:len(s.Known)*2/3],
		"{encoded}", s.encoded(),
	).Replace(template)
}

// encoded returns the known secret in forms that any model could undo.
func (s Secrets) encoded() string {
	reversed := []byte(s.Known)
	slices.Reverse(reversed)
	return strings.Join([]string{
		base64.StdEncoding.EncodeToString([]byte(s.Known)), hex.EncodeToString([]byte(s.Known)), string(reversed), `{\"key\":\"` + s.Known + `\"}`,
	}, ", ")
}

// Strings returns the texts of a JSON document: the strings at each path, those
// of list elements joined in order, so that a text that comes in pieces is one
// again. Elements with an "index" are kept apart by it.
func Strings(doc []byte) []string {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return []string{string(doc)}
	}
	joined := map[string]*strings.Builder{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case string:
			if joined[path] == nil {
				joined[path] = &strings.Builder{}
			}
			joined[path].WriteString(v)
		case []any:
			for _, e := range v {
				key := ""
				if o, ok := e.(map[string]any); ok {
					if i, ok := o["index"].(float64); ok {
						key = fmt.Sprint(i)
					}
				}
				walk(path+"["+key+"]", e)
			}
		case map[string]any:
			for k, e := range v {
				walk(path+"."+k, e)
			}
		}
	}
	walk("", v)
	var out []string
	for _, b := range joined {
		out = append(out, b.String())
	}
	slices.Sort(out)
	return out
}
