// Package httpedge is what every HTTP connector does at its two edges: who may
// come in, and how an upstream is reached.
package httpedge

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Guard tells the user's own programs from others. The zero Guard lets in
// what is addressed to loopback and does not come from a web page.
type Guard struct {
	// Hosts are the names, besides loopback ones, that requests may be
	// addressed to. "*" takes any.
	Hosts []string
	// Origins are the web origins that may send requests. None by default.
	Origins []string
	// Auth, where not empty, is asked for in the header Margay-Token.
	Auth string
}

// Stranger says why a request may not come from the user's own programs; an
// empty code where it may. A web page that reaches for loopback gives itself
// away by Host (DNS rebinding) or Origin. It is safe for concurrent use.
func (g *Guard) Stranger(r *http.Request) (code, detail string) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	if !(host == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(g.Hosts, host) || slices.Contains(g.Hosts, "*")) {
		return "foreign-host", "the Host header names neither loopback nor a configured host"
	}
	if o := r.Header.Get("Origin"); o != "" && !slices.Contains(g.Origins, o) {
		return "foreign-origin", "requests from web pages are refused unless origins lists the page's origin"
	}
	if g.Auth != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Margay-Token")), []byte(g.Auth)) != 1 {
		return "unauthorized", "the header Margay-Token is missing or wrong"
	}
	return "", ""
}

// Transport returns a transport for an upstream, by the proxy that the
// environment names. CAFile adds certificates to those the system trusts;
// empty for none. Idle bounds the wait for an answer's head.
func Transport(caFile string, idle time.Duration) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: idle,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true, // what is compressed can't be looked at
		ForceAttemptHTTP2:     true,
		ReadBufferSize:        4 << 10,
		WriteBufferSize:       4 << 10,
	}
	if caFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(filepath.Clean(caFile))
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates: %s holds none", caFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}
