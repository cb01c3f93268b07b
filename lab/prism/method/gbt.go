package method

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/margaydev/margay/lab/train"
)

// The usual settings of gradient boosting (Friedman 2001), which are the
// defaults of its common implementations. Nothing is searched.
const (
	boostRounds = 100
	boostRate   = 0.1
	boostDepth  = 3
	boostBlock  = 0.5 // score from which an output is blocked
)

// GBT is the classifier of complete outputs: gradient-boosted regression trees
// on the logistic loss over engineered features, trained on the training
// repository. It says whether an output leaks, not where: an output that
// scores 0.5 or more is blocked whole.
type GBT struct {
	bias  float64
	trees []tree
}

// tree is a binary tree in an array; the children of i are 2i+1 and 2i+2.
type tree [1<<(boostDepth+1) - 1]node

type node struct {
	feature   int // -1 for a leaf
	threshold float64
	value     float64
}

// TrainGBT trains on outputs labelled by whether a secret, or a part of one,
// stands in them. The result is a function of the traces and their order.
func TrainGBT(traces []train.Trace) (*GBT, error) {
	x := make([][featureCount]float64, len(traces))
	y := make([]float64, len(traces))
	pos := 0.0
	for i := range traces {
		x[i] = featuresOf(traces[i].Text())
		if len(traces[i].Spans) > 0 {
			y[i] = 1
		}
		pos += y[i]
	}
	if n := float64(len(y)); pos == 0 || pos == n {
		return nil, fmt.Errorf("gbt: %w: %d outputs, %.0f of them leak", train.ErrOneClass, len(y), pos)
	}
	g := &GBT{bias: math.Log(pos / (float64(len(y)) - pos))}
	score := make([]float64, len(y))
	for i := range score {
		score[i] = g.bias
	}
	grow := grower{x: x, residual: make([]float64, len(y)), weight: make([]float64, len(y))}
	for range boostRounds {
		for i := range y {
			p := sigmoid(score[i])
			grow.residual[i], grow.weight[i] = y[i]-p, p*(1-p)
		}
		var t tree
		rows := make([]int, len(y))
		for i := range rows {
			rows[i] = i
		}
		grow.split(&t, 0, rows, boostDepth)
		for i := range score {
			score[i] += boostRate * t.value(&x[i])
		}
		g.trees = append(g.trees, t)
	}
	return g, nil
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// grower grows one tree on the loss's gradient.
type grower struct {
	x                [][featureCount]float64
	residual, weight []float64
}

// split makes node at of the rows: the split that most lessens the squared
// error of the residuals, or a leaf with a Newton step.
func (g *grower) split(t *tree, at int, rows []int, depth int) {
	var sum, weight float64
	for _, i := range rows {
		sum += g.residual[i]
		weight += g.weight[i]
	}
	t[at] = node{feature: -1, value: sum / math.Max(weight, 1e-9)}
	if depth == 0 || len(rows) < 2 {
		return
	}
	n := float64(len(rows))
	best, feature, threshold := sum*sum/n+1e-9, -1, 0.0
	order := slices.Clone(rows)
	for f := range featureCount {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.x[a][f], g.x[b][f]) })
		left := 0.0
		for k, i := range order[:len(order)-1] {
			left += g.residual[i]
			here, next := g.x[i][f], g.x[order[k+1]][f]
			if here == next {
				continue
			}
			nl := float64(k + 1)
			if gain := left*left/nl + (sum-left)*(sum-left)/(n-nl); gain > best {
				best, feature, threshold = gain, f, (here+next)/2
			}
		}
	}
	if feature < 0 {
		return
	}
	var l, r []int
	for _, i := range rows {
		if g.x[i][feature] <= threshold {
			l = append(l, i)
		} else {
			r = append(r, i)
		}
	}
	if len(l) == 0 || len(r) == 0 { // the mean of two neighbours rounded to one of them
		return
	}
	t[at].feature, t[at].threshold = feature, threshold
	g.split(t, 2*at+1, l, depth-1)
	g.split(t, 2*at+2, r, depth-1)
}

func (t *tree) value(x *[featureCount]float64) float64 {
	at := 0
	for t[at].feature >= 0 {
		next := 2*at + 1
		if x[t[at].feature] > t[at].threshold {
			next++
		}
		at = next
	}
	return t[at].value
}

// Score is the probability, in [0, 1], that a complete output leaks.
func (g *GBT) Score(text string) float64 {
	x := featuresOf(text)
	s := g.bias
	for i := range g.trees {
		s += boostRate * g.trees[i].value(&x)
	}
	return sigmoid(s)
}

// Name implements Method.
func (*GBT) Name() string { return "gbt" }

// Filter implements Method.
func (g *GBT) Filter(_ context.Context, in *Input) (Output, error) {
	out := pass(in)
	out.Risk = g.Score(in.Text)
	if out.Risk >= boostBlock && in.Text != "" {
		out.Text, out.Removed = redact(in.Text, []span{{0, len(in.Text)}})
	}
	return out, nil
}
