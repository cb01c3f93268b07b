// Package tagger trains the network of defend/tagger, calibrates it, and measures
// it on texts that neither had.
//
// Texts are made from seeds by templates and lists of words in data/, and by lines
// of Go's standard library. Templates and long lists are split between training,
// calibration and test, and each of the latter two has a category of its own; the test
// also has the templates of an author who wrote nothing else. data/kinds says which kinds
// of things words stand for; the table goes into the weights. The same seed and the same
// Go release give the same weights on machines of one architecture.
//
// A fold leaves a subject out of training and calibration: folds.txt says what belongs
// to it, and has the rule. All of it is for the test. The table of kinds stays whole: it
// is the general vocabulary that an unseen subject is read by. A card has the hash of the
// corpus, and with it of what the fold left out.
//
// A second stage goes on from there by the reward of lab/reward (grpo.go). Its policy is
// the deployed reading with chances in place of thresholds (policy.go), and Sweep measures
// it on categories of worlds/dev that it has no task of (sweep.go); the first stage has
// texts of all of them.
package tagger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/traj/defence"
)

// Options of a training.
type Options struct {
	Seed       uint64
	Steps      int    // batches
	Fold       string // category that is left out
	Checkpoint string // file that a training goes on from, or none
	Resume     bool
	Texts      int  // of each slice, to measure on
	Brief      bool // measure on what the fold leaves out and on the whole alone
	Policy     Policy
	Margay     defence.MargayConfig // with the rubrics, for the second stage
	Progress   func(string)

	every int // steps between checkpoints; 0: everySteps
}

// Shares of a batch, and texts of a share. Shares are fixed, so that the number of
// processors changes no sum.
const (
	shareCount = 4
	shareTexts = 8
	baseRate   = 3e-3
	everySteps = 500
	mineFrom   = 2000 // steps, before which nothing is mined
	mineEvery  = 1000
	mineFiles  = 300
	mined      = 4000 // windows that are kept
)

// state is what a checkpoint holds.
type state struct {
	Seed    uint64
	Steps   int
	Fold    string
	Corpus  string
	Network *network
	Adam    *adam
	Hard    []string // lines of sources in which the network saw something private
}

// ErrCheckpoint is that a checkpoint is of another training.
var ErrCheckpoint = errors.New("the checkpoint is of another training")

