package httpedge_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/httpedge"
)

func TestRefuse(t *testing.T) {
	open := httpedge.Guard{}
	team := httpedge.Guard{Hosts: []string{"margay.example"}, Origins: []string{"https://console.example"}, Auth: "sesame"}
	for _, c := range []struct {
		name                string
		guard               *httpedge.Guard
		host, origin, token string
		want                string
	}{
		{"loopback", &open, "127.0.0.1:7878", "", "", ""},
		{"loopback, v6", &open, "[::1]:7878", "", "", ""},
		{"localhost without a port", &open, "localhost", "", "", ""},
		{"loopback in other spellings", &open, "LOCALHOST.:7878", "", "", ""},
		{"loopback as a number", &open, "0x7f.1:7878", "", "", ""},
		{"loopback, mapped", &open, "[::ffff:127.0.0.1]:7878", "", "", ""},
		{"octal or decimal", &open, "0177.0.0.1:7878", "", "", "foreign-host"},
		{"the team's in capitals", &team, "MARGAY.example.", "", "sesame", ""},
		{"rebinding", &open, "evil.example:7878", "", "", "foreign-host"},
		{"no host", &open, "", "", "", "foreign-host"},
		{"a name that begins like loopback", &open, "127.0.0.1.evil.example", "", "", "foreign-host"},
		{"any address that is not loopback", &open, "192.0.2.1:7878", "", "", "foreign-host"},
		{"a web page", &open, "127.0.0.1:7878", "https://evil.example", "", "foreign-origin"},
		{"a page without an origin", &open, "127.0.0.1:7878", "null", "", "foreign-origin"},
		{"the team's", &team, "margay.example", "https://console.example", "sesame", ""},
		{"no token", &team, "margay.example", "", "", "unauthorized"},
		{"a part of the token", &team, "margay.example", "", "sesam", "unauthorized"},
		{"any host", &httpedge.Guard{Hosts: []string{"*"}}, "anywhere.example", "", "", ""},
	} {
		r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.token != "" {
			r.Header.Set("Margay-Token", c.token)
		}
		if code, _ := c.guard.Refuse(r); code != c.want {
			t.Errorf("%s: %q, want %q", c.name, code, c.want)
		}
	}
}

// What can't be decoded is refused, whichever of several headers says so.
func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    error
	}{
		"none": {nil, nil}, "identity": {[]string{"Identity"}, nil}, "br": {[]string{"br"}, httpedge.ErrEncoding}, "two": {[]string{"identity", "br"}, httpedge.ErrEncoding},
		"not gzip": {[]string{"gzip"}, httpedge.ErrGzip}, "twice": {[]string{"gzip, gzip"}, httpedge.ErrEncoding},
	} {
		resp := &http.Response{Header: http.Header{"Content-Encoding": c.headers}, Body: io.NopCloser(strings.NewReader("x"))}
		if err := httpedge.Decode(resp); !errors.Is(err, c.want) || err == nil && len(resp.Header["Content-Encoding"]) > 0 {
			t.Errorf("%s: %v, %v", name, err, resp.Header)
		}
	}
}

func TestCertificatesThatAreNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{file, file + ".missing"} {
		if _, err := httpedge.Transport(f, 0); err == nil {
			t.Errorf("%s was taken", filepath.Base(f))
		}
	}
	if tr, err := httpedge.Transport("", 0); err != nil || tr.TLSClientConfig != nil {
		t.Errorf("no file: %v, %v", tr.TLSClientConfig, err)
	}
}
