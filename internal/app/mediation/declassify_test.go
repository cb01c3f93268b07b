package mediation

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
)

// slow is what named should come to, by trying all that ** may stand for.
func slow(pattern, file []string) bool {
	switch {
	case len(pattern) == 0:
		return len(file) == 0
	case pattern[0] == "**":
		return slow(pattern[1:], file) || len(file) > 0 && slow(pattern, file[1:])
	case len(file) == 0:
		return false
	}
	ok, err := path.Match(pattern[0], file[0])
	return ok && err == nil && slow(pattern[1:], file[1:])
}

func TestSegments(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pattern := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "**", "*", "a*"}), 0, 6).Draw(rt, "pattern")
		file := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", ""}), 0, 7).Draw(rt, "file")
		if got := segments(pattern, file); got != slow(pattern, file) {
			rt.Fatalf("%v of %v is %v", file, pattern, got)
		}
	})
	// A path that a model chose takes no longer than it is long.
	long := strings.Repeat("a/", 1<<16)
	if !named("**/a/**/a/**/a", long) || named("**/a/**/a/**/b", long) {
		t.Error("a long path is misread")
	}
}

// How a model writes a tool's name does not choose whether its call is looked
// at, and a configuration may have a word on all tools that it does not name.
func TestToolsByName(t *testing.T) {
	c := &config.Declassify{Tools: map[string]config.ReleaseTool{
		"book_flight": {Action: "travel", Sink: "airline", Class: "required-service"},
		"bookFlight2": {Action: "travel", Class: "semi-trusted"},
		"read_mail":   {Trusted: true},
	}}
	tools := Tools(c)
	for name, sink := range map[string]string{
		"book_flight": "airline", "Book_Flight": "airline", "book-flight ": "airline", "bookFlight": "airline", "ｂook_flight": "airline",
		"bookflight2": "bookFlight2", "bookFlight2": "bookFlight2", "read_mail": "", "other": "", "": "", "*": "",
	} {
		if got, ok := tools(flow.ToolCall{Name: name}); ok != (sink != "") || got.Sink != sink && ok {
			t.Errorf("%q is the sink %q (%v)", name, got.Sink, ok)
		}
	}
	c.Tools["*"] = config.ReleaseTool{Class: "adversarial"}
	tools = Tools(c)
	for name, want := range map[string]flow.Class{"book_flight": flow.RequiredService, "Bookflight": flow.RequiredService, "other": flow.Adversarial, "read_mail": flow.Adversarial} {
		if got, ok := tools(flow.ToolCall{Name: name}); !ok || got.Class != want || got.Sink == "" {
			t.Errorf("%q: %+v %v", name, got, ok)
		}
	}
}

// Of a tool that writes to many files, the calls are held to a memory that name
// one of its files, however the path is written.
func TestMemoryFiles(t *testing.T) {
	c := &config.Declassify{Tools: map[string]config.ReleaseTool{
		"Write":  {Memory: true, Sink: "notes", Files: map[string][]string{"file_path": {"CLAUDE.md", "~/.claude/**/memory/**", "/srv/notes/*.md"}}},
		"recall": {Memory: true, Sink: "notes"},
		"book":   {Class: "semi-trusted"},
	}}
	tools := Tools(c)
	for args, want := range map[string]bool{
		`{"file_path":"CLAUDE.md"}`: true, `{"file_path":"/home/a/x/CLAUDE.md"}`: true, `{"file_path":"./x/../claude.MD","content":"x"}`: true,
		`{"file_path":"C:\\x\\CLAUDE.md"}`: true, `{"FilePath":"CLAUDE.md"}`: true, `{"file_path":" CLAUDE.md "}`: true, `{"file_path":"\u0043LAUDE.md"}`: true,
		`{"file_path":"/home/a/.claude/projects/p/memory/MEMORY.md"}`: true, `{"file_path":"/home/a/.claude/memory/a/b"}`: true,
		`{"file_path":"/srv/notes/a.md"}`: true, `{"file_path":"//srv/x/../notes/a.md"}`: true,
		`{"file_path":"a","file_path":"CLAUDE.md"}`: true, `not json`: true, `["CLAUDE.md"]`: true,
		`{"file_path":"/srv/notes/a/b.md"}`: false, `{"file_path":"/x/srv/notes/a.md"}`: false, `{"file_path":"CLAUDE.md.txt"}`: false,
		`{"file_path":"main.go","content":"CLAUDE.md"}`: false, `{"file_path":7}`: false, `{}`: false,
	} {
		got, ok := tools(flow.ToolCall{Name: "Write", Arguments: args})
		if ok != want || ok && (got.Channel != flow.ChannelMemory || got.Sink != "notes" || got.Class != flow.Adversarial) {
			t.Errorf("%s: %+v %v", args, got, ok)
		}
	}
	if m := memoriesOf(c); len(m) != 1 || m[0] != "notes" {
		t.Errorf("the memories are %v", m)
	}
	c.Tools["*"] = config.ReleaseTool{Class: "semi-trusted"}
	if got, ok := Tools(c)(flow.ToolCall{Name: "Write", Arguments: `{"file_path":"main.go"}`}); !ok || got.Channel != flow.ChannelTool {
		t.Errorf("another file: %+v %v", got, ok)
	}
}
