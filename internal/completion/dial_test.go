package completion

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestLocal(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "127.8.9.10:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "192.0.2.1:80": false, "169.254.169.254:80": false, "[fe80::1%lo]:80": false,
		"[::ffff:192.0.2.1]:80": false, "[64:ff9b::7f00:1]:80": false, "[::127.0.0.1]:80": false, "126.255.255.255:80": false, "128.0.0.0:80": false,
		"localhost:80": false, "": false, "/run/socket": false,
	} {
		if err := local(address); (err == nil) != ok || err != nil && !errors.Is(err, ErrElsewhere) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// names resolves every name to what at says, by an answer in the DNS' own
// format.
func names(at func() netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe() // a stream: messages have their length before them
		go func() {
			defer far.Close()
			var n [2]byte
			for {
				if _, err := io.ReadFull(far, n[:]); err != nil {
					return
				}
				q := make([]byte, binary.BigEndian.Uint16(n[:]))
				if _, err := io.ReadFull(far, q); err != nil {
					return
				}
				end := 12
				for q[end] != 0 { // labels of the only question
					end += int(q[end]) + 1
				}
				end += 5 // the root, the type, the class
				a := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
				if addr := at(); q[end-3] == 1 { // type A
					a[7] = 1
					a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
					a = append(a, addr.AsSlice()...)
				}
				if _, err := far.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
					return
				}
			}
		}()
		return near, nil
	}}
}

// What an endpoint says before it is asked is neither an answer nor logged: see
// TestMain.
func TestUnasked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, answer+"\r\n\r\n")
			conn.Close()
		}
	}()
	c := client(t, Config{BaseURL: "http://" + l.Addr().String()})
	for range 300 {
		if _, err := ask(t, c); err == nil || strings.Contains(err.Error(), "QUOTES") {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		d := &deaf{Conn: near, asked: make(chan struct{})}
		heard := 0
		go func() { heard, _ = d.Read(make([]byte, 9)) }()
		go func() { _, _ = far.Write([]byte(answer)) }()
		if synctest.Wait(); heard != 0 {
			t.Error("it hears before it has spoken")
		}
		go func() { _, _ = io.ReadFull(far, make([]byte, 1)) }()
		if _, err := d.Write([]byte{1}); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); heard != 9 {
			t.Errorf("it heard %d bytes", heard)
		}
		d.Close()
		far.Close()

		near, far = net.Pipe()
		d = &deaf{Conn: near, asked: make(chan struct{})}
		go func() { _, _ = d.Read(make([]byte, 1)) }() // ends, or synctest says so
		d.Close()
		far.Close()
	})
}

// What counts is the address that is connected to, each time: not how the
// endpoint is called, nor where it was the last time. Where the endpoint may be
// remote, the environment's proxy is asked, and where not, never.
func TestWhereNamesResolveTo(t *testing.T) {
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, said(answer))
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	here, there := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.1")
	at := here
	before := proxied.Load()
	for _, host := range []string{"model.example.", "localhost.example.", "127.0.0.1.example."} {
		c := client(t, Config{BaseURL: "http://" + net.JoinHostPort(host, u.Port()) + "/v1"})
		c.transport = transport(false, names(func() netip.Addr { return at }))
		for _, at = range []netip.Addr{here, there, here, there} {
			asked.Store(0)
			_, err := ask(t, c)
			if at == here && (err != nil || asked.Load() != 1) {
				t.Errorf("%s on this machine: %v", host, err)
			}
			if at == there && (!errors.Is(err, ErrElsewhere) || asked.Load() != 0) {
				t.Errorf("%s elsewhere: %v", host, err)
			}
		}
	}
	if proxied.Load() != before {
		t.Error("a proxy was asked what may not leave this machine")
	}
	c := client(t, Config{BaseURL: "http://model.example/v1", Remote: true})
	if text, err := ask(t, c); text != "by proxy" || err != nil || proxied.Load() != before+1 {
		t.Errorf("by the environment's proxy: %q, %v", text, err)
	}
}

// Addresses that are written out are held to the same rule, without a packet.
func TestElsewhere(t *testing.T) {
	for _, base := range []string{"http://192.0.2.1/v1", "https://192.0.2.1:443/v1", "http://[2001:db8::1]/v1", "http://0.0.0.0:1/v1", "http://[::ffff:192.0.2.1]/v1"} {
		if _, err := ask(t, client(t, Config{BaseURL: base})); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	srv := httptest.NewServer(nil)
	srv.Close()
	if _, err := ask(t, client(t, Config{BaseURL: srv.URL})); err == nil || !strings.Contains(err.Error(), "reached") {
		t.Error(err)
	}
	tls := httptest.NewTLSServer(nil)
	defer tls.Close()
	if _, err := ask(t, client(t, Config{BaseURL: tls.URL})); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	// No one is at the proxy's, over TLS: what it answers is not told.
	if _, err := ask(t, client(t, Config{BaseURL: "https://model.example/v1", Remote: true})); err == nil || strings.Contains(err.Error(), "QUOTES") {
		t.Error(err)
	}
}
