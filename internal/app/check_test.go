package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/doctor"
)

// wrong are configurations with one wrong value each, for every setting that has
// accepted values.
func wrong(t reflect.Type, indent string) map[string]string {
	out := map[string]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		key, is, ft := f.Tag.Get("yaml"), f.Tag.Get("is"), f.Type
		line, inner := indent+key+":", indent+"  "
		if ft.Kind() == reflect.Map && ft.Elem().Kind() == reflect.Struct {
			line += "\n" + inner + "x:"
			if _, has := ft.Elem().FieldByName("URL"); has {
				line += "\n" + inner + "  url: https://x.example/v1"
			}
			ft, inner = ft.Elem(), inner+"  "
		}
		switch {
		case ft.Kind() == reflect.Struct:
			for name, text := range wrong(ft, inner) {
				out[key+"."+name] = line + "\n" + text
			}
		case is == "":
		case ft.Kind() == reflect.Int:
			out[key] = line + " -3"
		default:
			out[key] = line + " zzz"
		}
	}
	return out
}

// starts are so many good patterns that begin with one of 25 texts of length and
// some bytes.
func starts(n, length int) string {
	var out []string
	for i := range n {
		branches := make([]string, 25)
		for j := range branches {
			branches[j] = fmt.Sprintf("%c%d", 'a'+j, i)
		}
		rest := strings.Repeat("q", length)
		out = append(out, fmt.Sprintf("{id: acme-%d, pattern: '(?:%s)%s', samples: {match: [%s]}}", i, strings.Join(branches, "|"), rest, branches[0]+rest))
	}
	return strings.Join(out, ", ")
}

