package differ

import "fmt"

// Holds counts how many bytes each engine holds after a write. The zero value is
// empty. It is not safe for concurrent use.
type Holds struct {
	Reference Counts `json:"reference"`
	Product   Counts `json:"product"`
}

// Counts says after how many writes how many bytes were held.
type Counts struct {
	By []int `json:"by"` // writes, by the bytes held after them
}

func (c *Counts) add(held []int) {
	for _, h := range held {
		for len(c.By) <= h {
			c.By = append(c.By, 0)
		}
		c.By[h]++
	}
}

// N returns the number of writes.
func (c *Counts) N() int {
	n := 0
	for _, k := range c.By {
		n += k
	}
	return n
}

// Quantile returns the least number of bytes that at least a share q of the writes
// hold at most.
func (c *Counts) Quantile(q float64) int {
	seen, all := 0, float64(c.N())
	for held, n := range c.By {
		if seen += n; float64(seen) >= q*all && seen > 0 {
			return held
		}
	}
	return 0
}

// Mean returns the bytes held on average.
func (c *Counts) Mean() float64 {
	sum := 0
	for held, n := range c.By {
		sum += held * n
	}
	return float64(sum) / float64(max(c.N(), 1))
}

// Merge adds what another one counted.
func (h *Holds) Merge(o *Holds) {
	h.Reference.merge(&o.Reference)
	h.Product.merge(&o.Product)
}

func (c *Counts) merge(o *Counts) {
	for len(c.By) < len(o.By) {
		c.By = append(c.By, 0)
	}
	for held, n := range o.By {
		c.By[held] += n
	}
}

// Slack is how many bytes the product may hold more than the reference, at the 99th
// percentile.
const Slack = 8

// judged is how many writes tell what is held: of fewer, one in a hundred may be of one
// text.
const judged = 10_000

// Check returns an error if the product holds more than Slack allows, after enough
// writes to tell.
func (h *Holds) Check() error {
	if r, p := h.Reference.Quantile(0.99), h.Product.Quantile(0.99); p > r+Slack && h.Product.N() >= judged {
		return fmt.Errorf("after 99 of 100 writes the product holds at most %d bytes; the reference %d, and %d more are allowed", p, r, Slack)
	}
	return nil
}
