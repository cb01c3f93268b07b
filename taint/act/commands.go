package act

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
)

// in is the machine in the folder that a call names.
func (s *Spec) in(m *Machine, args *document.Tree) *Machine {
	if s.Server {
		m = m.In("")
	}
	dir := m.Dir
	if s.Dir != nil {
		for _, d := range texts(args, []document.Path{*s.Dir}) {
			full := ""
			if m.Places != nil {
				full, _ = m.Places.Resolve(m.Dir, d)
			}
			dir = full
		}
	}
	return m.In(dir)
}

// commands are the parts of a shell command.
func (s *Spec) commands(m *Machine, args *document.Tree) []Act {
	in := s.in(m, args)
	dir := in.Dir
	on := &shell.Machine{Dir: dir, Home: m.Home, Tainted: m.touched, Mine: m.mine, Built: m.built}
	if m.Places != nil {
		on.Zone, on.Above = m.Places.Zone, m.Places.Above
	}
	var out []Act
	add := func(c shell.Command, command string) {
		mixes, named := in.mixes(command), in.namesTouched(command)
		for j := range c.Parts {
			p := &c.Parts[j]
			made := Act{
				Effect: p.Effect, Text: p.Text, Why: p.Why, To: p.To, Unknown: p.Unknown, Program: p.Program,
				Foreign: p.Foreign, Private: p.Private || in.keeps(p.Text), Plain: p.Plain, In: p.In, Writes: p.Writes, Anywhere: p.Anywhere,
				Tainted: (mixes || m.Dirty) && (p.Effect == effect.Run || p.Program == "git" || p.Effect == effect.Reach && p.Anywhere),
			}
			// The table says of few programs which words are files that they read.
			made.Foreign = made.Foreign || named || mixes && slices.Contains(naming, made.Program)
			more := in.stricter(&made, command)
			inside := m.Places != nil && p.In != "" && m.Places.Root(p.In) != ""
			switch {
			case in.builds(&made, command):
				made.Effect, made.Why = effect.Edit, "it compiles, formats or checks, and runs nothing of the workspace"
			case made.Program == "cargo" && made.Effect == effect.Reach && inside && made.whole() && offline().MatchString(made.Text):
				made.Effect, made.To, made.Why = effect.Observe, "", "it reads what is there"
			case made.Program == "git" && made.Effect == effect.Reach && !made.Unknown && made.whole() && asksOrigin().MatchString(made.Text) && !climbs(made.Text):
				made.To = "forge:git"
			}
			out = append(append(out, more...), made)
			last := len(out) - 1
			if strings.HasPrefix(made.To, "forge") {
				out = append(out, in.forge(&out[last], command)...)
			}
			out[last].Kind = in.kind(&out[last], p)
		}
	}
	if s.Runs != nil {
		words, flags := texts(args, s.With), !slices.Contains(s.Runs, "--")
		if slices.ContainsFunc(words, func(w string) bool { return w == "" || flags && w[0] == '-' }) {
			return []Act{unreadable("an argument is not a text, or reads as a flag")}
		}
		words = slices.Concat(s.Runs, words)
		add(shell.AnalyseArgs(words, on), strings.Join(words, " "))
		return out
	}
	args.Walk(*s.Shell, 0, nil, func(i, _ int) {
		switch n := &args.Nodes[i]; n.Kind {
		case document.Null:
		case document.Text:
			if strings.Trim(n.Value, "\x03\x04") != "" { // not only ^C and ^D, typed
				add(in.afterBuild(n.Value, shell.Analyse(n.Value, on), on), n.Value)
			}
		case document.List:
			var words []string
			if json.Unmarshal(args.Canonical(nil, i, nil), &words) != nil {
				out = append(out, unreadable("the command is not a list of words"))
				return
			}
			add(shell.AnalyseArgs(words, on), strings.Join(words, " "))
		default:
			out = append(out, unreadable("the command is not a text"))
		}
	})
	if len(out) == 0 {
		out = []Act{{Effect: effect.Observe, Why: "it runs nothing"}}
	}
	return out
}

