package suggest

import (
	"slices"
	"strings"
)

var (
	// acts are verbs that names of reading tools do not have, not even as nouns.
	acts = set("delete remove send execute exec write create update replace purge drop modify edit rename move publish pay buy sell refund push grant revoke install uninstall deploy overwrite append insert upload clear reset kill destroy truncate erase wipe add put upsert patch restart stop reboot shutdown enable disable invite submit unschedule click mutate eval evaluate spawn")
	// addresses are the last words of arguments that name an address.
	addresses = set("url uri href website webpage hostname")
	toWrite   = set("save output out dest destination write export outfile")
	places    = set("path dir file folder directory filename filepath to")
	files     = set("file disk path directory")
	saving    = set("save saved write written")
	noAddress = set("create include return with show")
)

// signs looks for what no wording outweighs.
func (in *Input) signs(name string, args, prose []string) {
	for _, s := range split(nil, name) {
		in.Acts = in.Acts || acts[s]
	}
	var w []string
	for _, a := range args {
		w = split(w[:0], a)
		in.Address = in.Address || len(w) > 0 && addresses[w[len(w)-1]] && !noAddress[w[0]]
		in.Saves = in.Saves || slices.ContainsFunc(w, func(s string) bool { return toWrite[s] }) && slices.ContainsFunc(w, func(s string) bool { return places[s] })
	}
	for _, t := range prose[min(1, len(prose)):] { // the description may speak of another tool's files
		w = split(w[:0], t)
		in.Saves = in.Saves || together(w, saving, files)
	}
	if len(prose) > 0 {
		if i := strings.IndexFunc(prose[0], func(r rune) bool { return r != ' ' && r != '\n' }); i >= 0 {
			w = split(w[:0], prose[0][i:min(len(prose[0]), i+maxWord)])
			in.Acts = in.Acts || len(w) > 0 && (acts[w[0]] || w[0] == "download")
		}
	}
}

// together reports whether a word of each set are near each other.
func together(w []string, a, b map[string]bool) bool {
	lastA, lastB := -near-1, -near-1
	for at, s := range w {
		if a[s] {
			lastA = at
		}
		if b[s] {
			lastB = at
		}
		if lastA >= 0 && lastB >= 0 && max(lastA, lastB)-min(lastA, lastB) <= near {
			return true
		}
	}
	return false
}
