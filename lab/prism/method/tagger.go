package method

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// Labels of pieces: outside a secret, at its beginning, inside.
const (
	outside = iota
	begins
	inside
	labels
)

const (
	taggerBits   = 18 // of hashed features
	taggerEpochs = 16
)

// Tagger is the span tagger: an averaged structured perceptron (Collins 2002)
// that labels the pieces of a complete output, decoded by Viterbi, trained on
// the training repository. The spans that it finds are redacted.
type Tagger struct {
	weights [][labels]float32       // by hashed feature
	step    [labels][labels]float32 // from label to label
	first   [labels]float32
}

// TrainTagger trains on the spans that the generator recorded. The seed orders
// the outputs of each epoch.
func TrainTagger(traces []train.Trace, seed uint64) (*Tagger, error) {
	type example struct {
		feats [][]uint32
		gold  []uint8
	}
	var all []example
	marked := 0
	for i := range traces {
		text := traces[i].Text()
		pieces := piecesOf(text)
		if len(pieces) == 0 {
			continue
		}
		gold := goldOf(pieces, traces[i].Spans)
		for _, l := range gold {
			if l != outside {
				marked++
			}
		}
		all = append(all, example{taggerFeatures(text, pieces), gold})
	}
	if marked == 0 {
		return nil, fmt.Errorf("tagger: %w: no secret in %d outputs", train.ErrOneClass, len(traces))
	}
	p := newPerceptron()
	rng := rand.New(rand.NewPCG(seed, 0x7a66))
	for range taggerEpochs {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i := range all {
			p.learn(all[i].feats, all[i].gold)
		}
	}
	return p.averaged(), nil
}

// perceptron keeps, besides the weights w, the sum u of each update times when
// it was made: the average over n steps is w − u/n.
type perceptron struct {
	w, u Tagger
	n    float32
}

func newPerceptron() *perceptron {
	return &perceptron{
		w: Tagger{weights: make([][labels]float32, 1<<taggerBits)},
		u: Tagger{weights: make([][labels]float32, 1<<taggerBits)},
		n: 1,
	}
}

func (p *perceptron) learn(feats [][]uint32, gold []uint8) {
	got := p.w.decode(feats)
	for i := range gold {
		if gold[i] == got[i] && (i == 0 || gold[i-1] == got[i-1]) {
			continue
		}
		p.update(feats[i], i, gold, 1)
		p.update(feats[i], i, got, -1)
	}
	p.n++
}

func (p *perceptron) update(feats []uint32, i int, tags []uint8, by float32) {
	for _, f := range feats {
		p.w.weights[f][tags[i]] += by
		p.u.weights[f][tags[i]] += by * p.n
	}
	if i == 0 {
		p.w.first[tags[0]] += by
		p.u.first[tags[0]] += by * p.n
		return
	}
	p.w.step[tags[i-1]][tags[i]] += by
	p.u.step[tags[i-1]][tags[i]] += by * p.n
}

func (p *perceptron) averaged() *Tagger {
	for f := range p.w.weights {
		for l := range labels {
			p.w.weights[f][l] -= p.u.weights[f][l] / p.n
		}
	}
	for a := range labels {
		p.w.first[a] -= p.u.first[a] / p.n
		for b := range labels {
			p.w.step[a][b] -= p.u.step[a][b] / p.n
		}
	}
	return &p.w
}

// decode returns the best labels in which inside follows a begin only.
func (t *Tagger) decode(feats [][]uint32) []uint8 {
	const never = -math.MaxFloat32 / 4
	if len(feats) == 0 {
		return nil
	}
	back := make([][labels]uint8, len(feats))
	var score [labels]float32
	for i := range feats {
		var emit [labels]float32
		for _, f := range feats[i] {
			for l := range labels {
				emit[l] += t.weights[f][l]
			}
		}
		if i == 0 {
			for l := range labels {
				score[l] = t.first[l] + emit[l]
			}
			score[inside] = never
			continue
		}
		var next [labels]float32
		for l := range labels {
			next[l] = never
			for from := range labels {
				if l == inside && from == outside {
					continue
				}
				if s := score[from] + t.step[from][l]; s > next[l] {
					next[l], back[i][l] = s, uint8(from)
				}
			}
			next[l] += emit[l]
		}
		score = next
	}
	best := outside
	for l := range labels {
		if score[l] > score[best] {
			best = l
		}
	}
	tags := make([]uint8, len(feats))
	for i := len(feats) - 1; i >= 0; i-- {
		tags[i] = uint8(best)
		best = int(back[i][best])
	}
	return tags
}

// Name implements Method.
func (*Tagger) Name() string { return "tagger" }

// Filter implements Method.
func (t *Tagger) Filter(_ context.Context, in *Input) (Output, error) {
	pieces := piecesOf(in.Text)
	var spans []span
	for i, l := range t.decode(taggerFeatures(in.Text, pieces)) {
		switch {
		case l == inside && len(spans) > 0: // with the space that may lie between
			spans[len(spans)-1].end = pieces[i].end
		case l != outside:
			spans = append(spans, pieces[i])
		}
	}
	return removing(in, spans), nil
}

