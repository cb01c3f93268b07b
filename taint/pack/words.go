package pack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What the words of a reach say.
var (
	sourceWords = map[string]string{"trusted": "trusted text", "workspace": "what the workspace holds", "untrusted": "what strangers wrote", "any": "anything"}
	readerWords = map[string]string{
		"public": "and carry what is public", "readers": "and carry what is public or its readers may see",
		"private": "and carry what the user may see", "any": "however private",
	}
)

// words says a rule in one line.
func (r *rule) words() string {
	var b strings.Builder
	var when []string
	for i := range r.When {
		when = append(when, r.When[i].words())
	}
	if len(when) > 0 {
		b.WriteString("where " + strings.Join(when, ", and ") + ": ")
	}
	switch {
	case r.Deny:
		b.WriteString("never")
	case r.Ask:
		b.WriteString("always asks")
	case r.Admit == "":
		b.WriteString(r.does())
	default:
		source, reader, _ := strings.Cut(r.Admit, " ")
		if reader == "public" && len(r.Readers) > 0 {
			reader = "readers"
		}
		b.WriteString("may follow from " + sourceWords[source] + ", " + readerWords[reader])
	}
	return b.String()
}

// does says a rule about what a call does.
func (r *rule) does() string {
	quoted := func(names ...string) string { return "`" + strings.Join(names, "`, `") + "`" }
	switch {
	case r.Shell != "":
		return "by the effects of the command in " + quoted(r.Shell)
	case r.Runs != nil:
		return "by the effects of the command " + quoted(strings.Join(append(slices.Clone(r.Runs), r.With...), " "))
	case r.Patch != "":
		return "by the effects of the patch in " + quoted(r.Patch)
	case r.Edits != nil:
		return "by what changing " + quoted(r.Edits...) + " does"
	case r.Reads != nil:
		return "reads " + quoted(r.Reads...)
	case len(r.To) > 0:
		return "has the effect " + r.Effect + ", at " + quoted(r.To...)
	}
	return "has the effect " + r.Effect
}

// words says a condition in a few words.
func (c *cond) words() string {
	if c.Says != "" {
		return c.Says
	}
	arg := "`" + c.Arg + "`"
	if c.Any {
		arg = "one of " + arg
	}
	not := ""
	if c.Not {
		not = "not "
	}
	among := func(values []string) string {
		var parts []string
		for _, v := range values {
			parts = append(parts, "`"+v+"`")
		}
		if c.List != "" {
			parts = append(parts, "the list "+c.List)
		}
		return strings.Join(parts, ", ")
	}
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case c.Equals != nil:
		return fmt.Sprintf("%s is %s%s", arg, not, among(c.Equals))
	case c.In != nil:
		return fmt.Sprintf("%s is %samong %s", arg, not, among(c.In))
	case c.DomainIn != nil:
		return fmt.Sprintf("%s is %sat %s", arg, not, among(c.DomainIn))
	case c.PathUnder != nil:
		return fmt.Sprintf("%s is %sunder %s", arg, not, among(c.PathUnder))
	case c.CommandIn != nil:
		return fmt.Sprintf("%s is %sone plain command of %s", arg, not, among(c.CommandIn))
	case c.AtMost != nil:
		return fmt.Sprintf("%s is %sat most %s", arg, not, number(*c.AtMost))
	case c.AtLeast != nil:
		return fmt.Sprintf("%s is %sat least %s", arg, not, number(*c.AtLeast))
	case c.FromUser:
		return fmt.Sprintf("the user %swrote %s", map[bool]string{true: "never "}[c.Not], arg)
	case c.Type != "":
		return fmt.Sprintf("%s is %sof type %s", arg, not, c.Type)
	case c.Absent:
		return arg + " is absent"
	case c.Local:
		return fmt.Sprintf("%s is %sof this machine or its network, or not plain", arg, not)
	case c.Matches != "":
		return fmt.Sprintf("%s %s `%s`", arg, map[bool]string{false: "matches", true: "does not match"}[c.Not], c.Matches)
	case c.Prefix != nil:
		return fmt.Sprintf("%s %s %s", arg, map[bool]string{false: "begins with", true: "does not begin with"}[c.Not], among(c.Prefix))
	case c.OneOf != nil:
		var values []string
		for _, v := range c.OneOf {
			values = append(values, v.Text)
		}
		return fmt.Sprintf("%s is %sone of %s", arg, not, among(values))
	default:
		return arg + " is given"
	}
}
