package serve

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/store/memory"
)

// TestAsksForWhatCounts: log-probabilities are asked for where a risk depends on them,
// and only there.
func TestAsksForWhatCounts(t *testing.T) {
	weighs := func(w float64) string {
		spec := monitor.Default().Spec()
		spec.Gray.Weights, spec.Gray.Scale = make([]float64, len(spec.Features)), slices.Repeat([]float64{1}, len(spec.Features))
		spec.White = spec.Gray
		spec.Gray.Weights[slices.Index(spec.Features, "low_entropy")] = w
		m, err := monitor.NewModel(spec)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(m.Spec())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		mode, model string
		want        bool
	}{{"report", weighs(1), true}, {"report", weighs(0), false}, {"off", weighs(1), false}} {
		got := ""
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got = string(b)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`))
		}))
		conf := config.Default()
		conf.Upstream, conf.Monitor.Mode, conf.Monitor.Model = up.URL, c.mode, c.model
		ln, err := Listen(conf, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(conf, &state.State{Store: memory.New()}, Options{Listener: ln, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if asked := strings.Contains(got, "logprobs"); w.Code != http.StatusOK || asked != c.want {
			t.Errorf("%s: status %d, asked: %v", c.mode, w.Code, asked)
		}
		up.Close()
		_ = ln.Close()
	}
}
