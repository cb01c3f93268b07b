package lexical

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/screen"
	"strings"
	"testing"
)

func BenchmarkRelevant(b *testing.B) {
	q := &screen.Question{Requests: []string{"Pay a third of my rent to my landlord"}, Calls: []flow.ToolCall{{Arguments: `{"to":"landlord","amount":400,"text":"a quiet room without stairs from 3 May 2031 on, please"}`}}}
	for i := range 200 {
		q.Regions = append(q.Regions, screen.Region{Field: "[3].text", Text: strings.Repeat("The boiler makes a knocking noise at night, since May 4th at 4 pm; it cost 1,200.50 to repair. ", 5+i%3)})
	}
	b.ReportAllocs()
	n := 0
	for i := range q.Regions {
		n += len(q.Regions[i].Text)
	}
	b.SetBytes(int64(n))
	for b.Loop() {
		Screener{}.Relevant(b.Context(), q)
	}
}
