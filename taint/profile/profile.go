// Package profile says what a call of a tool does that no pack describes, by what a
// person said of the tool.
package profile

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

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
	if len(args.Nodes) > maxValues { // nobody named all of that
		d.reach("what its many arguments say")
		return d
	}
	for i := range args.Nodes {
		n := &args.Nodes[i]
		if n.Key != "" && Leads(n.Key) && !named(n.Key) {
			d.reach(n.Key)
		}
		if !args.Leaf(i) || n.Kind == document.Null || n.Kind == document.Boolean || n.Value == "" {
			continue
		}
		said := named(n.Value)
		if n.Kind == document.Text {
			texts++
		}
		if n.Kind == document.Text && (p.Open || Leads(n.Value)) && !said {
			d.reach(n.Value)
		}
		if d.Known && !said && !(n.Kind == document.Number && len(n.Value) < 3) {
			d.Known = false
		}
	}
	d.Known = d.Known && texts > 0
	return d
}

// maxValues bounds the arguments that are looked at, with those inside others.
const maxValues = 256

// reach notes an address that the user did not name: what only reads, or changes the
// user's own records, reaches out there.
func (d *Deed) reach(to string) {
	d.To, d.Known = append(d.To, to), false
	if d.Effect == effect.Observe || d.Effect == effect.Edit || d.Effect == effect.Run {
		d.Effect = effect.Reach
	}
}

// Fetches reports whether an argument holds an address that a program may open.
func Fetches(args *document.Tree) bool {
	return slices.ContainsFunc(args.Nodes, func(n document.Node) bool {
		return n.Kind == document.Text && Leads(n.Value) || n.Key != "" && Leads(n.Key)
	})
}

// maxText bounds a text that is looked at, in bytes; a longer one leads somewhere.
const maxText = 4 << 10

var (
	// scheme matches the start of an address with a scheme, anywhere in a text.
	scheme = regexp.MustCompile(`\b[a-z][a-z0-9+.-]{1,20}:/|//|\b(?:data|javascript|mailto|file|tel|sms|npm|docker|git|ssh):\S|\bwww\.`)
	// host matches a word that is a host or a mail address, with or without a port and a
	// path.
	host = regexp.MustCompile(`^(?:[^\s@]{1,64}@)?(?:[\pL\pM\pN_-]{1,63}\.)+[\pL][\pL\pM\pN-]{1,62}\.?(?:[:/?#]\S*)?$`)
	// numeric matches an address of numbers.
	numeric = regexp.MustCompile(`^\[?(?:[0-9]{1,3}(?:\.[0-9]{1,3}){1,3}|[0-9a-f]*:[0-9a-f:.%]*:[0-9a-z:.%]*|0x[0-9a-f]{6,8})\]?(?:[:/]\S*)?$`)
	// plainNumber matches versions, decimals, times and dates, which name nothing.
	plainNumber = regexp.MustCompile(`^v?[0-9]{1,4}(?:[.:/-][0-9]{1,9}){0,2}(?:t[0-9:.]{4,15}(?:z|[+-][0-9]{2}:?[0-9]{2})?)?%?$`)
)

// Leads reports whether a text is or holds an address that a program may open, in
// whatever spelling: of a text without spaces all that might be one counts.
func Leads(v string) bool {
	if len(v) > maxText {
		return true
	}
	v = plainly(v)
	words := strings.Fields(v)
	if scheme.MatchString(v) || scheme.MatchString(strings.Join(words, "")) {
		return true
	}
	for _, w := range words {
		if numeric.MatchString(w) && !plainNumber.MatchString(w) {
			return true
		}
		w = strings.Trim(w, ".,;:!?()<>\"'`")
		switch {
		case plainNumber.MatchString(w) || fileLike(w):
		case w == "localhost" || strings.HasPrefix(w, "localhost:") || strings.HasPrefix(w, "localhost/"), numeric.MatchString(w), host.MatchString(w):
			return true
		case len(words) == 1 && strings.ContainsAny(w, ":@/"):
			return true
		}
	}
	return false
}

// plainly is a text in small letters, as programs read it that open addresses:
// without what nobody sees, with one kind of slashes and dots, and unescaped once.
func plainly(v string) string {
	if u, err := url.PathUnescape(v); err == nil {
		v = u
	}
	v = strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case r == '。' || r == '．' || r == '｡':
			return '.'
		case unicode.In(r, unicode.Cf, unicode.Cc) && r != ' ' && r != '\n':
			return -1
		}
		return r
	}, norm.NFKC.String(v))
	return strings.ToLower(v)
}

// fileLike reports whether a word is the name of a file, or a path without a host.
func fileLike(v string) bool {
	i := strings.LastIndexByte(v, '.')
	return i > 0 && !strings.ContainsAny(v, ":?#@") && !strings.Contains(v, "//") && slices.Contains(extensions, v[i+1:]) && !strings.Contains(strings.SplitN(v, "/", 2)[0], ".") == strings.Contains(v, "/")
}

// extensions of files that are no domains of the first level.
var extensions = []string{
	"txt", "json", "yaml", "yml", "toml", "xml", "csv", "tsv", "html", "htm", "css", "js", "ts", "jsx", "tsx", "go", "java", "kt", "swift", "rb", "php", "lua",
	"c", "h", "cpp", "hpp", "cs", "sql", "log", "lock", "ini", "cfg", "conf", "env", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "png", "jpg", "jpeg",
	"gif", "svg", "webp", "mp3", "mp4", "wav", "avi", "tar", "gz", "tgz", "xz", "jar", "exe", "dll", "bin", "ipynb", "tex", "rst", "proto",
}
