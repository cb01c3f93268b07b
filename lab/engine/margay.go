package engine

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// margay is our own engine, configured as a gateway does by default: all rules,
// findings with fingerprints, and URLs held in answers, which are streamed. A
// whole text is a prompt.
type margay struct{}

func (margay) name() string { return "margay" }

func (margay) secrets(asked []int) []int { return asked }

func (margay) takes(int) bool { return true }

func (margay) open(secrets *registered) (scan, error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	vaults, err := secrets.vaults()
	if err != nil {
		return nil, err
	}
	prompt := stream.Config{Rules: rules, Vaults: vaults, Decide: decide}
	answer := prompt
	answer.HoldURLs = true
	return func(text []byte, write int) int {
		if write == whole {
			_, found := prompt.Scan(text)
			return len(found)
		}
		s := answer.NewScanner()
		var edits []stream.Edit
		for len(text) > 0 {
			n := min(write, len(text))
			s.Write(text[:n])
			edits = s.Edits(edits[:0])
			text = text[n:]
		}
		s.Close()
		return len(s.Findings())
	}, nil
}

// decide gives findings a fingerprint, and has all of them cut out.
func decide(f *stream.Finding, raw []byte) flow.Action {
	if f.Fingerprint.IsZero() && !f.Capped {
		f.Fingerprint = keys.FingerprintOf(raw)
	}
	return flow.ActRedact
}
