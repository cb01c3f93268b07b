package forge

import (
	"strings"
	"testing"
)

// words splits a command; _ stands for a blank within a word, and a word with $X is
// not known.
func words(s string) (out []Arg) {
	for _, w := range strings.Fields(s) {
		out = append(out, Arg{Text: strings.ReplaceAll(w, "_", " "), Known: !strings.Contains(w, "$X")})
	}
	return out
}

func TestAsks(t *testing.T) {
	for _, c := range []struct {
		command     string
		asks, plain bool
	}{
		{"pr view 12", true, false},
		{"pr view 12 -R o/r --json number,state", true, true},
		{"pr view --json=number,url --jq .number", true, true},
		{"pr view 12 --json number,title", true, false},
		{"pr view 12 --json headRefName", true, false},
		{"pr view 12 --json title --json number", true, false},
		{"pr view 12 --json number --json state", true, true},
		{"run view 12 --json status --log", true, false},
		{"pr view 12 --json number --comments", true, false},
		{"pr view 12 -R o/r --json url", true, false},
		{"pr view https://github.com/o/r/pull/3 --json number", true, false},
		{"pr view https://github.com/o/r/pull/3 --comments", true, false},
		{"pr checks 12 --watch --interval 20", true, false},
		{"run view 12 --job 3 --log", true, false},
		{"run list --branch a/b -L10 --json status,conclusion,headSha", true, true},
		{"search issues a_b --limit 3", true, false},
		{"api repos/o/r/pulls/1/comments --paginate --jq .[].body", true, false},
		{"api -H Accept:_application/vnd.github+json repos/o/r", true, false},
		{"api -X GET search/issues -f q=x", true, false},
		{"api graphql -f query=query($n:Int!){repository(owner:\"o\",name:\"r\"){id}} -F n=1", true, false},
		{"api graphql -f query={viewer{login}}", true, false},

		{"", false, false},
		{"pr view $X", false, false},
		{"pr view 12 --jq $X", false, false},
		{"pr view 12 --web", false, false},
		{"pr view 12 -w", false, false},
		{"pr view https://evil.example/o/r/pull/3", false, false},
		{"pr view https://github.com.evil.example/o/r/pull/3", false, false},
		{"pr view 12 -R evil.example/o/r --json number", false, false},
		{"pr view 12 -Revil.example/o/r", false, false},
		{"repo view evil.example/o/r", false, false},
		{"--hostname evil.example api user", false, false},
		{"api user --hostname evil.example", false, false},
		{"api user --hostname=evil.example", false, false},
		{"api https://evil.example/x", false, false},
		{"api ../x", false, false},
		{"api repos/o/r/issues -f title=x", false, false},
		{"api repos/o/r/issues -X POST", false, false},
		{"api repos/o/r -X DELETE", false, false},
		{"api repos/o/r --input x", false, false},
		{"api -H Authorization:_x repos/o/r", false, false},
		{"api -H Host:_evil.example repos/o/r", false, false},
		{"api graphql -f query=mutation{addComment}", false, false},
		{"api graphql -f query={a}_mutation_m{b}", false, false},
		{"api graphql -F query=@q.graphql", false, false},
		{"api graphql -f query={a} -F x=@/etc/passwd", false, false},
		{"api graphql -f query={a} -f query=mutation{b}", false, false},
		{"api graphql -f query={a} --input f", false, false},
		{"pr comment 12 --body x", false, false},
		{"pr merge 12", false, false},
		{"pr checkout 12", false, false},
		{"run download 12", false, false},
		{"run rerun 12", false, false},
		{"release download v1", false, false},
		{"auth token", false, false},
		{"auth status --show-token", false, false},
		{"alias set x !sh", false, false},
		{"extension exec x", false, false},
		{"browse", false, false},
		{"search", false, false},
	} {
		asks, plain := Asks(words(c.command))
		if asks != c.asks || asks && plain != c.plain {
			t.Errorf("%s: %v, %v", c.command, asks, plain)
		}
	}
}
