package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// lags measures from outside a proxy how long it keeps what has arrived: from
// the return of its last read from the upstream to the end of its flush.
type lags struct {
	mu  sync.Mutex
	all []time.Duration
}

// arrival is when the bytes of one request last arrived from the upstream. The
// proxy reads and writes a stream in one goroutine.
type arrival struct{ at time.Time }

type arrivalKey struct{}

func (l *lags) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

func (l *lags) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &arrival{}
		fw := &flushWriter{ResponseWriter: w, a: a}
		h.ServeHTTP(fw, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, a)))
		l.mu.Lock()
		l.all = append(l.all, fw.lags...)
		l.mu.Unlock()
	})
}

type flushWriter struct {
	http.ResponseWriter
	a    *arrival
	lags []time.Duration
}

// Unwrap lets http.ResponseController find the writer below.
func (w *flushWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError is called by the proxy after each write.
func (w *flushWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if !w.a.at.IsZero() {
		w.lags = append(w.lags, time.Since(w.a.at))
	}
	return err
}

// Flush implements http.Flusher.
func (w *flushWriter) Flush() { _ = w.FlushError() }

func (l *lags) transport() http.RoundTripper {
	return &stamping{&http.Transport{MaxIdleConnsPerHost: 2048, DisableCompression: true}}
}

type stamping struct{ *http.Transport }

func (s *stamping) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.Transport.RoundTrip(r)
	if a, ok := r.Context().Value(arrivalKey{}).(*arrival); ok && err == nil {
		resp.Body = &stampedBody{resp.Body, a}
	}
	return resp, err
}

type stampedBody struct {
	io.ReadCloser
	a *arrival
}

func (b *stampedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.a.at = time.Now()
	return n, err
}
