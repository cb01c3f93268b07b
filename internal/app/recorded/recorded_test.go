package recorded

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	const ok = `{"messages":[{"role":"user","text":"hi"}]}`
	for name, c := range map[string]struct{ file, want string }{
		"nothing":       {"\n", "f.jsonl: no sessions"},
		"not JSON":      {ok + "\nhello\n", "f.jsonl, line 2: "},
		"a list":        {"[]\n", "line 1: a JSON object is expected"},
		"twice":         {`{"messages":[],"messages":[]}`, "duplicate key"},
		"unknown":       {`{"goals":[],"messages":[{"role":"user","text":"hi"}]}`, `line 1: unknown field "goals"; a session has id, suite`},
		"in a message":  {`{"messages":[{"role":"user","content":"hi"}]}`, `unknown field "content"`},
		"wrong kind":    {`{"messages":{"role":"user"}}`, "line 1: cannot unmarshal object"},
		"no messages":   {`{"id":"x","messages":[]}`, "line 1: no messages"},
		"no role":       {`{"messages":[{"text":"hi"}]}`, "message 1: no role"},
		"another role":  {`{"messages":[{"role":"bot","text":"hi"}]}`, `message 1: unknown role "bot"; known roles are system`},
		"a user's call": {`{"messages":[{"role":"user","text":"","calls":[{"id":"1","name":"x","args":{}}]}]}`, "message 1: a message of the role user has calls"},
		"callid":        {`{"messages":[{"role":"user","text":"","callid":"1"}]}`, "a message of the role user has a callid"},
		"no callid":     {`{"messages":[{"role":"tool","text":""}]}`, "a tool's message without a callid"},
		"no call":       {ok + "\n\n" + `{"messages":[{"role":"tool","text":"","callid":"7"}]}`, `line 3: message 1: it is the result of the call "7"`},
		"no id":         {`{"messages":[{"role":"assistant","text":"","calls":[{"name":"x","args":{}}]}]}`, "message 1: call 1: no id"},
		"no name":       {`{"messages":[{"role":"assistant","text":"","calls":[{"id":"1","args":{}}]}]}`, "call 1: no name"},
		"no args":       {`{"messages":[{"role":"assistant","text":"","calls":[{"id":"1","name":"x"}]}]}`, "call 1: no args"},
		"args a text":   {`{"messages":[{"role":"assistant","text":"","calls":[{"id":"1","name":"x","args":"{}"}]}]}`, "call 1: args are not an object"},
		"goal":          {`{"goal":[{"args":{}}],"messages":[{"role":"user","text":"hi"}]}`, "goal 1: no name"},
	} {
		if _, err := Read(strings.NewReader(c.file), "f.jsonl", 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	all, err := Read(strings.NewReader(ok+"\n\n"+ok), "f.jsonl", 0)
	if err != nil || len(all) != 2 || all[1].ID != "3" || all[1].Suite != "f" {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err = Read(strings.NewReader(ok+"\nhello"), "f.jsonl", 1); err != nil || len(all) != 1 {
		t.Errorf("one of two: %d, %v", len(all), err)
	}
}

func TestReadFile(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(`{"messages":[{"role":"user","text":"hi"}]}`))
	z.Close()
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if all, err := ReadFile(write("a.jsonl.gz", b.Bytes()), 0); err != nil || all[0].Suite != "a" {
		t.Errorf("%+v, %v", all, err)
	}
	for name, content := range map[string][]byte{"cut.jsonl.gz": b.Bytes()[:b.Len()-9], "plain.jsonl.gz": []byte("{}")} {
		if _, err := ReadFile(write(name, content), 0); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"a","suite":"s","tools":["Read"],"packs":["claude-code"],"trusted":["/work"],"cwd":"/work","goal":[{"name":"Bash","args":{}}],"messages":[
		{"role":"user","text":"hi"},{"role":"assistant","text":"","calls":[{"id":"1","name":"Read","args":{"file_path":"/work/a"}}]},{"role":"tool","text":"x","callid":"1","tool":"Read"}]}`))
	f.Add([]byte(`{"messages":[{"role":"bot","text":"hi"}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parse(line)
		if err != nil {
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if two, err := parse(again); err != nil || len(two.Messages) != len(s.Messages) {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
