package verify

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/margaydev/margay/lab/vectors"
)

// distinct leaves out of an order what repeats a text under the same path with the same
// secret, and says how many those are: engines say the same of it. Of those that are the
// same, it keeps the first.
func distinct(pos vectors.Positives, order []int) (kept []int, same int) {
	had := map[[sha256.Size]byte]bool{}
	for _, i := range order {
		v := pos.At(i)
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", v.Path, v.Secret, v.Text))
		if had[sum] {
			same++
			continue
		}
		had[sum] = true
		kept = append(kept, i)
	}
	return kept, same
}

// splits is the share of the bytes that are read where each text is read once for each
// of its bytes: a long one takes longer by the square.
func splits(pos vectors.Positives, order []int) func(*Progress) float64 {
	upTo := make([]float64, len(order)+1)
	for k, i := range order {
		n := float64(len(pos.At(i).Text))
		upTo[k+1] = upTo[k] + n*n
	}
	return func(p *Progress) float64 { return upTo[p.Next] / max(upTo[len(order)], 1) }
}

func byBytes(n int64) func(*Progress) float64 {
	return func(p *Progress) float64 { return min(float64(p.Result.Bytes)/float64(max(n, 1)), 1) }
}

// left says how much of a part is done, and how long the rest takes at the speed since
// now.
func (p *Part) left(from *Progress) func(*Progress) string {
	if p.share == nil {
		return func(*Progress) string { return "" }
	}
	began, first := time.Now(), p.share(from)
	return func(at *Progress) string {
		done := p.share(at)
		if done <= first {
			return ""
		}
		rest := time.Duration(float64(time.Since(began)) * (1 - done) / (done - first))
		return fmt.Sprintf(", %.1f %%, about %v left", 100*done, rest.Round(time.Second))
	}
}
