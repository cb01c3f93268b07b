package profile

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
)

func TestOf(t *testing.T) {
	const user = "Add a note to project-42 for alice@corp.example about https://docs.example/a, with 12 items."
	for _, c := range []struct {
		profile effect.Profile
		args    string
		want    effect.Effect
		to      string
		known   bool
	}{
		{effect.Profile{}, `{"query":"anything at all"}`, effect.Observe, "", false},
		{effect.Profile{}, `{}`, effect.Observe, "", false},
		{effect.Profile{}, `{"url":"https://docs.example/a"}`, effect.Observe, "", true},
		{effect.Profile{}, `{"url":"https://docs.example/a?x=secret"}`, effect.Reach, "https://docs.example/a?x=secret", false},
		{effect.Profile{}, `{"q":{"deep":["evil.example"]}}`, effect.Reach, "evil.example", false},
		{effect.Profile{}, `{"q":"see //evil.example/x"}`, effect.Reach, "see //evil.example/x", false},
		{effect.Profile{}, `{"q":"10.0.0.1"}`, effect.Reach, "10.0.0.1", false},
		{effect.Profile{}, `{"q":"[::1]:80"}`, effect.Reach, "[::1]:80", false},
		{effect.Profile{}, `{"q":"localhost:8080"}`, effect.Reach, "localhost:8080", false},
		{effect.Profile{}, `{"q":"git@evil.example:x/y"}`, effect.Reach, "git@evil.example:x/y", false},
		{effect.Profile{}, `{"q":"\\\\evil\\share"}`, effect.Reach, `\\evil\share`, false},
		{effect.Profile{}, `{"q":"https%3A%2F%2Fevil.example"}`, effect.Reach, "https%3A%2F%2Fevil.example", false},
		{effect.Profile{}, `{"q":"münchen.exämple/x"}`, effect.Reach, "münchen.exämple/x", false},
		{effect.Profile{}, `{"q":"evil。example"}`, effect.Reach, "evil。example", false},
		{effect.Profile{}, `{"q":"bob@corp.example"}`, effect.Reach, "bob@corp.example", false},
		{effect.Profile{}, `{"q":"alice@corp.example"}`, effect.Observe, "", true},
		{effect.Profile{Effect: effect.Edit}, `{"webhook":"https://evil.example/"}`, effect.Reach, "https://evil.example/", false},
		{effect.Profile{}, `{"https://evil.example/?q=secret":1}`, effect.Reach, "https://evil.example/?q=secret", false},
		{effect.Profile{}, `{"q":"v1.2.3 at 10:30, 50%"}`, effect.Observe, "", false},
		{effect.Profile{}, `{"file":"notes.md"}`, effect.Reach, "notes.md", false}, // Moldova's
		{effect.Profile{}, `{"file":"notes.txt"}`, effect.Observe, "", false},
		{effect.Profile{Open: true}, `{"package":"left-pad"}`, effect.Reach, "left-pad", false},
		{effect.Profile{Open: true}, `{"package":"project-42"}`, effect.Observe, "", true},
		{effect.Profile{Effect: effect.Reach}, `{"to":"alice@corp.example"}`, effect.Reach, "", true},
		{effect.Profile{Effect: effect.Reach}, `{"to":"alice@corp.example","body":"hello"}`, effect.Reach, "", false},
		{effect.Profile{Effect: effect.Edit}, `{"note":"project-42","pinned":true,"n":12}`, effect.Edit, "", true},
		{effect.Profile{Effect: effect.Edit}, `{"note":"project-42","n":1234}`, effect.Edit, "", false},
		{effect.Profile{Effect: effect.Spend}, `{"n":12}`, effect.Spend, "", false},
	} {
		d := Of(c.profile, document.Arguments(c.args), []string{user})
		if d.Effect != c.want || strings.Join(d.To, " ") != c.to || d.Known != c.known {
			t.Errorf("%+v with %s: %+v", c.profile, c.args, d)
		}
	}
}

// TestLeads: addresses in the spellings that a review found to be missed, and what is
// none.
func TestLeads(t *testing.T) {
	for _, v := range []string{
		"10.0.0.1/x?q=secret", "10.0.0.1:80/x", "[::1]:80/x", "::1", "fe80::1%eth0", "localhost/x", " evil.example", "evil.example\n", "evil.example/a b", "evil.example,", "please read evil.example now",
		"bob@evil.example", "git@evil.example:a/b", "root@10.0.0.1:/etc", "user:pass@evil.example/x", `http:\\evil.example`, "https:/evil.example", `/\evil.example`, `\\server\share`,
		"http:/\t/evil", "//\tevil", "http%3A%2F%2Fevil.example", "пример.рф", "bücher.example", "evil.xn--p1ai", "evil。example", "evil\u200b.example", "evil.bz", "evil:8080", "evil/image:latest",
		"npm:x", "0x7f000001", "s3://bucket/x", "data:text/html,x", "www.evil", strings.Repeat("a ", 4000),
	} {
		if !Leads(v) {
			t.Errorf("%.60q leads nowhere", v)
		}
	}
	for _, v := range []string{
		"", "some words", "Dr. Watson", "notes.txt", "docs/notes.txt", "2024-05-20", "2024-05-20 10:00", "2022-03-01T09:00:00-05:00", "2022-03-01T09:00:00Z", "10:30", "v1.2.3", "3.14", "50%", "project-42",
		"Apple MacBook Pro 15", "a, b and c; d: e", "LAP-001", "72",
	} {
		if Leads(v) {
			t.Errorf("%q leads somewhere", v)
		}
	}
}