// Fit trains a network.
func fit(ctx context.Context, c *Corpus, o *Options) (*network, error) {
	s := &state{o.Seed, o.Steps, o.Fold, c.Hash, newNetwork(rand.New(rand.NewPCG(o.Seed, 1))), newAdam(), nil}
	if o.Resume {
		if err := s.load(o.Checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	shares := make([]*gradient, shareCount)
	workers := make([]*worker, shareCount)
	for i := range shares {
		shares[i], workers[i] = newGradient(), &worker{corpus: c, features: c.features()}
	}
	began, first := time.Now(), s.Adam.Step
	var loss float64
	var tokens int
	for s.Adam.Step < o.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step := s.Adam.Step
		errs := make([]error, shareCount)
		var wg sync.WaitGroup
		for i := range shares {
			wg.Go(func() { errs[i] = workers[i].share(s, shares[i], uint64(step*shareCount+i)) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		progress := float64(step) / float64(o.Steps)
		rate := baseRate * min(1, float64(step+1)/200) * (0.02 + 0.98*(1+math.Cos(math.Pi*progress))/2)
		s.Adam.apply(s.Network, shares, rate)
		loss, tokens = loss+shares[0].loss, tokens+shares[0].tokens
		if s.Adam.Step >= mineFrom && s.Adam.Step%mineEvery == 0 {
			s.mine(c)
		}
		if done := s.Adam.Step; done%cmp.Or(o.every, everySteps) == 0 || done == o.Steps {
			left := time.Since(began) / time.Duration(max(1, done-first)) * time.Duration(o.Steps-done)
			o.Progress(fmt.Sprintf("step %d of %d, loss %.4f a token, %s left", done, o.Steps, loss/float64(tokens), left.Round(time.Second)))
			loss, tokens = 0, 0
			if o.Checkpoint != "" {
				if err := save(o.Checkpoint, s); err != nil {
					return nil, err
				}
			}
		}
	}
	return s.Network, nil
}

// worker is the memory of one share.
type worker struct {
	corpus   *Corpus
	features tagger.Features
	pass     pass
}

func (w *worker) share(s *state, g *gradient, number uint64) error {
	g.reset()
	for i := range uint64(shareTexts) {
		r := rand.New(rand.NewPCG(s.Seed, number*shareTexts+i+1<<40))
		t, err := w.corpus.Draw(Train, s.Seed, number*shareTexts+i)
		if err != nil {
			return err
		}
		if i == 0 && len(s.Hard) > 0 {
			t = Text{Text: s.Hard[r.IntN(len(s.Hard))], Slice: Source}
		}
		text := t.tokens(&w.features)
		if len(text) == 0 {
			continue
		}
		s.Network.forward(&w.pass, text, r)
		s.Network.backward(&w.pass, text, g)
	}
	return nil
}

// mine looks for lines of training's sources in which the network sees something
// private. There is nothing, so they are trained on once more, with what is around.
func (s *state) mine(c *Corpus) {
	found := make([][]string, mineFiles)
	var wg sync.WaitGroup
	for k := range shareCount {
		wg.Go(func() {
			f := c.features()
			var p pass
			for i := k; i < mineFiles; i += shareCount {
				r := rand.New(rand.NewPCG(s.Seed, uint64(s.Adam.Step*mineFiles+i)+1<<50))
				lines := strings.Split(anonymous(c.code[Train][r.IntN(len(c.code[Train]))]), "\n")
				for at := 0; at < len(lines); at += 60 {
					t := Text{Text: strings.Join(lines[at:min(len(lines), at+60)], "\n")}
					found[i] = append(found[i], s.Network.alarms(&p, &t, &f)...)
				}
			}
		})
	}
	wg.Wait()
	for _, f := range found {
		s.Hard = append(s.Hard, f...)
	}
	s.Hard = s.Hard[max(0, len(s.Hard)-mined):]
}

// alarms are the sentences in which the network sees something private, each
// with the one before and the one behind.
func (n *network) alarms(p *pass, t *Text, f *tagger.Features) (out []string) {
	text := t.tokens(f)
	if len(text) == 0 {
		return nil
	}
	cut := tagger.Tokens(t.Text, nil)
	n.forward(p, text, nil)
	for i := range p.pool {
		if !slices.ContainsFunc(p.pool[i].out, func(o [tagger.Outputs]float32) bool { return none(&o, 1) < 0.7 }) {
			continue
		}
		from, to := p.pool[max(0, i-1)].from, p.pool[min(len(p.pool)-1, i+1)].to
		out = append(out, t.Text[cut[from].Start:cut[to-1].End])
	}
	return out
}

// save writes a checkpoint, the whole file or none.
func save(path string, v any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return err
	}
	tmp := filepath.Clean(path) + ".tmp"
	if err := os.WriteFile(tmp, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func load(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return nil
}

func (s *state) load(path string) error {
	var got state
	if err := load(path, &got); err != nil {
		return err
	}
	if got.Seed != s.Seed || got.Steps != s.Steps || got.Fold != s.Fold || got.Corpus != s.Corpus ||
		got.Network == nil || got.Adam == nil || len(got.Network.Rows) != len(s.Network.Rows) || len(got.Adam.Rows1) != len(s.Network.Rows) || len(got.Adam.Rows2) != len(s.Network.Rows) {
		return ErrCheckpoint
	}
	*s = got
	return nil
}

// cut rounds the embeddings to signed bytes, and leaves in the network what they then are.
func (n *network) cut() ([]int8, *[tagger.Buckets]float32) {
	rows, scale := make([]int8, len(n.Rows)), new([tagger.Buckets]float32)
	for i := range scale {
		row := n.Rows[i*tagger.Dim:][:tagger.Dim]
		var top float32
		for _, x := range row {
			top = max(top, x, -x)
		}
		if scale[i] = top / 127; top == 0 {
			continue
		}
		for j, x := range row {
			q := int8(math.Round(float64(x / scale[i])))
			rows[i*tagger.Dim+j], row[j] = q, float32(q)*scale[i]
		}
	}
	return rows, scale
}

// Card says where the weights are from, and what was measured on texts that
// neither training nor calibration saw. The weights lie beside it.
type Card struct {
	Version     int                `json:"version"`
	Command     string             `json:"command"`
	Seed        uint64             `json:"seed"`
	Steps       int                `json:"steps"`
	Texts       int                `json:"texts"`    // that the network was trained on
	Measured    int                `json:"measured"` // texts of each slice
	Fold        string             `json:"fold,omitempty"`
	Left        int                `json:"left,omitempty"` // templates that the fold leaves out
	Corpus      string             `json:"corpus"`         // hash of templates, lists and sources
	Go          string             `json:"go"`
	Arch        string             `json:"arch"`
	Weights     string             `json:"weights"` // SHA-256 of the file
	Size        int                `json:"size"`
	Temperature float32            `json:"temperature"`
	Thresholds  map[string]float32 `json:"thresholds"`
	// Calibration is the mean difference of what is said of sentences being
	// clear and how many are, over tenths.
	Calibration float64 `json:"calibration_error"`
	Curve       []Bin   `json:"curve"`
	Rows        []Row   `json:"rows"`
	Probe       Probe   `json:"probe"`
	Second      *Second `json:"second_stage,omitempty"`
}

// Probe is a text, and the hash of what the network says of it: every machine has
// to read it alike.
type Probe struct {
	Text    string `json:"text"`
	Reading string `json:"reading"`
}

// probe reads some of the test's texts in a row.
func probe(ctx context.Context, c *Corpus, m *tagger.Model, seed uint64) (Probe, error) {
	var b strings.Builder
	for i := range uint64(12) {
		t, err := c.Draw(Test, seed, i)
		if err != nil {
			return Probe{}, err
		}
		b.WriteString(t.Text + "\n")
	}
	r, err := m.Read(ctx, b.String())
	sum := sha256.Sum256(fmt.Append(nil, r))
	return Probe{b.String(), hex.EncodeToString(sum[:])}, err
}

// Run trains, calibrates and measures. It returns the weights' file and its card.
func Run(ctx context.Context, o Options) ([]byte, *Card, error) {
	c, err := NewCorpus(o.Fold)
	if err != nil {
		return nil, nil, err
	}
	return o.on(ctx, c)
}

// on trains, calibrates and measures with a corpus.
func (o *Options) on(ctx context.Context, c *Corpus) ([]byte, *Card, error) {
	n, err := fit(ctx, c, o)
	if err != nil {
		return nil, nil, err
	}
	var second *refined
	if o.Policy.Steps > 0 {
		if second, err = secondStage(ctx, c, n, o); err != nil {
			return nil, nil, err
		}
		n = second.Network
	}
	o.Progress("calibrating")
	rows, scale := n.cut()
	cal, err := calibrate(c, n, o.Seed, o.Texts)
	if err != nil {
		return nil, nil, err
	}
	file, err := tagger.Encode(rows, scale, c.senses, &n.Dense, cal)
	if err != nil {
		return nil, nil, err
	}
	m, err := tagger.Load(file)
	if err != nil {
		return nil, nil, err
	}
	o.Progress("measuring")
	card := &Card{
		Version: 1, Command: fmt.Sprintf("margay-lab train tagger --seed %d --steps %d", o.Seed, o.Steps), Seed: o.Seed, Steps: o.Steps, Texts: o.Steps * shareCount * shareTexts, Measured: o.Texts,
		Fold: o.Fold, Left: c.Left, Corpus: c.Hash, Go: c.Go, Arch: runtime.GOARCH, Weights: m.Hash(), Size: len(file), Temperature: cal.Temperature, Thresholds: map[string]float32{},
	}
	for i, f := range tagger.Fields() {
		card.Thresholds[f] = cal.Threshold[i+1]
	}
	if o.Fold != "" {
		card.Command += " --fold " + o.Fold
	}
	if second != nil {
		card.Second = second.card()
		card.Command += second.Policy.flags()
	}
	if o.Brief {
		card.Command += fmt.Sprintf(" --texts %d", o.Texts)
	}
	if card.Probe, err = probe(ctx, c, m, o.Seed); err != nil {
		return nil, nil, err
	}
	card.Rows, card.Curve, card.Calibration, err = measure(ctx, c, m, o)
	return file, card, err
}
