// Package httpedge has the two edges of every HTTP connector: which requests it
// accepts, and how it reaches an upstream.
package httpedge

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/address"
)

// Guard admits only requests of the user's own programs. The zero Guard admits
// what is addressed to loopback and does not come from a web page.
type Guard struct {
	// Hosts are the names, besides loopback ones, that requests may be
	// addressed to. "*" takes any.
	Hosts []string
	// Origins are the web origins that may send requests. None by default.
	Origins []string
	// Auth, unless it is empty, is required in the header Margay-Token.
	Auth string
}

// Refuse returns why a request is not from the user's own programs, or an empty
// code. A web page that reaches loopback shows by its Host (DNS rebinding) or
// Origin. It is safe for concurrent use.
func (g *Guard) Refuse(r *http.Request) (code, detail string) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if !(address.Here(host) || slices.ContainsFunc(g.Hosts, func(h string) bool { return h == "*" || strings.EqualFold(h, strings.TrimSuffix(host, ".")) })) {
		return "foreign-host", "the Host header names neither loopback nor a host of access.hosts"
	}
	if o := r.Header.Get("Origin"); o != "" && !slices.Contains(g.Origins, o) {
		return "foreign-origin", "requests from web pages are refused unless access.origins lists the page's origin"
	}
	if g.Auth != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Margay-Token")), []byte(g.Auth)) != 1 {
		return "unauthorized", "the header Margay-Token is missing or wrong"
	}
	return "", ""
}

// ErrTooLarge says that a body is larger than the limit.
var ErrTooLarge = errors.New("too large")

// ReadAll reads a body of at most limit bytes. Its length, as far as a header says
// one, saves memory; whoever claims more than comes gets little for it.
func ReadAll(r io.Reader, length int64, limit int) ([]byte, error) {
	const first, most = 512, 16 // times what has come
	size := int(min(max(length, 0), int64(limit)))
	b := make([]byte, 0, min(size+1, first*most))
	if size == 0 {
		b = make([]byte, 0, first)
	}
	for len(b) <= limit {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case errors.Is(err, io.EOF) && len(b) <= limit:
			return b, nil
		case err != nil && !errors.Is(err, io.EOF):
			return b, err
		case len(b) == cap(b):
			next := max(2*len(b), min(size+1, most*len(b)))
			b = append(make([]byte, 0, min(next, limit+1)), b...)
		}
	}
	return nil, ErrTooLarge
}

// Reason is why an upstream could not be reached, without its URL, which may hold
// a query.
func Reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// Transport returns a transport for an upstream. It uses the proxy that the
// environment names. CAFile, unless it is empty, adds certificates to those that
// the system trusts. Idle bounds the wait for the header of an answer.
func Transport(caFile string, idle time.Duration) (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dial(&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}),
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: idle,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true, // compressed text can't be scanned
		ForceAttemptHTTP2:     true,
		ReadBufferSize:        readBuffer,
		WriteBufferSize:       2 << 10, // a header; bodies go past it
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
