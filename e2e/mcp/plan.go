package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/margaydev/margay/e2e/leak"
	"github.com/margaydev/margay/e2e/scenario"
)

// step is one thing that a client does.
type step struct {
	Do       string         `json:"do"` // list, call, read, prompt, complete, subscribe, ping, level
	All      bool           `json:"all,omitempty"`
	Name     string         `json:"name,omitempty"` // of a tool or a prompt
	Args     map[string]any `json:"args,omitempty"`
	Progress bool           `json:"progress,omitempty"`
	URI      string         `json:"uri,omitempty"`
	Argument string         `json:"argument,omitempty"`
	Value    string         `json:"value,omitempty"`
	Level    string         `json:"level,omitempty"`
}

func call(name string, args ...any) step {
	s := step{Do: "call", Name: name, Args: map[string]any{}}
	for i := 0; i+1 < len(args); i += 2 {
		s.Args[args[i].(string)] = args[i+1]
	}
	return s
}

// features uses what server-everything has, as far as it ends by itself and
// needs no network.
func (r *rig) features() []step {
	long := call("trigger-long-running-operation", "duration", 0.2, "steps", 4)
	long.Progress = true
	plan := []step{
		{Do: "list", All: true},
		{Do: "ping"},
		{Do: "level", Level: "debug"},
		call("echo", "message", "hello  \u00e9\U0001F600 \"quoted\" \\ \n\t<b>&"),
		call("echo"),
		call("echo", "message", 7),
		call("no-such-tool"),
		call("get-sum", "a", 2, "b", 40.5),
		call("get-structured-content", "location", "Chicago"),
		call("get-structured-content", "location", "nowhere"),
		call("get-tiny-image"),
		call("get-annotated-message", "messageType", "error", "includeImage", true),
		call("get-annotated-message", "messageType", "debug", "includeImage", false),
		call("get-resource-links", "count", 4),
		call("get-resource-reference", "resourceType", "Text", "resourceId", 2),
		call("get-resource-reference", "resourceType", "Blob", "resourceId", 3),
		call("get-roots-list"),
		call("trigger-sampling-request", "prompt", "what now?", "maxTokens", 20),
		call("trigger-elicitation-request"),
		call("trigger-url-elicitation", "url", "https://example.com/form", "message", "open it", "elicitationId", "e-1"),
		long,
		{Do: "prompt", Name: "simple-prompt"},
		{Do: "prompt", Name: "args-prompt", Args: map[string]any{"city": "Zürich", "state": "ZH"}},
		{Do: "prompt", Name: "completable-prompt", Args: map[string]any{"department": "Engineering", "name": "Alice"}},
		{Do: "prompt", Name: "resource-prompt", Args: map[string]any{"resourceType": "Text", "resourceId": "1"}},
		{Do: "prompt", Name: "no-such-prompt"},
		{Do: "complete", Name: "completable-prompt", Argument: "department", Value: "E"},
		{Do: "complete", Name: "completable-prompt", Argument: "name", Value: ""},
		{Do: "read", URI: "demo://resource/dynamic/text/1"},
		{Do: "read", URI: "demo://resource/dynamic/blob/2"},
		{Do: "read", URI: "demo://resource/static/document/architecture.md"},
		{Do: "read", URI: "demo://no/such/resource"},
		{Do: "subscribe", URI: "demo://resource/dynamic/text/1"},
		call("echo", "message", strings.Repeat("a long message of a megabyte ", 36000)),
	}
	return plan
}

// work uses server-filesystem on files without secrets.
func (r *rig) work() []step {
	at := func(name string) string { return filepath.Join(r.files, name) }
	return []step{
		{Do: "list"},
		call("list_allowed_directories"),
		call("list_directory", "path", r.files),
		call("list_directory_with_sizes", "path", r.files, "sortBy", "size"),
		call("directory_tree", "path", r.files),
		call("search_files", "path", r.files, "pattern", "**/*.md"),
		call("read_text_file", "path", at("README.md")),
		call("read_text_file", "path", at("README.md"), "head", 1),
		call("read_text_file", "path", at("missing.txt")),
		call("read_text_file", "path", "/etc/hostname"),
		call("read_multiple_files", "paths", []string{at("README.md"), at("notes/a.txt"), at("missing.txt")}),
		call("read_media_file", "path", at("pixel.png")),
		call("write_file", "path", at("new.txt"), "content", "one\ntwo \"three\"\n"),
		call("edit_file", "path", at("new.txt"), "edits", []map[string]any{{"oldText": "two", "newText": "2"}}, "dryRun", false),
		call("read_text_file", "path", at("new.txt")),
		call("create_directory", "path", at("deep/er")),
		call("move_file", "source", at("new.txt"), "destination", at("deep/er/moved.txt")),
		call("directory_tree", "path", r.files),
		call("write_file", "path", at("big.txt"), "content", strings.Repeat("0123456789 lines of a file\n", 20000)),
		call("read_text_file", "path", at("big.txt"), "tail", 3),
	}
}

// plant makes the files anew.
func (r *rig) plant() error {
	if err := os.RemoveAll(r.files); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.files, "notes"), 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"README.md":   "# A project\n\nIt has a name, and café tables.\n",
		"notes/a.txt": "first line\nsecond line\n",
		"pixel.png":   "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00",
		"deploy.env":  "HOST=db.internal\n" + scenario.KnownName + "=" + r.secrets.Known + "\nTOKEN=" + r.secrets.Unknown + "\n",
		"trace.json":  `{"headers":{"authorization":"Bearer ` + r.secrets.Unknown + `"},"body":"key ` + r.secrets.Known + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(r.files, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// secretive reads secrets from files, and writes them to one.
func (r *rig) secretive() []step {
	at := func(name string) string { return filepath.Join(r.files, name) }
	return []step{
		call("read_text_file", "path", at("deploy.env")),
		call("read_multiple_files", "paths", []string{at("trace.json"), at("deploy.env")}),
		call("write_file", "path", at("out.txt"), "content", "the key is "+r.secrets.Known+" and the token "+r.secrets.Unknown+"!\n"),
		call("read_text_file", "path", at("out.txt")),
		call("search_files", "path", r.files, "pattern", r.secrets.Known),
	}
}

var stand = regexp.MustCompile(`margay-[a-z-]+-[a-z2-7]{14}|\[REDACTED:[a-z-]+\]`)

// protected: the secrets are in what a client sees without Margay, and in
// nothing of what it sees with it, nor in the file that was written; and all
// else is the same.
func (r *rig) protected(direct, through []string) []string {
	var out []string
	whole := strings.Join(direct, "\n")
	if !strings.Contains(whole, r.secrets.Known) || !strings.Contains(whole, r.secrets.Unknown) {
		out = append(out, "without Margay the secrets are not there, so that nothing is shown")
	}
	if leak.In([]byte(strings.Join(through, "\n")), r.secrets.Known, r.secrets.Unknown) {
		out = append(out, "the client saw a secret")
	}
	written, err := os.ReadFile(filepath.Join(r.files, "out.txt"))
	if err != nil || leak.In(written, r.secrets.Known, r.secrets.Unknown) {
		out = append(out, "the server wrote a secret, or nothing")
	}
	even := func(lines []string) []string {
		var out []string
		for _, l := range lines {
			l = strings.NewReplacer(r.secrets.Known, "(secret)", r.secrets.Unknown, "(secret)").Replace(l)
			out = append(out, stand.ReplaceAllString(l, "(secret)"))
		}
		return out
	}
	return append(out, same(even(direct), even(through))...)
}
