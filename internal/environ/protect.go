package environ

import (
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

// Found is what Protect made of an environment. Its lists name variables,
// never values; those of a file have its path behind them.
type Found struct {
	Records    []secret.Record // to be protected
	Whole      []string        // in Records, in every encoding
	Words      []string        // in Records, as whole words of plain text alone
	Ordinary   []string        // left alone: replacing "postgres" would spoil every text about it
	Unfit      []string        // too short or too long to protect by value
	Unreadable []string        // files that could not be read
}

// Protect finds the credentials that a program can read without asking: those
// in its environment and in the .env files of a folder. They are made into
// records under keys, which the caller keeps or does not.
func Protect(keys *secret.Keys, rules *recognise.Set, env []string, dir string, now time.Time) Found {
	var f Found
	vars := Process(env)
	files, skipped := Files(dir)
	f.Unreadable = skipped
	for _, file := range files {
		b, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			f.Unreadable = append(f.Unreadable, file)
			continue
		}
		vars = append(vars, Parse(file, b)...)
	}
	for _, v := range Credentials(rules, vars) {
		rec, st, err := secret.Prepare(keys, flow.NewID(), v.Name, v.Kind, secret.SourceRegistered, v.Origin, []byte(v.Value), now)
		what := v.Name
		if file, ok := strings.CutPrefix(v.Origin, "file:"); ok {
			what += " (" + file + ")"
		}
		switch {
		case err != nil:
			f.Unfit = append(f.Unfit, what)
			continue
		case !st.Disguised && isWord(v.Value):
			f.Ordinary = append(f.Ordinary, what)
			continue
		case st.Disguised:
			f.Whole = append(f.Whole, what)
		default:
			f.Words = append(f.Words, what)
		}
		f.Records = append(f.Records, rec)
	}
	return f
}

// isWord reports whether a value is made of letters alone.
func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}
