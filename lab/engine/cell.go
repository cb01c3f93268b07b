package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/margaydev/margay/lab/cputime"
)

// cell is one figure in the making.
type cell struct {
	defence, slice string
	text           []byte
	write          int
	scan           scan
	passes         int             // over the text, in one measurement
	took           []time.Duration // of one pass
	found          int
	beside         *cell // another engine on the same bytes, measured in turn with this one
}

const (
	// least is how long a measurement takes at least: shorter ones say
	// more of the clock than of the engine.
	least = 5 * time.Millisecond
	// most is what a cell takes at most, all measurements together, unless one
	// alone takes longer. Slow cells have fewer of them.
	most = 3 * time.Second
	// slow is from when on the first pass counts as a measurement: what is
	// built once weighs nothing in it.
	slow = time.Second / 2
)

// warm reads the text for the first time, which builds what is built once, and
// sets how often it is read in a measurement.
func (c *cell) warm() {
	took := c.pass(1)
	if took < least {
		took = c.pass(1)
	}
	if took >= slow {
		c.took = append(c.took, took)
	}
	c.passes = 1 + int(least/max(took, 10*time.Microsecond))
	if c.beside != nil {
		c.beside.warm()
	}
}

func (c *cell) pass(n int) time.Duration {
	start := cputime.Used()
	for range n {
		c.found = c.scan(c.text, c.write)
	}
	return cputime.Used() - start
}

func (c *cell) measure() {
	if n := len(c.took); n > 0 && c.took[0]*time.Duration(n*c.passes) > most {
		return
	}
	c.took = append(c.took, c.pass(c.passes)/time.Duration(c.passes))
	if c.beside != nil {
		c.beside.measure()
	}
}

// measureAll measures all cells in turn, and after each round what else there is.
func measureAll(ctx context.Context, cells []*cell, reps int, progress func(string), also func() error) error {
	for round := range reps + 1 {
		for i, c := range cells {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			progress(fmt.Sprintf("round %d of %d, %d of %d: %s %s", round, reps, i+1, len(cells), c.defence, c.slice))
			if round == 0 {
				c.warm()
			} else {
				c.measure()
			}
		}
		if also == nil {
			continue
		}
		if err := also(); err != nil {
			return err
		}
	}
	return nil
}

// nsPerByte is the least of the measurements.
func (c *cell) nsPerByte() float64 {
	return float64(slices.Min(c.took).Nanoseconds()) / float64(len(c.text))
}

// metrics are the figures of the cell.
func (c *cell) metrics() map[string]float64 {
	m := map[string]float64{
		"ns_per_byte": c.nsPerByte(),
		"spread":      float64(slices.Max(c.took)) / float64(max(slices.Min(c.took), 1)),
		"findings":    float64(c.found),
	}
	if c.write != whole {
		writes := (len(c.text) + c.write - 1) / c.write
		m["ns_per_write"] = c.nsPerByte() * float64(len(c.text)) / float64(writes)
	}
	if c.beside != nil {
		m["bytes"], m["times_as_long"] = float64(len(c.text)), c.nsPerByte()/c.beside.nsPerByte()
	}
	return m
}
