package app

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

// variable is a named value from an environment or a .env file.
type variable struct{ name, value, origin string }

func environment(env []string) []variable {
	var out []variable
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			out = append(out, variable{name, value, "env"})
		}
	}
	return out
}

// dotenvFiles returns the .env files of a folder.
func dotenvFiles(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, ".env*"))
	var out []string
	for _, n := range names {
		if st, err := os.Stat(n); err == nil && st.Mode().IsRegular() && st.Size() < 1<<20 {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

var assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)$`)

// dotenv reads the assignments of a .env file: comments, export, single and
// double quotes (over several lines too). Expansions are left as they are.
func dotenv(file string, b []byte) []variable {
	var out []variable
	lines := strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		m := assignment.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		line, value := i+1, m[2]
		if value != "" && (value[0] == '"' || value[0] == '\'' || value[0] == '`') {
			q := value[:1]
			value = value[1:]
			for !closed(value, q) && i+1 < len(lines) {
				i++
				value += "\n" + lines[i]
			}
			if at := end(value, q); at >= 0 {
				value = value[:at]
			}
			if q == `"` {
				value = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(value)
			}
		} else {
			if at := strings.Index(value, " #"); at >= 0 {
				value = value[:at]
			}
			value = strings.TrimSpace(value)
		}
		out = append(out, variable{m[1], value, fmt.Sprintf("%s:%d", filepath.Base(file), line)})
	}
	return out
}

// end returns where the closing quote stands, or -1.
func end(s, quote string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && quote == `"` {
			i++
			continue
		}
		if s[i] == quote[0] {
			return i
		}
	}
	return -1
}

func closed(s, quote string) bool { return end(s, quote) >= 0 }

var (
	credentialName = regexp.MustCompile(`(?i)(?:pass(?:word|wd|phrase)?|secret|token|api_?key|access_?key|private_?key|credential|_key|_pwd|_dsn|auth)(?:_|$|[0-9])|database_url|_pat$`)
	publicName     = regexp.MustCompile(`(?i)^(?:path|home|pwd|oldpwd|shell|user|term|lang|ssh_auth_sock|gpg_agent_info|xauthority|dbus_|key_?id)|public|_key_?id$|_file$|_path$|_dir$|_url$|_name$|_type$|_ttl$|_expiry$|_length$`)
)

// credentials keeps the variables that hold credentials: by their name, or by
// a value that is a credential whatever its name. Of a URL with a password,
// the password counts.
func credentials(vars []variable) []variable {
	rules, err := recognise.Default()
	var out []variable
	for _, v := range vars {
		if v.value == "" || len(v.value) > secret.MaxLength {
			continue
		}
		found := false
		if err == nil {
			for _, m := range rules.Find([]byte(v.value)) {
				if m.Rule.Class == recognise.ClassPersonal || m.Continues || m.Capped {
					continue
				}
				part := v.value[m.Start:m.End]
				if m.Rule.ID == recognise.PrivateKeyID {
					part = v.value
				}
				out = append(out, variable{v.name, part, v.origin})
				found = true
				break
			}
		}
		if found || publicName.MatchString(v.name) || !credentialName.MatchString(v.name) {
			continue
		}
		if len(v.value) < secret.MinLength || strings.HasPrefix(v.value, "/") || strings.Contains(v.value, "://") || trivial(v.value) {
			continue
		}
		out = append(out, v)
	}
	return out
}

// trivial values name or switch something; they are no credentials.
func trivial(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "none", "null", "yes", "enabled", "disabled", "auto", "default", "changeme", "password", "secret", "token":
		return true
	}
	return strings.HasPrefix(s, "$") || strings.HasPrefix(s, "<")
}

func kindOfName(name string) secret.Kind {
	n := strings.ToLower(name)
	switch {
	case strings.Contains(n, "private_key"):
		return secret.KindPrivateKey
	case strings.Contains(n, "pass"), strings.HasSuffix(n, "_pwd"):
		return secret.KindPassword
	case strings.Contains(n, "token"), strings.HasSuffix(n, "_pat"):
		return secret.KindToken
	case strings.Contains(n, "key"):
		return secret.KindAPIKey
	case strings.Contains(n, "dsn"), strings.HasSuffix(n, "database_url"):
		return secret.KindConnectionString
	}
	return secret.KindSecret
}
