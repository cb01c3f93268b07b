package environ

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

func TestParse(t *testing.T) {
	type kv = [2]string
	for text, want := range map[string][]kv{
		"":                               nil,
		"# nothing\n\n  # more":          nil,
		"A=b":                            {{"A", "b"}},
		"A = b \r\nB=\r\n":               {{"A", "b"}, {"B", ""}},
		"export A=b\n\texport\tB=c":      {{"A", "b"}, {"B", "c"}},
		"exported=1":                     {{"exported", "1"}},
		"A=b # comment\nB=c#d\nC=#":      {{"A", "b"}, {"B", "c#d"}, {"C", ""}},
		`A="b # c" # d`:                  {{"A", "b # c"}},
		`A="x\ny\"z\\ \$H \q"`:           {{"A", "x\ny\"z\\ $H \\q"}},
		`A='x\n$H'`:                      {{"A", `x\n$H`}},
		"A=`b \"c\" 'd'`":                {{"A", `b "c" 'd'`}},
		"A=\"l1\nl2\nB=no\"\nC=d":        {{"A", "l1\nl2\nB=no"}, {"C", "d"}},
		"A='l1\nl2'\nC=d":                {{"A", "l1\nl2"}, {"C", "d"}},
		"A=\"never closed\nB=c":          {{"A", "never closed"}, {"B", "c"}},
		"A=$B${C:-d}":                    {{"A", "$B${C:-d}"}},
		"A: b\nB:c":                      {{"A", "b"}, {"B", "c"}},
		"no assignment\n=x\n1A=b\nif x;": nil,
		"\xef\xbb\xbfA=b":                {{"A", "b"}},
		"a.b-c=d":                        {{"a.b-c", "d"}},
		"A=p=q==":                        {{"A", "p=q=="}},
		"A=\nB=c":                        {{"A", ""}, {"B", "c"}},
	} {
		var got []kv
		for _, v := range Parse("x/.env", []byte(text)) {
			got = append(got, kv{v.Name, v.Value})
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestParseLines(t *testing.T) {
	vs := Parse("x/.env.local", []byte("# c\nA=\"1\n2\n3\"\n\nB=4\n"))
	if len(vs) != 2 || vs[0].Origin != "file:.env.local:2" || vs[1].Origin != "file:.env.local:6" {
		t.Errorf("got %+v", vs)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("A=\"b\nc\"\nexport B='d' # e\nC=`f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := strings.Count(string(b), "\n") + 1
		if n := len(Parse(".env", b)); n > lines {
			t.Errorf("%d assignments on %d lines", n, lines)
		}
	})
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{".env", ".env.production", ".env.example", ".envrc", ".environment", "env", ".env.local.sample"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("A=b"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".env.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".env.huge"), make([]byte, MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	files, skipped := Files(dir)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	if !reflect.DeepEqual(files, []string{".env", ".env.production", ".envrc"}) || len(skipped) != 1 {
		t.Errorf("files %v, skipped %v", files, skipped)
	}
}

func TestCredentials(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	random := "k4Qz8mfp" + "9LwX2vTn" + "7RbYc3dH"
	pem := "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n", 8) + "-----END " + "PRIVATE KEY-----"
	for _, c := range []struct {
		name, value string
		want        []string
		kind        secret.Kind
	}{
		{"OPENAI_API_KEY", random, []string{random}, secret.KindAPIKey},
		{"DB_PASSWORD", "hunter2hunter2", []string{"hunter2hunter2"}, secret.KindPassword},
		{"PGPASSWORD", "hunter2hunter2", []string{"hunter2hunter2"}, secret.KindPassword},
		{"npmToken", random, []string{random}, secret.KindToken},
		{"SENTRY_DSN", "https://abc123def@o1.ingest.example/2", nil, ""},
		{"DATABASE_URL", "postgres://app:p%40ss-" + random + "@db:5432/x?y=@z", []string{"p%40ss-" + random, "p@ss-" + random}, secret.KindPassword},
		{"WHATEVER", "gh" + "p_" + random + "A1b2C3d4E5f6", []string{"gh" + "p_" + random + "A1b2C3d4E5f6"}, ""},
		{"ANYTHING", "AKIA" + "QWERTYUIOPASDF77", []string{"AKIA" + "QWERTYUIOPASDF77"}, ""},
		{"TLS_PRIVATE_KEY", pem, []string{pem}, secret.KindPrivateKey},
		{"BLOB", pem, []string{pem}, secret.KindPrivateKey},
		{"SSH_AUTH_SOCK", "/tmp/ssh-XXXX/agent.1", nil, ""},
		{"MAX_TOKENS", "4096", nil, ""},
		{"TOKENIZERS_PARALLELISM", "false", nil, ""},
		{"API_KEY", "your-api-key", nil, ""},
		{"API_KEY", "$OTHER_KEY", nil, ""},
		{"API_KEY_FILE", "/run/secrets/key", nil, ""},
		{"STRIPE_PUBLISHABLE_KEY", "pk_" + random, nil, ""},
		{"PATH", "/usr/bin:/bin", nil, ""},
		{"PWD", "/home/me/keyboard", nil, ""},
		{"LANG", "en_GB.UTF-8", nil, ""},
		{"KEYBOARD", "querty-layout", nil, ""},
		{"DB_PASSWORD", "abc", nil, ""},
		{"DB_PASSWORD", "", nil, ""},
		{"DB_PASSWORD", "xxxxxxxx", nil, ""},
		{"USE_AUTH", "true", nil, ""},
	} {
		var got []string
		for _, x := range Credentials(rules, []Variable{{Name: c.name, Value: c.value}}) {
			got = append(got, x.Value)
			if c.kind != "" && x.Kind != c.kind {
				t.Errorf("%s is of kind %s", c.name, x.Kind)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %d credentials, want %d", c.name, len(got), len(c.want))
		}
	}
}

func TestCredentialsOnce(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	v := "k4Qz8mfp" + "9LwX2vTn"
	got := Credentials(rules, []Variable{{"A_KEY", v, "env:A_KEY"}, {"B_KEY", v, "env:B_KEY"}})
	if len(got) != 1 || got[0].Origin != "env:A_KEY" {
		t.Errorf("%d credentials", len(got))
	}
}