// piecesOf cuts a text like a tokenizer. The space before a piece is left out,
// pieces that are only space too.
func piecesOf(text string) []span {
	var out []span
	for at := 0; at < len(text); {
		n := monitor.NextPiece(text[at:])
		s := span{at, at + n}
		for s.start < s.end && isSpace(text[s.start]) {
			s.start++
		}
		if s.start < s.end {
			out = append(out, s)
		}
		at += n
	}
	return out
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// goldOf labels pieces by the spans that cover at least half of them.
func goldOf(pieces []span, spans []train.Span) []uint8 {
	gold := make([]uint8, len(pieces))
	for _, s := range spans {
		first := true
		for i, p := range pieces {
			if over := min(p.end, s.End) - max(p.start, s.Start); 2*over < p.end-p.start || over <= 0 {
				continue
			}
			switch {
			case first && gold[i] == outside:
				gold[i] = begins
			case !first:
				gold[i] = inside
			}
			first = false
		}
	}
	return gold
}

// taggerFeatures returns the hashed features of each piece: the piece, its
// neighbours, the word that it is part of, and what stands before that.
func taggerFeatures(text string, pieces []span) [][]uint32 {
	words := wordsAt(text)
	out := make([][]uint32, len(pieces))
	piece := func(i int) string {
		if i < 0 || i >= len(pieces) {
			return "\x00"
		}
		return text[pieces[i].start:pieces[i].end]
	}
	w := 0
	for i, p := range pieces {
		for w+1 < len(words) && words[w+1].start <= p.start {
			w++
		}
		f := hasher{}
		s := piece(i)
		f.add("w", strings.ToLower(s))
		f.add("s", shape(s))
		for _, d := range []int{-2, -1, 1, 2} {
			f.add("n"+string(rune('4'+d)), strings.ToLower(piece(i+d)))
			f.add("m"+string(rune('4'+d)), shape(piece(i+d)))
		}
		f.add("p", shape(piece(i-1))+"|"+shape(s)+"|"+shape(piece(i+1)))
		if w < len(words) {
			word := &words[w]
			look := string(rune('a'+word.classes)) + string(rune('a'+min(word.end-word.start, 80)/4)) + string(rune('a'+int(word.entropy*2)))
			f.add("l", string(rune('a'+min(word.end-word.start, 80)/4)))
			f.add("c", string(rune('a'+word.classes)))
			f.add("h", string(rune('a'+int(word.entropy*2))))
			f.add("x", look)
			f.add("b", string(rune('a'+min(p.start-word.start, 25)/5)))
			if word.start > 0 {
				f.add("q", text[word.start-1:word.start])
			}
			for k := 1; k <= 3 && w-k >= 0; k++ {
				f.add("k"+string(rune('0'+k)), words[w-k].keyword)
				f.add("v"+string(rune('0'+k)), words[w-k].keyword+string(rune('a'+word.classes)))
			}
			f.add("kw", word.keyword)
			for k := -2; k <= 2; k++ {
				if k != 0 && w+k >= 0 && w+k < len(words) {
					f.add("o"+string(rune('4'+k)), words[w+k].tail)
					f.add("t"+string(rune('4'+k)), words[w+k].tail+"|"+look)
				}
			}
			if w > 0 {
				f.add("u", words[w-1].tail+"|"+shape(s))
			}
		}
		f.add("", "")
		out[i] = f.list
	}
	return out
}

// taggerWord parts a name from what is assigned to it.
var taggerWord = regexp.MustCompile("[^\\s\"'`<>(){}\\[\\],;=]+")

// word is a run of what is neither space nor quote, with what is known of it.
type word struct {
	span
	classes int
	entropy float64
	keyword string
	tail    string // the last part of a name, in lower case
}

func wordsAt(text string) []word {
	var out []word
	for _, m := range taggerWord.FindAllStringIndex(text, -1) {
		s := text[m[0]:m[1]]
		w := word{span: span{m[0], m[1]}, classes: classesOf(s), entropy: shannon(s, false)}
		low := strings.ToLower(s)
		w.tail = strings.Trim(low, "=:.`*")
		if i := strings.LastIndexAny(w.tail, "_.-/"); i >= 0 && len(w.tail)-i > 3 {
			w.tail = w.tail[i+1:]
		}
		for _, k := range keywords {
			if strings.Contains(low, k) {
				w.keyword = k
				break
			}
		}
		out = append(out, w)
	}
	return out
}

// shape writes letters as a and A, digits as 0, others as they are, repeats
// once.
func shape(s string) string {
	var b strings.Builder
	last := byte(0)
	for i := range min(len(s), 12) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z':
			c = 'a'
		case c >= 'A' && c <= 'Z':
			c = 'A'
		case c >= '0' && c <= '9':
			c = '0'
		case c >= 0x80:
			c = 0x80
		}
		if c != last {
			b.WriteByte(c)
		}
		last = c
	}
	return b.String()
}

// hasher collects features by 32-bit FNV-1a, cut to taggerBits.
type hasher struct{ list []uint32 }

func (h *hasher) add(kind, value string) {
	x := uint32(2166136261)
	for _, s := range []string{kind, "\x01", value} {
		for i := range len(s) {
			x = (x ^ uint32(s[i])) * 16777619
		}
	}
	h.list = append(h.list, (x^x>>taggerBits)&(1<<taggerBits-1))
}