// TestOneValidation: margay config check, doctor and serve refuse the same
// configurations and states, with the same words and next step.
func TestOneValidation(t *testing.T) {
	cases := map[string]func(t *testing.T, dir string) string{}
	text := func(s string) func(*testing.T, string) string { return func(*testing.T, string) string { return s } }
	generated := wrong(reflect.TypeFor[config.Config](), "")
	if len(generated) < 25 {
		t.Fatalf("only %d settings have accepted values", len(generated))
	}
	for name, s := range generated {
		cases["value of "+name] = text(s)
	}
	file := func(t *testing.T, path, body string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]string{
		"version":                     "version: 9",
		"unknown key":                 "polcy: {}",
		"broken YAML":                 "policy: {prompt: ",
		"listen":                      "listen: nonsense",
		"listen beyond loopback":      "listen: 0.0.0.0:7878",
		"listen, odd":                 "listen: 0x7f.1:7878",
		"upstream unknown":            "upstream: nowhere",
		"upstream itself":             "listen: 127.0.0.1:7979\nupstream: http://LocalHost.:7979/v1",
		"anthropic itself":            "listen: 127.0.0.1:7979\nanthropic: http://[::1]:7979",
		"two upstreams":               "upstreams: {a: {url: https://a.example/v1}, b: {url: https://b.example/v1}}",
		"upstream's name":             "upstreams: {v1: {url: https://a.example/v1}}",
		"upstream's credentials":      "upstreams: {a: {url: https://me:x@a.example/v1}}",
		"upstream's certificates":     "upstreams: {a: {url: https://a.example/v1, ca_file: no/such.pem}}",
		"upstream's model":            "upstreams: {a: {url: https://a.example/v1, monitor: {model: m}}}",
		"kind":                        "policy: {prompt: {api-kee: redact}}",
		"action":                      "policy: {generate: {api-key: redct}}",
		"no pack":                     "taint: {mode: on, packs: [nothing]}",
		"no file of a pack":           "taint: {mode: on, packs: [./no/pack.yaml]}",
		"broken pack":                 "taint: {mode: on, packs: [DIR/pack.yaml]}",
		"pack twice":                  "taint: {mode: on, packs: [claude-code, claude-code]}",
		"server without a pack":       "taint: {mode: on, servers: {files: nothing}}",
		"user of sets":                "taint: {mode: on, lattice: sets}",
		"odd user of sets":            "taint: {mode: on, lattice: sets, self: \"a b, {c}\"}",
		"no judge":                    "taint: {mode: on, screen: judge}",
		"judge without a model":       "taint: {mode: on, screen: judge, judge: {url: 'http://127.0.0.1:9/v1'}}",
		"judge with credentials":      "taint: {mode: on, screen: judge, judge: {url: 'http://u:p@127.0.0.1:9/v1', model: m}}",
		"judge elsewhere":             "taint: {mode: on, screen: judge, judge: {url: 'http://m.example/v1', model: m}}",
		"judge's key":                 "taint: {mode: on, screen: judge, judge: {url: 'http://127.0.0.1:9/v1', model: m, key: \"a\\nb\"}}",
		"judge's time":                "taint: {mode: on, screen: judge, judge: {url: 'http://127.0.0.1:9/v1', model: m, wait: soon}}",
		"judge itself":                "listen: 127.0.0.1:7979\ntaint: {mode: on, screen: judge, judge: {url: 'http://localhost:7979/v1', model: m}}",
		"defender itself":             "listen: 127.0.0.1:7979\ndeclassify: {mode: on, defender: llm, llm: {url: 'http://127.0.0.1:7979/v1', model: m}}",
		"no local model":              "taint: {mode: on, screen: saliency}",
		"local model elsewhere":       "taint: {mode: on, screen: saliency, saliency: {url: 'http://m.example/v1'}}",
		"local model's time":          "taint: {mode: on, screen: saliency, saliency: {url: 'http://127.0.0.1:9/v1', wait: soon}}",
		"rubrics that are no folder":  "declassify: {mode: on, rubrics: DIR/pack.yaml}",
		"altered rubric":              "declassify: {mode: on, rubrics: DIR/rubrics}",
		"unknown task":                "declassify: {mode: on, task: nothing}",
		"no solver":                   "declassify: {mode: on, validator: z3}",
		"no endpoint":                 "declassify: {mode: on, defender: llm}",
		"endpoint elsewhere":          "declassify: {mode: on, defender: llm, llm: {url: 'http://m.example/v1', model: m}}",
		"endpoint's key":              "declassify: {mode: on, defender: llm, llm: {url: 'http://127.0.0.1:9/v1', model: m, key: \"a\\nb\"}}",
		"arguments":                   "declassify: {tools: {send: {args: {to: ''}}}}",
		"files":                       "declassify: {tools: {send: {files: {to: ['[']}}}}",
		"model of the monitor":        "monitor: {mode: report, model: no/model}",
		"broken model of the monitor": "monitor: {mode: report, model: DIR/pack.yaml}",
		"server itself":               "listen: 127.0.0.1:7979\nmcp: {servers: {a: {url: 'http://127.0.0.1:7979/mcp'}}}",
		"server's certificates":       "mcp: {servers: {a: {url: 'https://a.example/mcp', ca_file: DIR/pack.yaml}}}",
		"server's policy":             "mcp: {servers: {a: {url: 'https://a.example/mcp', policy: {on_red: halt}}}}",
		"password":                    "console: {users: {a: {password: hunter, role: viewer}}}",
		"proxies":                     "console: {header: X-User, proxies: [nobody]}",
		"header without proxies":      "console: {header: X-User}",
		"pattern's id":                "secrets: {patterns: [{id: github-pat, pattern: 'acme_[a-z]{9}', samples: {match: [acme_qwertzuio]}}]}",
		"pattern's kind":              "secrets: {patterns: [{id: acme, kind: email, pattern: 'acme_[a-z]{9}', samples: {match: [acme_qwertzuio]}}]}",
		"pattern's text":              "secrets: {patterns: [{id: acme, pattern: 'acme_[a-z', samples: {match: [acme_qwertzuio]}}]}",
		"unbounded pattern":           "secrets: {patterns: [{id: acme, pattern: 'acme_[a-z]+', samples: {match: [acme_qwertzuio]}}]}",
		"short pattern":               "secrets: {patterns: [{id: acme, pattern: 'acme_[a-z]{9}|x', samples: {match: [acme_qwertzuio]}}]}",
		"pattern beyond what is held": "limits: {held: 64}\nsecrets: {patterns: [{id: acme, pattern: 'acme_[a-z]{9,60}', samples: {match: [acme_qwertzuio]}}]}",
		"pattern without samples":     "secrets: {patterns: [{id: acme, pattern: 'acme_[a-z]{9}'}]}",
		"sample that is not found":    "secrets: {patterns: [{id: acme, pattern: 'acme_[a-z]{9}', samples: {match: [acme-qwertzuio]}}]}",
		"sample that is found":        "secrets: {patterns: [{id: acme, pattern: 'acme_[a-z]{9}', samples: {match: [acme_qwertzuio], no_match: [acme_qwertzuio]}}]}",
		"pattern's unknown key":       "secrets: {patterns: [{id: acme, regex: 'acme_[a-z]{9}'}]}",
		"patterns with long starts":   "secrets: {patterns: [" + starts(100, 200) + "]}",
		"long starts with Margay's":   "secrets: {patterns: [" + starts(100, 20) + "]}",
		"one pattern too many":        "secrets: {patterns: [" + starts(101, 9) + "]}",
		"stop-word":                   "secrets: {stop_words: [ab]}",
		"log":                         "log: {file: no/such/folder/log}",
		"log is a folder":             "log: {file: DIR}",
		"state in a file":             "state_dir: DIR/pack.yaml/x",
		"keys in a file":              "key_dir: DIR/pack.yaml/x",
		"no database":                 "store: DIR/pack.yaml",
		"database is a folder":        "store: DIR/rubrics",
	} {
		cases[name] = func(t *testing.T, dir string) string {
			file(t, filepath.Join(dir, "pack.yaml"), "pack: [")
			file(t, filepath.Join(dir, "rubrics", "x.rubric"), "margay-signed-rubric-v1\nnothing\n")
			file(t, filepath.Join(dir, "rubrics", "active"), "x\n")
			return strings.ReplaceAll(s, "DIR", dir)
		}
	}
	key := func(name, body string, mode os.FileMode, and string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "state", "keys", name)
			file(t, path, body)
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			return "state_dir: " + filepath.Join(dir, "state") + "\n" + and
		}
	}
	whole := "margay-key-v1\n" + strings.Repeat("A", 43) + "=\n"
	cases["broken key"] = key("seal.key", "nothing\n", 0o600, "")
	cases["key that others may read"] = key("pseudonym.key", whole, 0o644, "")
	cases["lost database"] = key("fingerprint.key", whole, 0o600, "")
	cases["broken key of the ledger"] = key("ledger.key", "nothing\n", 0o600, "declassify: {mode: on}")
	cases["keys of the environment"] = func(t *testing.T, _ string) string {
		t.Setenv(config.EnvKeys, "nonsense")
		return ""
	}
	cases["key of the ledger in the environment"] = func(t *testing.T, _ string) string {
		t.Setenv(config.EnvLedgerKey, "nonsense")
		return "declassify: {mode: on}"
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"} {
				t.Setenv(name, t.TempDir())
			}
			t.Setenv("PATH", t.TempDir())
			dir := t.TempDir()
			body := make(t, dir)
			if !strings.Contains(body, "listen:") {
				body += "\nlisten: 127.0.0.1:0\n"
			}
			path := filepath.Join(t.TempDir(), "c.yaml")
			file(t, path, body)
			serve := ended(t, path, "serve")
			if serve.code == 0 || serve.detail == "" || serve.hint == "" {
				t.Fatalf("serve ended with %+v on:\n%s", serve, body)
			}
			if check := ended(t, path, "config", "check"); check != serve {
				t.Errorf("serve:        %+v\nconfig check: %+v", serve, check)
			}
			var out, errs strings.Builder
			Main([]string{"--config", path, "--json", "doctor", "--offline"}, strings.NewReader(""), &out, &errs)
			var all []doctor.Check
			if err := json.Unmarshal([]byte(out.String()), &all); err != nil {
				t.Fatal(err)
			}
			said := false
			for _, c := range all {
				said = said || c.Status == doctor.Fail && (c.Name == "start" || c.Name == "configuration") && c.Detail == serve.detail && c.Hint == serve.hint
			}
			if !said {
				t.Errorf("serve:  %+v\ndoctor: %+v", serve, all)
			}
		})
	}
}

