package engine

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/engine/corpus"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/store/memory"
)

// judging are cells of what comes after the engine where releases are checked: the
// network alone, and a whole release. A text goes in pieces to a recipient, each in a
// release of its own by the library's rubrics, all of one session: the engine reads a
// piece, and then the defender and the screener do. The ledger is in memory.
func (s *suite) judging(texts map[string][]byte) ([]*cell, error) {
	if !slices.Contains(s.Writes, whole) || !slices.Contains(s.Secrets, few) {
		return nil, nil
	}
	s.Progress("declassify")
	engine, err := margay{}.open(s.vault[few])
	if err != nil {
		return nil, err
	}
	model, err := tagger.Default()
	if err != nil {
		return nil, err
	}
	r, err := newReleaser(model)
	if err != nil {
		return nil, err
	}
	scanned := func(text []byte, _ int) (found int) {
		for p := range slices.Chunk(text, sampled) {
			found += engine(p, whole)
		}
		return found
	}
	var cells []*cell
	add := func(name, mode string, scan scan) {
		// Releases are of valid text; a sample cuts characters in two.
		text := sampleOf([]byte(strings.ToValidUTF8(string(sampleOf(texts[name])), "?")))
		cells = append(cells, &cell{
			defence: ours, slice: slice(name, whole, few) + ",mode=" + mode, text: text, write: whole, scan: scan,
			beside: &cell{text: text, write: whole, scan: scanned},
		})
	}
	for _, c := range corpus.All() {
		if texts[c.Name] == nil {
			continue
		}
		add(c.Name, "tagger", func(text []byte, _ int) (found int) {
			for p := range slices.Chunk(text, sampled) {
				got, err := model.Read(context.Background(), string(p))
				if err != nil {
					panic("engine: nothing ends this reading: " + err.Error())
				}
				found += len(got.Spans)
			}
			return found
		})
		add(c.Name, "declassify", func(text []byte, _ int) (changed int) {
			r.sessions++
			for p := range slices.Chunk(text, sampled) {
				engine(p, whole)
				if r.changed(strings.ToValidUTF8(string(p), "?")) {
					changed++
				}
			}
			return changed
		})
	}
	s.r.Notes = append(s.r.Notes, fmt.Sprintf("mode=tagger: the network of declassify reads pieces of %d bytes. mode=declassify: the engine reads a piece, and then it is released to a semi-trusted model (rubrics of the library, defender and screener tagger, no challenges, ledger in memory); findings are the pieces that were changed or refused. times_as_long is by the engine alone on the same pieces", sampled))
	return cells, nil
}

// releaser takes texts through the checks of releases.
type releaser struct {
	verifier           *declassify.Verifier
	sessions, releases int
}

func newReleaser(model *tagger.Model) (*releaser, error) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}})
	store := memory.New()
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	if err != nil {
		return nil, err
	}
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			return nil, err
		}
		if _, err := reg.Add(f.Name, rubric.Sign(r, key)); err != nil {
			return nil, err
		}
		if _, err := book.KeepRubric(context.Background(), r.Canonical()); err != nil {
			return nil, err
		}
	}
	v, err := declassify.New(declassify.Config{
		Resolve: func(q rubric.Query) (declassify.Rules, error) { return reg.Resolve(q) },
		Ledger:  book, History: store, Defender: tagger.New(model), Screener: tagger.NewScreener(model), Key: [32]byte{1},
	})
	return &releaser{verifier: v}, err
}

// changed reports whether something of a text was not released.
func (r *releaser) changed(text string) bool {
	r.releases++
	got, err := r.verifier.Release(context.Background(), declassify.Candidate{
		Trajectory: flow.TrajectoryID(fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ%07d", r.sessions)), Decision: fmt.Sprintf("D%d", r.releases),
		Tool: schema.Tool{
			Name: "model", Action: "customer-support", Sink: "model", Class: flow.SemiTrusted, Channel: flow.ChannelModel,
			Args: []schema.Arg{{Path: flow.FieldOther.String()}, {Path: flow.FieldToolName.String()}, {Path: "*", Free: true}},
		},
		Parts: []declassify.Part{{Path: flow.FieldContent.String(), Text: text, Untrusted: true}},
	})
	if err != nil {
		panic("engine: nothing ends this release: " + err.Error())
	}
	parts := got.Parts()
	return !got.Released() || len(parts) != 1 || parts[0].Text != text
}
