package lint

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
)

// named is a path of an argument with a usual name: keys and indices joined by
// dots, or the whole of arguments that are not JSON. Other notations of paths
// ($.notes, /notes, notes[0]) match no argument with such names.
var named = regexp.MustCompile(`^$|^[^./$\[\]]+(\.[^./$\[\]]+)*$`)

// residual looks for expressions on paths that no text of a candidate has.
func (l *linter) residual() {
	channels := l.doc.Signature.Channels
	for class, list := range l.doc.Residual {
		for i, s := range list {
			at := []string{"residual", class, strconv.Itoa(i)}
			re := regexp.MustCompile(s) // the rubric compiles
			switch parsed, err := syntax.Parse(s, syntax.Perl); {
			case len(channels) == 1 && channels[0] == flow.ChannelModel:
				if !slices.ContainsFunc(modelPaths(), re.MatchString) {
					l.add("residual-path", at, "it matches no text of a model's: their paths are %s", strings.Join(modelPaths(), ", "))
				}
			case err == nil && !slices.ContainsFunc(witnesses(parsed.Simplify()), func(w string) bool {
				return slices.ContainsFunc([]string{w, "a" + w, w + "a", "a" + w + "a"}, func(p string) bool { return named.MatchString(p) && re.MatchString(p) })
			}):
				l.add("residual-path", at, "it matches no path of an argument: those are names and indices joined by dots, such as notes or items.0.note")
			}
		}
	}
}

// modelPaths are those of texts to a model.
func modelPaths() (out []string) {
	for f := flow.FieldOther; f <= flow.FieldToolArguments; f++ {
		out = append(out, f.String())
	}
	return out
}

// maxWitnesses bounds the texts that are tried of one expression.
const maxWitnesses = 256

// witnesses are short texts that an expression matches, one for each of its
// alternatives.
func witnesses(re *syntax.Regexp) []string {
	out := []string{""}
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		for _, c := range "a0_-# " {
			for i := 0; i < len(re.Rune); i += 2 {
				if re.Rune[i] <= c && c <= re.Rune[i+1] {
					return []string{string(c)}
				}
			}
		}
		if len(re.Rune) > 0 {
			return []string{string(re.Rune[0])}
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"a"}
	case syntax.OpCapture, syntax.OpPlus:
		return witnesses(re.Sub[0])
	case syntax.OpAlternate:
		out = nil
		for _, sub := range re.Sub {
			out = append(out, witnesses(sub)...)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			var next []string
			for _, a := range out {
				for _, b := range witnesses(sub) {
					next = append(next, a+b)
				}
			}
			out = next[:min(len(next), maxWitnesses)]
		}
	}
	return out[:min(len(out), maxWitnesses)]
}
