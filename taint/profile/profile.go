// Package profile says what a call of a tool does that no pack describes, by what a
// person said of the tool.
package profile

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/wish"
)

// Deed is what one call does.
type Deed struct {
	Effect effect.Effect
	// To are the addresses that its arguments name.
	To []string
	// Known: the user himself named what the call is about: every text and number
	// among its arguments.
	Known bool
}

// Of is what a call with some arguments does. User are the user's own texts.
//
// A tool's name is no proof: one that reads and is given an address reaches out
// where the user did not name the address.
func Of(p effect.Profile, args *document.Tree, user []string) Deed {
	d := Deed{Effect: p.Effect, Known: true}
	named := func(v string) bool {
		return slices.ContainsFunc(user, func(s string) bool { return wish.Spoken(s, v) })
	}
	texts := 0
	for i := range args.Nodes {
		n := &args.Nodes[i]
		if !args.Leaf(i) || n.Kind == document.Null || n.Kind == document.Boolean || n.Value == "" {
			continue
		}
		said := named(n.Value)
		if n.Kind == document.Text {
			texts++
		}
		if n.Kind == document.Text && (p.Open || Leads(n.Value)) && !said {
			d.To = append(d.To, n.Value)
			if d.Effect == effect.Observe {
				d.Effect = effect.Reach
			}
		}
		if d.Known && !said && !(n.Kind == document.Number && len(n.Value) < 3) {
			d.Known = false
		}
	}
	d.Known = d.Known && texts > 0
	return d
}

// Fetches reports whether an argument holds an address that a program may open.
func Fetches(args *document.Tree) bool {
	return slices.ContainsFunc(args.Nodes, func(n document.Node) bool { return n.Kind == document.Text && Leads(n.Value) })
}

// scheme matches the start of an address with a scheme, anywhere in a text.
var scheme = regexp.MustCompile(`(?i)(?:\b[a-z][a-z0-9+.-]{1,20}:)?//[^\s/]|\b(?:data|javascript|mailto|file|tel|sms):|\bwww\.|:%2f%2f|%3a(?:%2f|/){2}|\\\\[\pL0-9]|^[^\s@:/]{1,64}@[^\s@:/]{1,255}:\S`)

// hostLike matches a text that is a host, with or without a port and a path.
var hostLike = regexp.MustCompile(`(?i)^(?:[\pL0-9_][\pL\pM0-9_-]{0,62}[.。．｡])+[\pL][\pL\pM0-9-]{1,62}\.?(?::[0-9]{1,5})?(?:[/?#]\S*)?$`)

// Leads reports whether a text is or holds an address that a program may open.
func Leads(v string) bool {
	if scheme.MatchString(v) || hostLike.MatchString(v) && !fileLike(v) {
		return true
	}
	if _, err := netip.ParseAddrPort(v); err == nil {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(v, "[]"))
	host, _, _ := strings.Cut(v, ":")
	return err == nil || strings.EqualFold(host, "localhost")
}

// fileLike reports whether a name that could be a host is that of a file.
func fileLike(v string) bool {
	i := strings.LastIndexByte(v, '.')
	return !strings.ContainsAny(v, "/:?#") && slices.Contains(extensions, strings.ToLower(v[i+1:]))
}

// extensions of files that are no domains of the first level.
var extensions = []string{
	"txt", "json", "yaml", "yml", "toml", "xml", "csv", "tsv", "html", "htm", "css", "js", "ts", "jsx", "tsx", "go", "java", "kt", "swift", "rb", "php", "lua",
	"c", "h", "cpp", "hpp", "cs", "sql", "log", "lock", "ini", "cfg", "conf", "env", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "png", "jpg", "jpeg",
	"gif", "svg", "webp", "mp3", "mp4", "wav", "avi", "tar", "gz", "tgz", "bz", "xz", "jar", "exe", "dll", "bin", "ipynb", "tex", "rst", "proto",
}
