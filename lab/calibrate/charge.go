package calibrate

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Verdicts on what rubrics charge.
const (
	Covered = "covered" // the charge is at least the calibrated cost
	Within  = "margin"  // it is with the audit's margin, and not without
	Short   = "short"   // it is less
)

// Charge is what the rubrics charge for a cell, against what was calibrated.
type Charge struct {
	Field    string `json:"field"`
	Operator string `json:"operator"`
	Level    string `json:"level,omitempty"`
	N        int    `json:"n"`
	// Of the worst of the calibration pool, in bits: the mean, the upper bound of
	// the mean, and that of the 97 % quantile, which is the calibrated cost.
	Mean        float64 `json:"mean"`
	MeanUpper   float64 `json:"mean_upper"`
	Calibrated  float64 `json:"calibrated"`
	Stress      float64 `json:"stress"`  // the same bound of the stress pool
	Charged     float64 `json:"charged"` // the least of the rubrics
	AuditMargin float64 `json:"margin"`  // the least margin of their audits
	Verdict     string  `json:"verdict"`
	// Needed is the charge that would cover it, rounded up to a hundredth of a
	// bit; absent where the charge does.
	Needed float64 `json:"needed,omitempty"`
}

// charges are those of all cells.
func charges(cs []Cell) []Charge {
	out := make([]Charge, len(cs))
	for i := range cs {
		c := &cs[i]
		out[i] = Charge{
			string(c.Field), c.Op, c.Level, c.N, round(c.Mean[0].Value), round(c.Mean[0].Upper), round(c.Calibrated()), round(c.Quantile[1].Upper),
			round(c.Certified), round(c.Margin), c.verdict(), 0,
		}
		if out[i].Verdict != Covered {
			out[i].Needed = math.Ceil(c.Calibrated()*100-slack) / 100
		}
	}
	return out
}

func (c *Cell) verdict() string {
	switch over := c.Calibrated() - c.Certified; {
	case over <= slack:
		return Covered
	case over <= c.Margin+slack:
		return Within
	}
	return Short
}

// WriteCharges writes a list as JSON, a line each.
func WriteCharges(w io.Writer, all []Charge) error {
	for i := range all {
		line, err := json.Marshal(&all[i])
		if err != nil {
			return err
		}
		start := ",\n"
		if i == 0 {
			start = "[\n"
		}
		if _, err := fmt.Fprintf(w, "%s%s", start, line); err != nil {
			return err
		}
	}
	end := "\n]\n"
	if len(all) == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(w, end)
	return err
}