const otherwiseExpr = `(?i)HOST|_TOKEN|_REPO\b|_CONFIG_|BROWSER=|EDITOR=|PAGER=(?:[^c]|c[^a]|ca[^t]|cat[^ \n])`

var (
	otherwise = late(otherwiseExpr)
	elsewhere = late(otherwiseExpr + `|''|""|\\|--hostname|[$` + "`" + `]|<\(|://|(?:-R|--repo)[ =]*[^ /]+/[^ /]+/`)
	saved     = late(` (?:-D|--dir|-O|--output)[ =](\S+)`)
)

// keeps reports whether a word of a command leads to what the user keeps for himself
// below hidden folders of his home.
func (m *Machine) keeps(text string) bool {
	for word := range strings.FieldsFuncSeq(text, separates) {
		for _, home := range []string{"~", "$HOME", m.Home} {
			rest, ok := strings.CutPrefix(word, home+"/.")
			if ok && home != "" && (m.Places == nil || m.Places.Root(path.Join(m.Home, "."+rest)) == "") {
				return true
			}
		}
	}
	return false
}

// namesTouched reports whether a word of a command leads to a file that strangers
// had a part in, or to a folder with one.
func (m *Machine) namesTouched(command string) bool {
	if m.Places == nil || !m.touched("") {
		return false
	}
	for word := range strings.FieldsFuncSeq(command, separates) {
		if full, ok := m.Places.Resolve(m.Dir, word); ok && m.touched(full) {
			return true
		}
	}
	return false
}

func separates(r rune) bool { return strings.ContainsRune(" \t\n\"';|&()<>=:,`{}", r) }

// plainFlags matches the words that such a command may have besides.
var plainFlags = late(`^(?:[A-Z^](?:[A-Za-z0-9_./|^*-]|\$\|)*\$?|[A-Za-z0-9_./:@][A-Za-z0-9_./:@-]*|--|-(?:v|vv|q|s|x|race|short|count|run|timeout|k|n|cover|failfast|json|tags|bench|benchmem|shuffle)|-(?:count|timeout|tags|parallel|shuffle)=[A-Za-z0-9_,]+|-j[0-9]*|--(?:workspace|all|all-features|all-targets|lib|bins|tests?|bin|package|no-fail-fast|release|quiet|verbose|nocapture|locked|offline|check|watch=false|exact|ignored|include-ignored|no-default-features|features|doc|benches|examples?|no-run|color|test-threads(?:=[0-9]+)?)|[0-9]?>(?:&[0-9]|/dev/null)|[0-9]>&[0-9])$`)

// forge looks closer at an act of a forge's client. It is known only where nothing in
// the command may lead it to another server, and what it downloads are files of
// strangers.
func (m *Machine) forge(a *Act, command string) (more []Act) {
	client, maybe := strings.CutPrefix(a.To, "forge?")
	if !maybe { // its words ask the clone's forge alone
		if otherwise().MatchString(command) {
			a.To = ""
		}
		return nil
	}
	words := strings.Fields(a.Text)
	asks := len(words) > 1 && a.whole() && !elsewhere().MatchString(command) && !strings.ContainsAny(a.Text, "@")
	for i, w := range words {
		switch {
		case i == 0 || !asks:
		case i < 3 && strings.HasPrefix(w, "-"), slices.Contains([]string{"auth", "browse", "secret", "variable", "ssh-key"}, w) && i == 1:
			asks = false // it is not told what it does, or not only about the repository
		case words[1] == "api":
			asks = !strings.HasPrefix(w, "-") || slices.Contains([]string{"--paginate", "--slurp", "--jq", "-q"}, w)
		default:
			asks = strings.Count(w, "/") < 2 || w == "//" // jq's
		}
	}
	if a.To = "forge:" + client; !asks {
		a.To = ""
	}
	if !strings.Contains(a.Text, " download") {
		return nil
	}
	for _, to := range saved().FindAllStringSubmatch(a.Text, -1) {
		more = append(more, edit(m, to[1]))
	}
	return append(more, Act{Effect: effect.Edit, Text: a.Text, Why: "it fetches others' files into the workspace", Foreign: true, Anywhere: true})
}
