// Package forge says of the words of a forge's client, GitHub's gh, whether they
// only ask the forge that a clone came from, and whether the answer can hold
// anybody's words.
//
// It knows forms that only read, by lists of their flags. Any other form, flag or
// word that it does not know asks somebody else, as far as it can tell.
package forge

import (
	"regexp"
	"slices"
	"strings"
)

// Arg is an argument as the program gets it. Known: its text is all of it.
type Arg struct {
	Text  string
	Known bool
}

// common are flags of all commands that read, and reading those of each besides. A
// flag with "=" takes a value.
const common = "-R= --repo= --json= -q= --jq= -t= --template= "

var reading = map[string]string{
	"pr view":       "-c --comments",
	"pr list":       "-s= --state= -L= --limit= -A= --author= -a= --assignee= -B= --base= -H= --head= -l= --label= -S= --search= -d --draft --app=",
	"pr ls":         "-s= --state= -L= --limit= -A= --author= -B= --base= -H= --head= -l= --label= -S= --search=",
	"pr status":     "-c --conflict-status",
	"pr diff":       "--color= --name-only --patch",
	"pr checks":     "--required --watch -i= --interval= --fail-fast",
	"issue view":    "-c --comments",
	"issue list":    "-s= --state= -L= --limit= -A= --author= -a= --assignee= -l= --label= -S= --search= -m= --milestone= --mention= --app=",
	"issue status":  "",
	"run view":      "-a= --attempt= -j= --job= --log --log-failed --exit-status -v --verbose",
	"run list":      "-b= --branch= -w= --workflow= -u= --user= -e= --event= -s= --status= -c= --commit= --created= -L= --limit= -a --all",
	"run watch":     "-i= --interval= --exit-status --compact",
	"workflow view": "-r= --ref= -y --yaml",
	"workflow list": "-a --all -L= --limit=",
	"release view":  "",
	"release list":  "-L= --limit= --exclude-drafts --exclude-pre-releases -O= --order=",
	"repo view":     "-b= --branch=",
	"label list":    "-L= --limit= -S= --search= --sort= --order=",
	"search":        "-L= --limit= --state= --author= --label= --language= --owner= --sort= --order= --match= --created= --updated= --filename= --extension= --is= --visibility=",
	"status":        "-e= --exclude= -o= --org=",
	"api":           "-H= --header= -X= --method= -f= --raw-field= -F= --field= --paginate --slurp -i --include --silent -p= --preview=",
}

// typed are fields of JSON whose values nobody words: numbers, states, dates, hashes,
// and addresses of what has a number.
var typed = strings.Fields(`number state stateReason isDraft additions deletions changedFiles createdAt updatedAt closedAt mergedAt startedAt publishedAt pushedAt id
	headRefOid baseRefOid mergeable mergeStateStatus reviewDecision isCrossRepository closed maintainerCanModify url databaseId headSha status conclusion event
	attempt workflowDatabaseId isPrerelease isPrivate isFork isArchived isEmpty forkCount stargazerCount diskUsage visibility viewerPermission bucket completedAt`)

var (
	repo    = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)
	operand = regexp.MustCompile(`^#?[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
	page    = regexp.MustCompile(`^https://github\.com/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(?:pull|issues|discussions|actions/runs)/[0-9]+(?:/job/[0-9]+)?$`)
	path    = regexp.MustCompile(`^/?[A-Za-z0-9_{][A-Za-z0-9_./{}?=&%+,-]*$`)
	header  = regexp.MustCompile(`^(?i:accept|x-github-api-version): [A-Za-z0-9 .;,=+/*_-]+$`)
	query   = regexp.MustCompile(`^\s*(?:query\b|\{)`)
	writes  = regexp.MustCompile(`(?i)mutation|subscription`)
)

