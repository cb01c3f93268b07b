//go:build browser

package console

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/oklog/ulid/v2"
)

// need skips a test where something is missing, or fails it where
// MARGAY_REQUIRE names it.
func need(t *testing.T, what, how string) {
	t.Helper()
	for _, r := range strings.Split(os.Getenv("MARGAY_REQUIRE"), ",") {
		if r == what {
			t.Fatalf("%s is missing, and MARGAY_REQUIRE names it: %s", what, how)
		}
	}
	t.Skipf("%s is missing: %s", what, how)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// chrome starts the browser.
func chrome(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		need(t, "chromium", "apt-get install chromium, or scripts/deps with MARGAY_REQUIRE=chromium")
	}
	profile, err := os.MkdirTemp("", "margay-chromium-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // after the browser; it may still write
	opts := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	opts = append(opts, chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("font-render-hinting", "none"), chromedp.WSURLReadTimeout(2*time.Minute))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(alloc, chromedp.WithErrorf(t.Logf))
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); end() })
	ctx, cancel := context.WithTimeout(ctx, 6*time.Minute)
	t.Cleanup(cancel)
	must(t, chromedp.Run(ctx))
	return ctx
}

// margay is the program, built once.
var margay = sync.OnceValues(func() (string, error) {
	if p := os.Getenv("MARGAY"); p != "" {
		return p, nil
	}
	dir, err := os.MkdirTemp("", "margay-browser-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "margay")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/margay")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if p, err := margay(); err == nil && os.Getenv("MARGAY") == "" {
		_ = os.RemoveAll(filepath.Dir(p))
	}
	os.Exit(code)
}

// rig is a running margay serve before a scripted model, and a browser.
type rig struct {
	t     *testing.T
	ctx   context.Context
	model *model
	base  string // of the listener
	url   string // of the console, with a token
	state string
	env   []string // of the command

	mu   sync.Mutex
	said []string // by the browser: errors, and what breaks the policy
}

// model is a scripted upstream.
type model struct {
	mu     sync.Mutex
	answer func(w http.ResponseWriter, body string)
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	f := m.answer
	m.mu.Unlock()
	f(w, string(b))
}

func (m *model) says(f func(w http.ResponseWriter, body string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = f
}

const config = `
console: {texts: true}
monitor: {mode: report, vocabulary: 1000}
taint: {mode: on, screen: all, wait: 10m}
declassify:
  mode: off
  tools:
    quote: {action: travel-booking, sink: broker, class: semi-trusted, args: {name: legal-name, dob: dob, note: text}}
log: {level: warn}
`

func newRig(t *testing.T, ctx context.Context) *rig {
	t.Helper()
	return newRigOf(t, ctx, config)
}

// newRigOf is newRig with another configuration.
func newRigOf(t *testing.T, ctx context.Context, config string) *rig {
	t.Helper()
	bin, err := margay()
	must(t, err)
	r := &rig{t: t, ctx: ctx, model: &model{}, state: t.TempDir()}
	up := httptest.NewServer(r.model)
	t.Cleanup(up.Close)
	must(t, os.WriteFile(filepath.Join(r.state, "config.yaml"), []byte(config), 0o600))
	r.env = append(os.Environ(), "XDG_DATA_HOME="+r.state, "XDG_RUNTIME_DIR="+r.state, "MARGAY_CONFIG="+filepath.Join(r.state, "config.yaml"))
	for _, args := range [][]string{{"secrets", "add", "PAYMENTS_API_KEY"}, {"rubric", "publish", "--builtin"}} {
		r.command(planted, args...)
	}
	cmd := exec.Command(bin, "serve", "--json", "--listen", "127.0.0.1:0", "--upstream", up.URL+"/v1")
	var errs bytes.Buffer
	cmd.Env, cmd.Stderr = r.env, &errs
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("margay said: %s", errs.String())
		}
		if strings.Contains(errs.String(), planted) {
			t.Error("the log holds the secret")
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var o struct{ Listening, Console string }
	must(t, json.Unmarshal(line, &o))
	r.base, r.url = strings.TrimSuffix(o.Listening, "/v1"), o.Console
	chromedp.ListenTarget(ctx, func(ev any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			r.said = append(r.said, ev.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if ev.Entry.Level == log.LevelError {
				r.said = append(r.said, ev.Entry.Text+" "+ev.Entry.URL)
			}
		}
	})
	must(t, chromedp.Run(ctx, log.Enable(), chromedp.EmulateViewport(1280, 900), chromedp.Navigate(r.url), chromedp.WaitVisible(`[data-page="overview"]`)))
	return r
}

// command runs margay beside the server and returns what it says.
func (r *rig) command(in string, args ...string) string {
	r.t.Helper()
	bin, err := margay()
	must(r.t, err)
	cmd := exec.Command(bin, args...)
	cmd.Env, cmd.Stdin = r.env, strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("margay %v: %v: %s", args, err, out)
	}
	return string(out)
}

// picture takes one of what the browser shows, in 256 colours: pages have few,
// and the others are edges of letters.
func (r *rig) picture(path string) {
	r.t.Helper()
	var shot []byte
	r.run(chromedp.CaptureScreenshot(&shot))
	img, err := png.Decode(bytes.NewReader(shot))
	must(r.t, err)
	var out bytes.Buffer
	must(r.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, plain(img)))
	must(r.t, os.WriteFile(path, out.Bytes(), 0o644))
}

