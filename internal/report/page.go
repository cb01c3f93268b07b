package report

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/console/view"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// page shows a document. What it makes of one must stay the same: whoever
// changes it gives Page another number.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"visible": view.Visible,
	"day":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"bits":    func(b flow.Bits) string { return b.String() },
	"short": func(hash string) string {
		return hash[:min(len(hash), 12)]
	},
}).Parse(pageText))

// Render returns the document as a page that stands alone: it runs nothing,
// loads nothing, and carries the document, from which it can be made again.
func (d *Document) Render() ([]byte, error) {
	data, err := encode(d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src " + styleHash(pageStyle) + "; base-uri 'none'; form-action 'none'\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>Margay: what was done</title>\n<style>")
	b.WriteString(pageStyle)
	b.WriteString("</style>\n</head>\n<body>\n")
	if err := page.Execute(&b, d); err != nil {
		return nil, err
	}
	b.WriteString(dataBegin)
	b.Write(data)
	b.WriteString(dataEnd)
	return fits(b.Bytes(), nil)
}