// Asks reports whether a command only asks the forge that the clone came from.
// plain: its answer holds numbers, states, dates and hashes alone, besides words of
// the command and of gh.
func Asks(args []Arg) (asks, plain bool) {
	for _, a := range args {
		if !a.Known {
			return false, false
		}
	}
	form, rest := "", args
	for n := min(2, len(args)); n > 0 && form == ""; n-- {
		var words []string
		for _, a := range args[:n] {
			words = append(words, a.Text)
		}
		if _, ok := reading[strings.Join(words, " ")]; ok {
			form, rest = strings.Join(words, " "), args[n:]
		}
	}
	if form == "" {
		return false, false
	}
	r := &reader{form: form, flags: strings.Fields(common + reading[form])}
	if !r.read(rest) {
		return false, false
	}
	return r.asks(), r.plain()
}

// reader reads the arguments of one form.
type reader struct {
	form     string
	flags    []string
	json     []string
	shows    bool // a flag without a value is given
	other    bool // a repository is named
	operands []string
	fields   []string
	method   string
}

// read reports whether all flags are known and lead nowhere else.
func (r *reader) read(args []Arg) bool {
	for k := 0; k < len(args); k++ {
		w := args[k].Text
		if !strings.HasPrefix(w, "-") || w == "-" {
			r.operands = append(r.operands, w)
			continue
		}
		flag, value, valued := strings.Cut(w, "=")
		if !strings.HasPrefix(w, "--") && len(w) > 2 {
			flag, value, valued = w[:2], w[2:], true // -L10
		}
		switch {
		case slices.Contains(r.flags, flag+"="):
			if !valued {
				if k++; k == len(args) {
					return false
				}
				value = args[k].Text
			}
			if !r.value(flag, value) {
				return false
			}
		case valued || !slices.Contains(r.flags, flag):
			return false
		default:
			r.shows = true
		}
	}
	return true
}

// value reports whether a flag's value leads nowhere else.
func (r *reader) value(flag, value string) bool {
	switch flag {
	case "-R", "--repo":
		r.other = true
		return repo.MatchString(value)
	case "--json":
		r.json = append(r.json, strings.Split(value, ",")...)
	case "-H", "--header":
		return r.form != "api" || header.MatchString(value)
	case "-X", "--method":
		r.method = value
		return strings.EqualFold(value, "GET")
	case "-f", "-F", "--raw-field", "--field":
		_, v, ok := strings.Cut(value, "=")
		r.fields = append(r.fields, value)
		return ok && !strings.HasPrefix(v, "@") // a file's text
	}
	return true
}

// plain reports whether only fields that nobody words are asked for. A flag without
// a value may show something else, and the address of another repository has its name.
func (r *reader) plain() bool {
	return len(r.json) > 0 && !r.shows && !slices.ContainsFunc(r.json, func(f string) bool { return !slices.Contains(typed, f) || f == "url" && r.other }) &&
		!slices.ContainsFunc(r.operands, page.MatchString)
}

// asks reports whether the operands name what the clone's forge has, and the fields
// ask for it.
func (r *reader) asks() bool {
	switch r.form {
	case "api":
		if len(r.operands) != 1 || !path.MatchString(r.operands[0]) || strings.Contains(r.operands[0], "..") || len(r.json) > 0 {
			return false
		}
		if strings.Trim(r.operands[0], "/") != "graphql" {
			return len(r.fields) == 0 || r.method != ""
		}
		queries := 0
		for _, f := range r.fields {
			if text, ok := strings.CutPrefix(f, "query="); ok {
				if queries++; !query.MatchString(text) || writes.MatchString(text) {
					return false
				}
			}
		}
		return queries == 1 && r.method == ""
	case "search":
		return len(r.operands) > 0 && slices.Contains([]string{"issues", "prs", "code", "repos", "commits"}, r.operands[0])
	}
	return !slices.ContainsFunc(r.operands, func(o string) bool {
		return !page.MatchString(o) && (!operand.MatchString(o) || strings.Count(o, "/") > 1)
	})
}
