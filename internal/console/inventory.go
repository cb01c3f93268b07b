package console

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/bench"
	"github.com/margaydev/margay/secret"
)

// Packs is what tool calls are held to.
type Packs struct {
	Mode     string        `json:"mode"` // off, report or on
	Packs    []Pack        `json:"packs"`
	Findings []PackFinding `json:"findings"` // of lint
}

// Clone returns a copy that shares nothing that masking writes to.
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
	if c.cfg.Packs == nil {
		return &Packs{Mode: "off", Packs: []Pack{}, Findings: []PackFinding{}}, nil
	}
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
	Hits    int           `json:"hits"` // findings, as far as they were kept
	LastHit time.Time     `json:"last_hit,omitzero"`
	Seq     int64         `json:"seq"` // of the last event that found it
}

// maxSecrets bounds the secrets that are listed.
const maxSecrets = 1000

func (c *Console) secrets(r *http.Request) (any, error) {
	out := &SecretList{Secrets: []Secret{}}
	if c.cfg.Secrets == nil {
		return out, nil
	}
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

// Benchmarks are results of benchmarks.
type Benchmarks struct {
	Names  []string      `json:"names"`
	A      string        `json:"a"`
	B      string        `json:"b"`
	Result *bench.Result `json:"result,omitempty"`
	Other  *bench.Result `json:"other,omitempty"`
	Slices []string      `json:"slices,omitempty"` // of the result
	Slice  string        `json:"slice"`            // that is shown
	Tables []BenchTable  `json:"tables,omitempty"` // of that slice
}

// BenchTable is one slice of a result: defences by metrics.
type BenchTable struct {
	Slice   string     `json:"slice"`
	Metrics []string   `json:"metrics"`
	Rows    []BenchRow `json:"rows"`
}

// BenchRow is one defence.
type BenchRow struct {
	Defence string      `json:"defence"`
	Cells   []BenchCell `json:"cells"`
}

// BenchCell is one metric; what was not measured has no value.
type BenchCell struct {
	Value    *float64    `json:"value"`
	Interval *[2]float64 `json:"interval,omitempty"`
	Other    *float64    `json:"other,omitempty"` // of the result that is compared
	// Apart: the other value is outside the interval, or there is none and
	// it differs.
	Apart bool `json:"apart"`
}

var resultName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// maxResult bounds a file of results.
const maxResult = 16 << 20

func (c *Console) result(name string) (*bench.Result, error) {
	missing := &Problem{http.StatusNotFound, "not-found", "there are no such results", "/console/benchmarks lists those of console.results"}
	if c.cfg.Results == "" || !resultName.MatchString(name) {
		return nil, missing
	}
	f, err := os.Open(filepath.Join(c.cfg.Results, name+".json"))
	if err != nil {
		return nil, missing
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err != nil || len(b) > maxResult {
		return nil, missing
	}
	var r bench.Result
	if err := json.Unmarshal(b, &r); err != nil || r.Suite == "" {
		return nil, &Problem{http.StatusUnprocessableEntity, "result", "the file " + name + ".json holds no results of a benchmark", "margay bench SUITE --json FILE writes one"}
	}
	return &r, nil
}

func (c *Console) benchmarks(r *http.Request) (any, error) {
	q := r.URL.Query()
	out := &Benchmarks{Names: []string{}, A: q.Get("a"), B: q.Get("b")}
	if c.cfg.Results != "" {
		files, err := os.ReadDir(c.cfg.Results)
		if err != nil {
			return nil, &Problem{http.StatusNotFound, "results", "the folder of results can't be read", "see console.results in the configuration"}
		}
		for _, f := range files {
			if name, ok := strings.CutSuffix(f.Name(), ".json"); ok && resultName.MatchString(name) {
				out.Names = append(out.Names, name)
			}
		}
	}
	var err error
	if out.A != "" {
		if out.Result, err = c.result(out.A); err != nil {
			return nil, err
		}
	}
	if out.B != "" {
		if out.Result == nil {
			return nil, &Problem{http.StatusBadRequest, "query", "b is compared with a, which is missing", "choose both"}
		}
		if out.Other, err = c.result(out.B); err != nil {
			return nil, err
		}
	}
	if out.Result != nil {
		out.slice(q.Get("slice"))
	}
	return out, nil
}

// slice shows one slice of the results: that which is asked for, else all, else
// the first. A result may have hundreds.
func (b *Benchmarks) slice(of string) {
	r := *b.Result
	for i := range r.Rows {
		if s := r.Rows[i].Slice; !slices.Contains(b.Slices, s) {
			b.Slices = append(b.Slices, s)
		}
	}
	for _, s := range []string{of, "all"} {
		if b.Slice == "" && slices.Contains(b.Slices, s) {
			b.Slice = s
		}
	}
	if b.Slice == "" && len(b.Slices) > 0 {
		b.Slice = b.Slices[0]
	}
	r.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(row bench.Row) bool { return row.Slice != b.Slice })
	b.Tables = benchTables(&r, b.Other)
	b.Result = &r
	if b.Other != nil {
		o := *b.Other
		o.Rows = slices.DeleteFunc(slices.Clone(o.Rows), func(row bench.Row) bool { return row.Slice != b.Slice })
		b.Other = &o
	}
}

func benchTables(r, other *bench.Result) []BenchTable {
	var out []BenchTable
	for i := range r.Rows {
		row := &r.Rows[i]
		at := slices.IndexFunc(out, func(t BenchTable) bool { return t.Slice == row.Slice })
		if at < 0 {
			t := BenchTable{Slice: row.Slice}
			for k := range r.Rows {
				if r.Rows[k].Slice != row.Slice {
					continue
				}
				for m := range r.Rows[k].Metrics {
					if !slices.Contains(t.Metrics, m) {
						t.Metrics = append(t.Metrics, m)
					}
				}
			}
			slices.Sort(t.Metrics)
			at, out = len(out), append(out, t)
		}
		line := BenchRow{Defence: row.Defence}
		var twin *bench.Row
		if other != nil {
			twin = other.Row(row.Defence, row.Slice)
		}
		for _, m := range out[at].Metrics {
			var cell BenchCell
			if v, ok := row.Metrics[m]; ok {
				cell.Value = &v
			}
			if ci, ok := row.CI[m]; ok {
				cell.Interval = &ci
			}
			if twin != nil {
				if v, ok := twin.Metrics[m]; ok {
					cell.Other = &v
				}
			}
			cell.Apart = cell.Value != nil && cell.Other != nil && (cell.Interval != nil && (*cell.Other < cell.Interval[0] || *cell.Other > cell.Interval[1]) || cell.Interval == nil && *cell.Value != *cell.Other)
			line.Cells = append(line.Cells, cell)
		}
		out[at].Rows = append(out[at].Rows, line)
	}
	return out
}
