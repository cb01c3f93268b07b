package completion

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/margaydev/margay/internal/address"
)

// ErrElsewhere says that the endpoint is not on this machine, and may not be
// remote.
var ErrElsewhere = errors.New("the endpoint is not on this machine, and is not allowed to be remote")

// transport makes a connection for each request, so that nothing needs to be
// closed and every address is checked. names resolves names; nil is the system's
// resolver.
func transport(remote bool, names *net.Resolver) *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, Resolver: names}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := d.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &deaf{Conn: conn, asked: make(chan struct{})}, nil
		},
		TLSHandshakeTimeout:    10 * time.Second,
		DisableKeepAlives:      true,
		DisableCompression:     true, // the bound is on what comes over the wire
		MaxResponseHeaderBytes: 64 << 10,
	}
	if remote {
		t.Proxy = http.ProxyFromEnvironment
		return t
	}
	// No proxy: even one on this machine would carry questions away. The check
	// is at the last moment, on the address that the kernel gets.
	d.Control = func(_, address string, _ syscall.RawConn) error { return local(address) }
	return t
}

// deaf is a connection that reads nothing before the first write: net/http would
// log what the other end sends unasked.
type deaf struct {
	net.Conn
	once  sync.Once
	asked chan struct{}
}

func (d *deaf) ask() { d.once.Do(func() { close(d.asked) }) }

func (d *deaf) Read(p []byte) (int, error) {
	<-d.asked
	return d.Conn.Read(p)
}

func (d *deaf) Write(p []byte) (int, error) {
	d.ask()
	return d.Conn.Write(p)
}

func (d *deaf) Close() error {
	d.ask() // for readers to end
	return d.Conn.Close()
}

// local checks that an address with a port is on this machine.
func local(at string) error {
	a, err := netip.ParseAddrPort(at)
	if err != nil || !address.Here(a.Addr().String()) {
		return ErrElsewhere
	}
	return nil
}

// plainly says why there is no response. Errors of net/http quote what the
// endpoint wrote; plainly leaves that out.
func plainly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the endpoint: %w", ctx.Err())
	}
	var op *net.OpError
	if errors.As(err, &op) {
		if op.Op == "proxyconnect" { // it may hold the proxy's words
			return errors.New("the proxy that the environment names can't connect to the endpoint")
		}
		return fmt.Errorf("the endpoint can't be reached: %w", op)
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return fmt.Errorf("the endpoint can't be reached: %w", cert)
	}
	return errors.New("the endpoint's answer is incomplete, or is not HTTP")
}
