package wire_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/anthropic"
	"github.com/margaydev/margay/wire/mcp"
	"github.com/margaydev/margay/wire/openaichat"
	"github.com/margaydev/margay/wire/openairesponses"
)

// documents are the forms of a body with n keys, and with n keys in other ways
// than one object has them.
var documents = map[string]func(n int) []byte{
	"members": func(n int) []byte { return []byte("{" + keys(n, `"k%d":"v"`) + "}") },
	"escaped": func(n int) []byte { return []byte("{" + keys(n, `"\u006b%d":1`) + "}") },
	"messages": func(n int) []byte {
		return []byte(`{"messages":[` + keys(n/2, `{"role":"user","content":"v%d"}`) + `],"input":[` + keys(n/2, `{"role":"user","content":"v%d"}`) + "]}")
	},
	"message": func(n int) []byte {
		return []byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"t",` + keys(n, `"k%d":"v"`) + "}]}]}")
	},
	"choice": func(n int) []byte {
		return []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"t",` + keys(n, `"k%d":"v"`) + "}}]}")
	},
	"delta": func(n int) []byte {
		return []byte(`{"choices":[{"index":0,"delta":{"content":"t",` + keys(n, `"k%d":"v"`) + "}}]}")
	},
	"item": func(n int) []byte {
		return []byte(`{"type":"response.output_item.done","output_index":0,"item":{"type":"shell_call","action":{` + keys(n, `"k%d":"v"`) + `}},"output":[{"type":"message",` + keys(n, `"k%d":"v"`) + "}]}")
	},
	"block": func(n int) []byte {
		return []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"t",` + keys(n, `"k%d":"v"`) + `},"content":[{"type":"tool_use","name":"x","input":{` + keys(n, `"k%d":"v"`) + "}}]}")
	},
	"arguments": func(n int) []byte {
		return []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{` + keys(n, `"k%d":"v"`) + "}}}")
	},
	"tools": func(n int) []byte {
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + keys(n, `{"name":"t%d","inputSchema":{}}`) + "]}}")
	},
}

func keys(n int, form string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

// readers are what reads them: of each API the request, the answer and the stream,
// of MCP a message, and strict JSON. What a reader refuses, it has read as well.
var readers = func() map[string]func(b []byte) {
	all := map[string]func(b []byte){
		"strictjson": func(b []byte) {
			var d strictjson.Doc
			_ = d.Parse(b, strictjson.Limits{})
		},
		"mcp": func(b []byte) {
			var p mcp.Parser
			_, _ = p.Parse(b)
		},
	}
	for name, api := range map[string]wire.API{"chat": openaichat.API{}, "responses": openairesponses.API{}, "anthropic": anthropic.API{}} {
		all[name+" request"] = func(b []byte) {
			if r, err := api.ParseRequest(b, wire.Limits{}); err == nil {
				parts(r, func(edits map[int]string) { _ = r.Rewrite(edits) })
			}
		}
		all[name+" answer"] = func(b []byte) {
			if r, err := api.ParseResponse(b, wire.Limits{}); err == nil {
				parts(r, func(edits map[int]string) { _ = r.Rewrite(edits, nil) })
			}
		}
		all[name+" event"] = func(b []byte) {
			s := api.NewStream()
			s.Reset(wire.Limits{}, true)
			_, _ = s.Parse(&sse.Event{Data: b})
		}
	}
	return all
}()

// parts reads where each text of a body is, and writes the body with others.
func parts(b wire.Body, write func(edits map[int]string)) {
	all := b.Parts()
	edits := map[int]string{}
	for i := range all {
		_ = b.Path(&all[i])
		edits[i] = "w"
	}
	write(edits)
}

// cost is what reading takes: allocations, their bytes, and the time of this
// thread's work, which others don't lengthen.
func cost(t *testing.T, read func([]byte), b []byte) (count, size, took float64) {
	t.Helper()
	worked := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return u.Utime.Nano()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := worked()
	read(b)
	took = float64(worked() - start)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc), took
}

// TestManyKeysAreLinear: twice the keys take at most three times the allocations
// and their bytes, as slices grow in steps. Sixteen times the keys take far less than the 256 times as long
// that comparing each with each would take.
func TestManyKeysAreLinear(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const ratio = 3
	n := 20_000
	if testing.Short() {
		n = 5_000
	}
	for form, document := range documents {
		small, one, two := document(n/8), document(n), document(2*n)
		for name, read := range readers {
			_, _, least := cost(t, read, small)
			count1, size1, _ := cost(t, read, one)
			count2, size2, most := cost(t, read, two)
			const few = 1000               // allocations that don't depend on the keys
			least = max(least, 10_000_000) // what the clock may not tell
			if count2 > ratio*count1+few || size2 > ratio*size1+few*64 || most > 64*least {
				t.Errorf("%s as %s: allocations %.0f and %.0f, bytes %.0f and %.0f, and %.1f times as long for 16 times the keys", form, name, count1, count2, size1, size2, most/least)
			}
		}
	}
}
