package lexical

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/screen"
)

func BenchmarkRelevant(b *testing.B) {
	q := &screen.Question{
		Requests: []string{"Pay a third of my rent to my landlord"},
		Calls:    []flow.ToolCall{{Arguments: `{"to":"landlord","amount":400,"text":"a quiet room without stairs from 3 May 2031 on, please"}`}},
	}
	size := 0
	for i := range 200 {
		text := strings.Repeat("The boiler makes a knocking noise at night, since May 4th at 4 pm; it cost 1,200.50 to repair. ", 5+i%3)
		q.Regions = append(q.Regions, screen.Region{Field: "[3].text", Text: text})
		size += len(text)
	}
	b.ReportAllocs()
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := (Screener{}).Relevant(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}
