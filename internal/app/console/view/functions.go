package view

import (
	"fmt"
	"html/template"
	"strconv"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/visible"
)

// Functions are what templates call.
var Functions = template.FuncMap{
	"visible":  visible.Text,
	"pretty":   func(s string) string { return visible.Text(Pretty(s)) },
	"segments": Segments,
	"percent":  func(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" },
	"number":   Number,
	"milli":    func(n int) string { return strconv.FormatFloat(float64(n)/1000, 'f', 3, 64) },
	"bytes": func(n any) string {
		x, _ := strconv.ParseFloat(fmt.Sprint(n), 64)
		switch {
		case x >= 1<<20:
			return strconv.FormatFloat(x/(1<<20), 'f', 1, 64) + " MiB"
		case x >= 1<<10:
			return strconv.FormatFloat(x/(1<<10), 'f', 1, 64) + " KiB"
		}
		return fmt.Sprint(n) + " B"
	},
	"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"day":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	// lastday is the last day before a moment.
	"lastday": func(t time.Time) string { return t.UTC().Add(-1).Format("2006-01-02") },
	"short":   func(hash string) string { return hash[:min(len(hash), 12)] },
	"classes": func() []string {
		return []string{flow.Adversarial.String(), flow.SemiTrusted.String(), flow.RequiredService.String()}
	},
	"channels": func() []flow.Channel {
		return []flow.Channel{flow.ChannelTool, flow.ChannelModel, flow.ChannelMemory, flow.ChannelAgent}
	},
	"add":   func(a, b int) int { return a + b },
	"len64": func(a, b int64) int64 { return b - a },
}
