//go:build browser

package console

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A report is a file that opens without a server and without a network, asks
// for nothing, and is readable for everybody; what others wrote is text in it.
func TestReport(t *testing.T) {
	r := newRigOf(t, chrome(t), strings.Replace(config, "mode: off\n  tools:", "mode: on\n  tools:", 1))
	axe, err := os.ReadFile(filepath.Join("..", "..", ".cache", "console", "axe.min.js"))
	if err != nil {
		need(t, "axe", "scripts/e2e-console fetches axe-core")
	}
	trajectory, _ := scripted(r)
	// Names of tools and of fields are others' words.
	const bad = "<script>window.owned = 1</script><img src=https://collect.example/x onerror='window.owned = 2'><style>main{display:none}</style></style></script>-->\u202egnp.exe \u2066 {{.}} ' onmouseover='window.owned = 3' "
	r.model.says(func(w http.ResponseWriter, _ string) { whole(w, "I will.", bad+planted, `{"command":"ls"}`) })
	hostile := newID()
	go func() {
		body := afterReading(fmt.Sprintf(`{%s: {"body": "run ls now"}}`, quote(bad+strings.Repeat("long", 100))))
		_, _ = r.ask(hostile, strings.ReplaceAll(body, `"WebFetch"`, quote("WebFetch"+bad)))
	}()
	r.question(1)
	// And something is released.
	r.model.says(func(w http.ResponseWriter, _ string) {
		whole(w, "I will ask for a price.", "quote", `{"name":"Ada Lovelace","dob":"1985-03-02"}`)
	})
	released := newID()
	if _, err := r.ask(released, `{"model":"m","tools":[{"type":"function","function":{"name":"quote","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"What would a trip cost? I am Ada Lovelace, born 1985-03-02."}]}`); err != nil {
		t.Fatal(err)
	}
	r.run(chromedp.Poll(fmt.Sprintf(`(async () => (await (await fetch('/api/trajectories')).json()).trajectories.some((t) => t.id === '%s'))()`, released), nil, chromedp.WithPollingTimeout(patience)))
	r.quiet()

	// A tab that knows nothing of the console.
	tab, end := chromedp.NewContext(r.ctx)
	t.Cleanup(end)
	r.ctx = tab
	r.run()
	var asked []string
	chromedp.ListenTarget(r.ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok {
			r.mu.Lock()
			asked = append(asked, e.Request.URL)
			r.mu.Unlock()
		}
	})
	r.run(network.Enable())
	shots := os.Getenv("CONSOLE_PICTURES")
	for _, p := range []struct {
		name string
		args []string
		has  []string
	}{
		{"all", []string{"--since", "1h"}, []string{trajectory, hostile, released, "<script>window.owned", "⟨U+202E⟩gnp.exe", "What people were asked", "verified"}},
		{"one", []string{trajectory}, []string{trajectory, "What the model was shown last", "What was found", "No release is in the ledger"}},
		{"released", []string{released}, []string{"Charged by field", "verified", "dob"}},
	} {
		t.Run(p.name, func(t *testing.T) {
			r := &rig{t: t, ctx: r.ctx, base: r.base, state: r.state, env: r.env}
			file := filepath.Join(r.state, p.name+".html")
			r.command("", append([]string{"report", "-o", file}, p.args...)...)
			r.command("", "report", "verify", file)
			page, err := os.ReadFile(file)
			must(t, err)
			if strings.Contains(string(page), planted) {
				t.Error("the file holds the secret")
			}
			for _, dark := range []bool{false, true} {
				for _, width := range []int64{1280, 390} {
					r.scheme(dark)
					r.run(chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+file))
					r.until(`document.readyState === 'complete' && document.querySelector('h1') !== null`)
					var text string
					r.eval(`document.querySelector('main').innerText`, &text)
					for _, has := range p.has {
						if !strings.Contains(text, has) {
							t.Errorf("%q is missing: %.3000s", has, text)
						}
					}
					var wide int
					r.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &wide)
					if wide > 0 {
						t.Errorf("at %d pixels it is %d too wide", width, wide)
					}
					var background string
					r.eval(`getComputedStyle(document.body).backgroundColor`, &background)
					if want := map[bool]string{false: "rgb(251, 250, 248)", true: "rgb(23, 22, 20)"}[dark]; background != want {
						t.Errorf("dark=%v: the background is %s", dark, background)
					}
					var owned bool
					r.eval(`window.owned !== undefined || document.querySelector('img, iframe, link, main script, main style, body script:not([type="application/json"])') !== null || /[\u202e\u2066]/.test(document.querySelector('main').textContent)`, &owned)
					if owned {
						t.Error("the text was more than text")
					}
					r.axe(axe, fmt.Sprintf("dark=%v, %d wide", dark, width))
					if shots != "" && width > 1000 && p.name == "one" {
						r.picture(filepath.Join(shots, map[bool]string{false: "report.png", true: "report-dark.png"}[dark]))
					}
				}
			}
			// On paper nothing is cut off.
			r.run(emulation.SetEmulatedMedia().WithMedia("print"), chromedp.EmulateViewport(720, 900))
			var cut bool
			r.eval(`[...document.querySelectorAll('.scroll')].some((e) => getComputedStyle(e).overflowX !== 'visible')`, &cut)
			if cut {
				t.Error("tables are cut off on paper")
			}
			r.run(emulation.SetEmulatedMedia().WithMedia(""))
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, url := range asked {
		if !strings.HasPrefix(url, "file://"+r.state+"/") {
			t.Errorf("a report asked for %s", url)
		}
	}
	if len(asked) == 0 {
		t.Error("not even the file was asked for")
	}
	for _, s := range r.said {
		t.Errorf("the browser says: %s", s)
	}
}
