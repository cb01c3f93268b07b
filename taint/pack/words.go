package pack

import (
	"fmt"
	"strconv"
	"strings"
)

// words says a rule in one line.
func (r *rule) words() string {
	var b strings.Builder
	for i := range r.When {
		if i > 0 {
			b.WriteString(", and ")
		} else {
			b.WriteString("where ")
		}
		b.WriteString(r.When[i].words())
	}
	if len(r.When) > 0 {
		b.WriteString(": ")
	}
	switch {
	case r.Deny:
		b.WriteString("never")
	case r.Ask:
		b.WriteString("always asks")
	default:
		source, reader, _ := strings.Cut(r.Admit, " ")
		switch source {
		case "any":
			b.WriteString("may follow from anything")
		case "untrusted":
			b.WriteString("may follow from what strangers wrote")
		default:
			b.WriteString("may follow from trusted text")
		}
		switch {
		case reader == "public" && len(r.Readers) > 0:
			b.WriteString(", and carry what is public or its readers may see")
		case reader == "public":
			b.WriteString(", and carry what is public")
		case reader == "private":
			b.WriteString(", and carry what the user may see")
		default:
			b.WriteString(", however private")
		}
	}
	return b.String()
}

// words says a condition in a few words.
func (c *cond) words() string {
	if c.CEL != "" {
		return c.Says
	}
	arg := "`" + c.Arg + "`"
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
	default:
		return arg + " is given"
	}
}
