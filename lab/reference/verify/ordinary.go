package verify

import (
	"context"
	"fmt"

	"github.com/margaydev/margay/lab/engine/corpus"
	"github.com/margaydev/margay/lab/reference/differ"
)

// Ordinary are the kinds of ordinary text that the suite engine measures, so many bytes
// of them together and a part for each. Where a kind has less than its share, the others
// have more.
func Ordinary(rules *differ.Rules, bytes int64, seed uint64) ([]Part, error) {
	ms, err := modes(rules)
	if err != nil {
		return nil, err
	}
	src, err := Source()
	if err != nil {
		return nil, err
	}
	var parts []Part
	all := corpus.All()
	for i, c := range all {
		n := int(bytes) / (len(all) - i)
		for err = error(nil); n > 0; n /= 2 {
			if _, err = c.Text(n, seed); err == nil {
				break
			}
		}
		if err != nil {
			return nil, err
		}
		bytes -= int64(n)
		parts = append(parts, Part{
			Name: "ordinary " + c.Name, Of: fmt.Sprintf("%d bytes", n), Items: (n + piece - 1) / piece, share: byBytes(int64(n)),
			each: func(ctx context.Context, from int, yield func(item) bool) error {
				text, err := c.Text(n, seed)
				if err != nil {
					return err
				}
				for k := from; k*piece < n && ctx.Err() == nil; k++ {
					b := text[k*piece : min(n, (k+1)*piece)]
					if !yield(func(ctx context.Context, r *Result) {
						d := src.Drawer(seed + uint64(k))
						r.Texts, r.Bytes = r.Texts+1, r.Bytes+int64(len(b))
						for i := 1; i < 3; i++ { // the modes of the gateway and the mediator
							splits := [][]int{every(len(b), 4), nil, d.Cuts(len(b))}
							one(ctx, r, &ms[i], b, splits, "ordinary "+c.Name, fmt.Sprintf("%s from %d", c.Name, k*piece))
						}
					}) {
						break
					}
				}
				return ctx.Err()
			},
		})
	}
	return parts, nil
}