// plain is a picture in 256 of its colours.
func plain(img image.Image) *image.Paletted {
	at := img.Bounds()
	times := map[color.Color]int{}
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			times[img.At(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(times), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	// One of each neighbourhood before two of any: words of a rare colour keep
	// theirs.
	var first, others color.Palette
	near := map[[3]uint32]bool{}
	for _, c := range all {
		r, g, b, _ := c.RGBA()
		if at := [3]uint32{r >> 12, g >> 12, b >> 12}; !near[at] {
			near[at] = true
			first = append(first, c)
			continue
		}
		others = append(others, c)
	}
	palette := append(first, others...)
	out := image.NewPaletted(at, palette[:min(len(palette), 256)])
	place := map[color.Color]uint8{}
	for _, c := range all {
		place[c] = uint8(out.Palette.Index(c))
	}
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			out.SetColorIndex(x, y, place[img.At(x, y)])
		}
	}
	return out
}

// rubric is the hash of a rubric of the registry.
func (r *rig) rubric(name string) string {
	r.t.Helper()
	var hash string
	r.run(chromedp.Poll(fmt.Sprintf(`(async () => ((await (await fetch('/api/rubrics')).json()).rubrics.find((x) => x.name === '%s') || {}).hash)()`, name), &hash, chromedp.WithPollingTimeout(patience)))
	return hash
}

// quiet fails where the browser had something to say.
func (r *rig) quiet() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.said {
		r.t.Errorf("the browser says: %s", s)
	}
	r.said = nil
}

// run runs actions in the browser.
func (r *rig) run(actions ...chromedp.Action) {
	r.t.Helper()
	if err := chromedp.Run(r.ctx, actions...); err != nil {
		var at, text string
		_ = chromedp.Run(r.ctx, chromedp.Location(&at), chromedp.Text("body", &text))
		r.t.Fatalf("%v at %s: %.2000s", err, at, text)
	}
}

// open opens a page.
func (r *rig) open(path string) {
	r.t.Helper()
	r.run(chromedp.Navigate(r.base+path), chromedp.WaitVisible("h1, h2"))
}

// until waits for a script to be true. The page may load itself again meanwhile.
func (r *rig) until(script string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		is := false
		err := chromedp.Run(r.ctx, chromedp.Evaluate(script, &is))
		if err == nil && is {
			return
		}
		if time.Now().After(deadline) || r.ctx.Err() != nil {
			var at, text string
			_ = chromedp.Run(r.ctx, chromedp.Location(&at), chromedp.Text("body", &text))
			r.t.Fatalf("not true at %s: %s (%v): %.2000s", at, script, err, text)
		}
		_ = chromedp.Run(r.ctx, chromedp.Sleep(30*time.Millisecond))
	}
}

func (r *rig) eval(script string, into any) {
	r.t.Helper()
	r.run(chromedp.Evaluate(script, into))
}

func (r *rig) text() string {
	r.t.Helper()
	var s string
	r.run(chromedp.Text("body", &s))
	return s
}

func (r *rig) scheme(dark bool) {
	value := "light"
	if dark {
		value = "dark"
	}
	r.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}))
}

// ask sends a request through margay and returns the answer's body.
func (r *rig) ask(trajectory, body string) (string, error) {
	req, err := http.NewRequest("POST", r.base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer test")
	req.Header.Set("Margay-Trajectory", trajectory)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", resp.StatusCode, b)
	}
	return string(b), err
}

func newID() string { return ulid.Make().String() }

// patience is how long anything is waited for: machines are slow at times.
const patience = time.Minute

// planted is a registered secret.
const planted = "q7Rk2Vn9Xw4Bz8Lm3Tc6Yp1D"

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// token is one event of a stream, with a distribution of the token.
func token(w http.ResponseWriter, text string, sure bool) {
	p := -2.3
	rest := -2.5
	if sure {
		p, rest = -0.001, -9
	}
	top := fmt.Sprintf(`{"token":%s,"logprob":%g,"bytes":null}`, quote(text), p)
	for i := range 9 {
		top += fmt.Sprintf(`,{"token":"%c","logprob":%g,"bytes":null}`, 'a'+i, rest)
	}
	fmt.Fprintf(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null,"logprobs":{"content":[{"token":%[1]s,"logprob":%g,"bytes":null,"top_logprobs":[%s]}],"refusal":null}}]}`+"\n\n", quote(text), p, top)
	w.(http.Flusher).Flush()
}

func begin(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }

func end(w http.ResponseWriter) {
	fmt.Fprint(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// whole is an answer that comes at once.
func whole(w http.ResponseWriter, text, tool, args string) {
	w.Header().Set("Content-Type", "application/json")
	calls, reason := "", "stop"
	if tool != "" {
		calls, reason = fmt.Sprintf(`,"tool_calls":[{"id":"call_9","type":"function","function":{"name":%s,"arguments":%s}}]`, quote(tool), quote(args)), "tool_calls"
	}
	fmt.Fprintf(w, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%s%s},"finish_reason":%q}]}`, quote(text), calls, reason)
}

const tools = `"tools":[{"type":"function","function":{"name":"WebFetch","parameters":{"type":"object"}}},{"type":"function","function":{"name":"Bash","parameters":{"type":"object"}}}]`

// afterReading is a request whose conversation has read a page of the web.
func afterReading(page string) string {
	return fmt.Sprintf(`{"model":"m",%s,"messages":[{"role":"user","content":"What does the page say?"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"WebFetch","arguments":"{\"url\":\"https://example.org/news\",\"prompt\":\"sum up\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":%s}]}`, tools, quote(page))
}
