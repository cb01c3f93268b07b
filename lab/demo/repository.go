package demo

import (
	"crypto/ed25519"
	"crypto/x509"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"strings"
)

// files is the simulated repository. Where a secret belongs stands its name
// in double braces: values are made at run time, none is in the source.
//
//go:embed all:repo
var files embed.FS

const envFile = ".env.production"

// planted is a secret of the repository.
type planted struct{ name, value string }

// repository is the simulated repository with its secrets in place.
type repository struct {
	planted []planted
	files   map[string]string
}

// newRepository draws the secrets and puts them into the files.
func newRepository(seed uint64) (*repository, error) {
	ps, err := plant(seed)
	if err != nil {
		return nil, err
	}
	r := &repository{planted: ps, files: map[string]string{}}
	err = fs.WalkDir(files, "repo", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(b)
		for _, p := range ps {
			text = strings.ReplaceAll(text, "{{"+p.name+"}}", p.value)
		}
		r.files[strings.TrimPrefix(path, "repo/")] = text
		return nil
	})
	return r, err
}

func (r *repository) value(name string) string {
	for _, p := range r.planted {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

const (
	alnum   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	upper32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// plant draws secrets in the formats that are found in real repositories.
func plant(seed uint64) ([]planted, error) {
	r := rand.New(rand.NewPCG(seed, 20260)) //nolint:gosec // a demonstration's values need no secrecy
	draw := func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		return string(b)
	}
	keySeed := make([]byte, ed25519.SeedSize)
	for i := range keySeed {
		keySeed[i] = byte(r.Uint32())
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(keySeed))
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	claims, err := json.Marshal(map[string]any{"sub": draw(alnum, 8), "role": "admin", "iat": 1772442845})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	jwt := b64([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64(claims) + "." + draw(alnum, 43)
	return []planted{
		{"AWS_ACCESS_KEY_ID", "AKIA" + draw(upper32, 16)},
		{"AWS_SECRET_ACCESS_KEY", draw(alnum, 40)},
		{"STRIPE_SECRET_KEY", "sk_" + "live_" + draw(alnum, 24)},
		{"DATABASE_PASSWORD", draw(alnum, 9) + "-" + draw(alnum, 8)},
		{"GITHUB_TOKEN", "gh" + "p_" + draw(alnum, 36)},
		{"ADMIN_JWT", jwt},
		{"TLS_PRIVATE_KEY", strings.TrimSpace(string(key))},
	}, nil
}

// in returns the names of the secrets that stand in a text, plain or in one
// of the encodings of forms. It knows nothing of Margay's detectors.
func (r *repository) in(text string) []string {
	texts := []string{text, dense(text)}
	found := []string{}
	for _, p := range r.planted {
		if stands(p.value, texts) {
			found = append(found, p.name)
		}
	}
	return found
}

func stands(value string, texts []string) bool {
	// Of a value over several lines, one line is enough.
	for _, part := range strings.Split(value, "\n") {
		if strings.HasPrefix(part, "-----") || len(part) < 12 {
			continue
		}
		for _, f := range forms(part) {
			for _, t := range texts {
				if strings.Contains(t, f) {
					return true
				}
			}
		}
	}
	return false
}

// dense leaves out what stands between characters to disguise them.
func dense(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\n', '\r', '\t', '\u200b', '\u200c', '\u200d', '\ufeff':
			return -1
		}
		return r
	}, s)
}

// forms are the ways in which a value may stand in a text.
func forms(v string) []string {
	out := []string{v, hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))), url.QueryEscape(v), reversed(v), rot13(v)}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		// A value inside a longer text may begin at any of three places of
		// a group; the characters that it shares with others are left out.
		for shift, skip := range []int{0, 2, 3} {
			s := enc.EncodeToString(append(make([]byte, shift), v...))[skip:]
			if (shift+len(v))%3 != 0 {
				s = s[:len(s)-1]
			}
			out = append(out, s)
		}
	}
	if q, err := json.Marshal(v); err == nil {
		out = append(out, strings.Trim(string(q), `"`))
	}
	return out
}

func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}
