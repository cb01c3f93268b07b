package saliency

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/margaydev/margay/screen/saliency"
)

// Card says where a network comes from.
type Card struct {
	Command  string `json:"command"`
	Seed     uint64 `json:"seed"`
	Epochs   int    `json:"epochs"`
	Record   string `json:"record"` // SHA-256 of its lines
	Local    string `json:"local"`  // the local model
	Server   string `json:"server"`
	Go       string `json:"go"`
	Arch     string `json:"arch"`
	Regions  int    `json:"regions"` // labelled ones; those of which one is needed count as one
	Needed   int    `json:"needed"`
	Measured string `json:"measured"`
}

// Run trains the network on all suites of a record and returns its file, for
// screen/saliency.
func Run(ctx context.Context, r *Record, o Options) ([]byte, *Card, error) {
	o.defaults()
	all := r.sequences()
	m, err := train(all, o)
	if err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	c := &Card{
		Command: "margay-lab train saliency --seed " + fmt.Sprint(o.Seed), Seed: o.Seed, Epochs: o.Epochs, Record: r.Hash, Local: r.Head.Model, Server: r.Head.Server,
		Go: runtime.Version(), Arch: runtime.GOARCH, Measured: "docs/bench/saliency.json: a network of each fold, trained likewise",
	}
	for _, s := range calls(all) {
		for _, u := range s.units(s.levels()) {
			c.Regions++
			c.Needed += u.y
		}
	}
	card, err := json.Marshal(c)
	if err != nil {
		return nil, nil, err
	}
	model, err := json.Marshal(m)
	if err != nil {
		return nil, nil, err
	}
	file := fmt.Appendf(nil, "{\n\"version\":1,\n\"card\":%s,\n\"model\":%s\n}\n", card, model)
	_, err = saliency.Load(file)
	return file, c, err
}
