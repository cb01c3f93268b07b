package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/margaydev/margay/secret"
)

// Packs are the policies of tool calls.
type Packs struct {
	Mode     string        `json:"mode"` // off, report or on
	Packs    []Pack        `json:"packs"`
	Findings []PackFinding `json:"findings"` // of lint
}

// Clone returns a copy that may be masked.
func (p Packs) Clone() Packs {
	p.Packs, p.Findings = slices.Clone(p.Packs), slices.Clone(p.Findings)
	for i := range p.Packs {
		tools := slices.Clone(p.Packs[i].Tools)
		for j := range tools {
			tools[j].Policy = slices.Clone(tools[j].Policy)
		}
		p.Packs[i].Tools = tools
	}
	return p
}

// Pack is a pack in force.
type Pack struct {
	Name  string     `json:"name"`
	Title string     `json:"title"`
	Kind  string     `json:"kind"`
	For   string     `json:"for"`
	File  string     `json:"file,omitempty"` // empty: it comes with Margay
	Tools []PackTool `json:"tools"`
}

// PackTool is a tool of a pack.
type PackTool struct {
	Name   string   `json:"name"`
	Worst  string   `json:"worst"`
	Policy []string `json:"policy"` // its rules in words
}

// PackFinding is what lint found.
type PackFinding struct {
	Pack   string `json:"pack"`
	Line   int    `json:"line"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (c *Console) packs(*http.Request) (any, error) {
	p := c.cfg.Packs()
	return &p, nil
}

// SecretList is the registered secrets.
type SecretList struct {
	Secrets []Secret `json:"secrets"`
	More    int      `json:"more"` // that are not listed
}

// Secret is one, without its value.
type Secret struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Kind    secret.Kind   `json:"kind"`
	Source  secret.Source `json:"source"`
	Origin  string        `json:"origin"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires,omitzero"`
	Expired bool          `json:"expired"`
	Hits    int           `json:"hits"` // findings that are still kept
	LastHit time.Time     `json:"last_hit,omitzero"`
	Seq     int64         `json:"seq"` // of the last event that found it
}

// maxSecrets bounds the secrets that are listed.
const maxSecrets = 1000

func (c *Console) secrets(r *http.Request) (any, error) {
	out := &SecretList{Secrets: []Secret{}}
	now := c.cfg.Now()
	var prints []secret.Fingerprint
	for rec, err := range c.cfg.Secrets.Secrets(r.Context()) {
		if err != nil {
			return nil, err
		}
		if len(out.Secrets) == maxSecrets {
			out.More++
			continue
		}
		prints = append(prints, rec.Fingerprint)
		out.Secrets = append(out.Secrets, Secret{
			ID: rec.ID, Name: rec.Name, Kind: rec.Kind, Source: rec.Source, Origin: rec.Origin, Created: rec.Created, Expires: rec.Expires,
			Expired: !rec.Expires.IsZero() && !rec.Expires.After(now),
		})
	}
	if len(prints) == 0 {
		return out, nil
	}
	hits, err := c.cfg.Events.Hits(r.Context(), prints)
	for i, fp := range prints {
		if h, ok := hits[fp]; ok {
			out.Secrets[i].Hits, out.Secrets[i].LastHit, out.Secrets[i].Seq = h.N, h.Last, h.Seq
		}
	}
	return out, err
}