// ending is how a command refused to go on.
type ending struct {
	code         int
	detail, hint string
}

// ended runs a command that must end by itself.
func ended(t *testing.T, path string, args ...string) (e ending) {
	t.Helper()
	var out, errs strings.Builder
	done := make(chan int, 1)
	go func() { done <- Main(append([]string{"--config", path}, args...), strings.NewReader(""), &out, &errs) }()
	select {
	case e.code = <-done:
	case <-time.After(time.Minute):
		panic(fmt.Sprintf("%v goes on", args)) // and would for ever
	}
	for line := range strings.Lines(errs.String()) {
		if s, ok := strings.CutPrefix(line, "margay: "); ok {
			e.detail = strings.TrimSpace(s)
		}
		if s, ok := strings.CutPrefix(line, "hint: "); ok {
			e.hint = strings.TrimSpace(s)
		}
	}
	return e
}

// TestCheckMakesNothing: a check of a first start leaves no trace, and passes.
func TestCheckMakesNothing(t *testing.T) {
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(name, t.TempDir())
	}
	path := filepath.Join(t.TempDir(), "c.yaml")
	dir := filepath.Join(t.TempDir(), "state")
	body := "state_dir: " + dir + "\ntaint: {mode: on}\ndeclassify: {mode: on}\nmonitor: {mode: report}\nlog: {file: " + dir + ".log}\n"
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := ended(t, path, "config", "check"); e != (ending{}) {
		t.Errorf("%+v", e)
	}
	for _, made := range []string{dir, dir + ".log"} {
		if _, err := os.Stat(made); err == nil {
			t.Errorf("the check made %s", made)
		}
	}
}
