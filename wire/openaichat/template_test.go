package openaichat

import (
	"fmt"
	"math/rand/v2"
	"testing"
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
	}
	tails := []string{
		`"},"finish_reason":null}]}`, `"},"finish_reason":"stop"}]}`, `"},"finish_reason":null}],"usage":null}`, `"}}]}}]}`, `"}]}`, `"}}`, `"`, ``,
		`"},"content":"x"}]}`,
	}
	texts := []string{"", "a", "word ", "ünï ☕", `q\"uote`, `\u00e9`, `","delta":{"content":"`, "\xff", "\x01", `\`, `"`, "\xe2\x98", "[DONE]", `x"},"finish_reason":null}]},{"a":"`}
	rng := rand.New(rand.NewPCG(1, 2))
	p := ChunkParser{Limits: Limits{MaxBytes: 400}}
	head, tail := heads[0], tails[0]
	for i := range 20000 {
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
		fresh := ChunkParser{Limits: p.Limits}
		want, wantErr := fresh.Parse(data)
		got, err := p.Parse(data)
		if (err != nil) != (wantErr != nil) || err == nil && fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", *want) {
			t.Fatalf("chunk %d of %d bytes is read in another way than alone", i, len(data))
		}
	}
}
