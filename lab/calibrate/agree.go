package calibrate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Annotation is how much a recipient needs an item, as one annotator says.
type Annotation struct {
	Item      string `json:"item"`
	Annotator string `json:"annotator"`
	Necessity string `json:"necessity"` // required, useful or unnecessary
}

// ReadAnnotations reads JSON lines.
func ReadAnnotations(r io.Reader) ([]Annotation, error) {
	var out []Annotation
	in := bufio.NewScanner(r)
	for line := 1; in.Scan(); line++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		var a Annotation
		if err := json.Unmarshal(in.Bytes(), &a); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		switch a.Necessity {
		case "required", "useful", "unnecessary":
		default:
			return nil, fmt.Errorf("line %d: unknown necessity %q; known are required, useful and unnecessary", line, a.Necessity)
		}
		if a.Item == "" || a.Annotator == "" {
			return nil, fmt.Errorf("line %d: item and annotator must be there", line)
		}
		out = append(out, a)
	}
	return out, in.Err()
}

// Alpha is Krippendorff's α of nominal values, with the number of annotators; NaN
// where no item has two values, or all values are one.
func Alpha(all []Annotation) (alpha float64, annotators int) {
	items := map[string][]string{}
	who := map[string]bool{}
	for _, a := range all {
		items[a.Item] = append(items[a.Item], a.Necessity)
		who[a.Annotator] = true
	}
	total := map[string]float64{}
	n, observed := 0.0, 0.0
	for _, values := range items {
		m := float64(len(values))
		if m < 2 {
			continue
		}
		n += m
		count := map[string]float64{}
		for _, v := range values {
			count[v]++
			total[v]++
		}
		pairs := m * (m - 1)
		for _, c := range count {
			pairs -= c * (c - 1)
		}
		observed += pairs / (m - 1)
	}
	expected := n * (n - 1)
	for _, c := range total {
		expected -= c * (c - 1)
	}
	if n < 2 || expected == 0 {
		return math.NaN(), len(who)
	}
	return 1 - observed/n/(expected/(n*(n-1))), len(who)
}
