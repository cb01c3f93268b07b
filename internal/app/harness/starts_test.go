package harness

import (
	"reflect"
	"strings"
	"testing"
)

// A server is started by its own command, whether Margay is in front of it or not.
func TestStarts(t *testing.T) {
	f := jsonFile()
	f.Routes = map[string]string{"https://x": "http://127.0.0.1:7878/mcp/x"}
	before := []byte(`{"mcpServers":{"a":{"command":"npx","args":["-y","x"],"env":{"K":"v"}},"b":{"url":"https://x"},"c":{"url":"https://y"},"d":{"command":"s","args":["${HOME}"]},"e":{"command":["s"]},"f":7},"projects":{"/p":{"mcpServers":{"g":{"command":"s"}}}}}`)
	want := []Start{
		{Name: "a", Command: []string{"npx", "-y", "x"}, Env: map[string]string{"K": "v"}},
		{Name: "b", Env: map[string]string{}, Remote: true},
		{Name: "c", Env: map[string]string{}, Remote: true},
		{Name: "d", Command: []string{"s", "${HOME}"}, Env: map[string]string{}, Odd: true},
		{Name: "e", Env: map[string]string{}, Odd: true},
		{Name: "g", Command: []string{"s"}, Env: map[string]string{}},
	}
	got, err := f.Starts(before)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%+v\n%+v", err, got, want)
	}
	after, _, err := f.Wrap(before, margay, []string{"--state-dir", "/s"}, func(name string, command []string) []string {
		return []string{"--name", name, "--pack", strings.Join(command, "-")}
	})
	if err != nil || !strings.Contains(string(after), `"args":["--state-dir", "/s", "mcp", "--name", "a", "--pack", "npx--y-x", "--", "npx", "-y","x"]`) {
		t.Fatalf("%v\n%s", err, after)
	}
	for i := range want {
		want[i].Wrapped = strings.Contains("abdg", want[i].Name)
	}
	if got, err = f.Starts(after); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("wrapped: %v\n%+v\n%+v", err, got, want)
	}
	back, _, err := f.Unwrap(after)
	if err != nil || string(back) != strings.Replace(string(before), `{"command":"s"}}}}}`, `{"command":"s", "args": []}}}}}`, 1) {
		t.Errorf("unwrapped: %v\n%s", err, back)
	}
	if _, err := f.Starts([]byte(`{`)); err == nil {
		t.Error("half a file has servers")
	}
}
