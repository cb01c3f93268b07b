package openaichat

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/margaydev/margay/wire"
)

// What a parser that has seen other chunks says of a chunk is what a fresh one
// says, whatever came before.
func TestTemplateGivesWhatAParseGives(t *testing.T) {
	heads := []string{
		`{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"`,
		`{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":1,"delta":{"content":"`,
		`{"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"`,
		`{"choices":[{"index":0,"text":"`,
		`{"error":{"message":"`,
		`{"provider":"p","model":"a/b","obfuscation":"x1","choices":[{"index":0,"delta":{"content":"`,
		`{"\u0069d":"c2","choices":[{"index":0,"\u0064elta":{"c\u006fntent":"`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_1","custom":{"name":"n","input":"`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_1"}],"x":"`,
		`{"choices":[{"index":0,"delta":{"content":"b"}},{"index":1,"delta":{"tool_calls":[{"index":0}],"content":"`,
		`{"choices":[{"index":0,"delta":{"role":"`,
	}
	tails := []string{
		`"},"finish_reason":null}]}`, `"},"finish_reason":"stop"}]}`, `"},"finish_reason":null}],"usage":null}`, `"}}]}}]}`, `"}]}`, `"}}`, `"`, ``,
		`"},"content":"x"}]}`, `"},"finish_reason":null}],"obfuscation":"Ab3"}`, `"},"finish_reason":null}],"obfuscation":"q\u0071 s"}`, `"},"finish_reason":null}],"obfuscation":7}`,
		`"},"logprobs":{"content":[{"token":"a","bytes":[97]}]}}]}`,
	}
	texts := []string{"", "a", "word ", "ünï ☕", `q\"uote`, `\u00e9`, `","delta":{"content":"`, "\xff", "\x01", `\`, `"`, "\xe2\x98", "[DONE]", `x"},"finish_reason":null}]},{"a":"`, "assistant", `\n`, `\\`, `\ud83d\ude00`, `\ud83d`, `\x`, `a\"b\tc`, `"},"finish_reason":null}],"obfuscation":"`}
	rng := rand.New(rand.NewPCG(1, 2))
	var p chunkParser
	p.Reset(wire.Limits{MaxBytes: 400}, false)
	head, tail, told := heads[0], tails[0], map[string]bool{}
	for i := range 60000 {
		if rng.IntN(4) == 0 {
			head = heads[rng.IntN(len(heads))]
		}
		if rng.IntN(4) == 0 {
			tail = tails[rng.IntN(len(tails))]
		}
		text := texts[rng.IntN(len(texts))]
		if rng.IntN(50) == 0 {
			text = fmt.Sprintf("%0400d", 0)
		}
		data := []byte(head + text + tail)
		if rng.IntN(100) == 0 {
			data = []byte("[DONE]")
		}
		var fresh chunkParser
		fresh.Reset(p.Limits, false)
		want, wantErr := fresh.parse(data)
		got, err := p.parse(data)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("chunk %d of %d bytes: %v, alone %v", i, len(data), err, wantErr)
		}
		if err != nil {
			continue
		}
		for _, n := range got.Names {
			told[string(n)] = true
		}
		for _, n := range want.Names {
			if !told[string(n)] {
				t.Fatalf("chunk %d: a name was not told", i)
			}
		}
		a, b := *got, *want
		a.Names, b.Names = nil, nil
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
			t.Fatalf("chunk %d of %d bytes is read in another way than alone", i, len(data))
		}
	}
}
