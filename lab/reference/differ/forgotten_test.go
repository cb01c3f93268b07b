package differ

import (
	"testing"

	"github.com/margaydev/margay/stream"
)

// A text may be cut past what a detector still reads, where another detector was late.
// Both engines read on alike.
func TestForgotten(t *testing.T) {
	rules, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&Config{Rules: rules, Vaults: [][]Known{Ten()}, Stream: stream.Config{MaxHeld: 64}}).Pair()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		" abcdefgh", "ijklmnopqrstuvwx", "cTdadDRtV2M5THhCMm5Wazh", "SZkQzaEpzNllwRzFhUWU= 71377A", "74346d576339", "4c7842326e",
		"ORSXG5BAORUGS4ZA", "NFZSAYJAORSXG5A=", " &#9", "7;%4", "1 and so on. ",
	}
	for from := range texts {
		ours, theirs := scanner(p.product.NewScanner()), scanner(p.reference.NewScanner())
		for _, s := range []scanner{ours, theirs} {
			s.Write([]byte("hello there, nothing to see. "))
			s.Mark(stream.Finding{Start: 0, End: 5, Rule: "late"}, false)
			for i := range texts {
				s.Write([]byte(texts[(from+i)%len(texts)]))
			}
			s.Close()
		}
		of := func(s scanner) *reading {
			r := &reading{edits: join(s.Edits(nil))}
			for _, f := range s.Findings() {
				r.findings = append(r.findings, public(&f))
			}
			return r
		}
		if d := of(theirs).compare(of(ours), nil); d != nil {
			t.Errorf("from %d: %v", from, d)
		}
	}
}
