package harness

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// hook is how a program is told to run margay at an event.
type hook struct {
	event string
	entry func(command string) string // JSON
}

// timeout is how long a program waits, in seconds: longer than margay takes to
// give up by itself, which denies in the program's own terms.
const timeout = "30"

// claudeHook is Claude Code's form. A hook that can't run, fails or hangs
// blocks.
func claudeHook(event string) hook {
	return hook{event, func(c string) string {
		return `{"hooks": [{"type": "command", "command": ` + c + `, "timeout": ` + timeout + `, "onFailure": "block"}]}`
	}}
}

// codexHook is Codex's form. It has no way to block where a hook can't run.
func codexHook(event string) hook {
	return hook{event, func(c string) string {
		return `{"hooks": [{"type": "command", "command": ` + c + `, "timeout": ` + timeout + `}]}`
	}}
}

func cursorHook(event, matcher string) hook {
	return hook{event, func(c string) string {
		if matcher != "" {
			matcher := quoted(matcher)
			return `{"command": ` + c + `, "timeout": ` + timeout + `, "failClosed": true, "matcher": ` + matcher + `}`
		}
		return `{"command": ` + c + `, "timeout": ` + timeout + `, "failClosed": true}`
	}}
}

// hooksOf lists the events that margay is asked at. Programs refuse a whole
// file for one event that they don't know, so it has those that matter alone.
func hooksOf(p Program) []hook {
	switch p {
	case ClaudeCode:
		return []hook{
			claudeHook("PreToolUse"), claudeHook("PostToolUse"), claudeHook("PostToolUseFailure"),
			claudeHook("UserPromptSubmit"), claudeHook("UserPromptExpansion"), claudeHook("ElicitationResult"), claudeHook("SessionStart"),
		}
	case Codex:
		return []hook{codexHook("PreToolUse"), codexHook("PermissionRequest"), codexHook("PostToolUse"), codexHook("UserPromptSubmit"), codexHook("SessionStart")}
	case Cursor:
		return []hook{
			cursorHook("beforeShellExecution", ""), cursorHook("beforeMCPExecution", ""), cursorHook("beforeReadFile", ""),
			cursorHook("beforeTabFileRead", ""), cursorHook("beforeSubmitPrompt", ""),
			cursorHook("preToolUse", "^(?!Shell$|MCP:)"), cursorHook("postToolUse", "^MCP:"),
		}
	default:
		return nil
	}
}

// Events lists the events of a program that margay is asked at.
func Events(p Program) []string {
	var out []string
	for _, h := range hooksOf(p) {
		out = append(out, h.event)
	}
	return out
}

// ours reports whether a command line runs `margay … hook PROGRAM`.
func ours(p Program, command string) bool {
	command, ok := strings.CutSuffix(command, " hook "+string(p))
	if !ok {
		return false
	}
	// The program stands first, in quotes or not.
	name := command
	if q := command[:min(1, len(command))]; q == `"` || q == "'" {
		name, _, _ = strings.Cut(command[1:], q)
	} else {
		name, _, _ = strings.Cut(command, " ")
	}
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(name), ".exe") == "margay"
}

// commandOf returns the command of an entry, in either form; several are
// somebody else's.
func commandOf(v *hujson.Value) string {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return ""
	}
	if m, err := member(o, "command"); err == nil && m != nil {
		c, _ := text(&m.Value, "")
		return c
	}
	if m, err := member(o, "hooks"); err == nil && m != nil {
		if list, ok := m.Value.Value.(*hujson.Array); ok && len(list.Elements) == 1 {
			return commandOf(&list.Elements[0])
		}
	}
	return ""
}

// Install returns the content b of a file of hooks with margay asked at its
// events, and the events that were added. b is nil where there is no file.
func (f *File) Install(b []byte, command string) ([]byte, []string, error) {
	before := b
	if len(strings.TrimSpace(string(b))) == 0 {
		b = []byte("{}\n")
		if f.Program == Cursor {
			b = []byte("{\n  \"version\": 1\n}\n")
		}
	}
	empty := b
	var added []string
	for _, h := range slices.Backward(hooksOf(f.Program)) {
		next, did, err := f.add(b, h, command)
		if err != nil {
			return nil, nil, err
		}
		if did {
			b, added = next, append(added, h.event)
		}
	}
	slices.Reverse(added)
	if len(added) == 0 {
		return before, nil, nil
	}
	return b, added, f.sameHooks(empty, b)
}

// add puts one hook first in its list: what stands first runs first, and
// nothing behind it has to be known.
func (f *File) add(b []byte, h hook, command string) ([]byte, bool, error) {
	_, root, err := jsonc{}.parse(b)
	if err != nil {
		return nil, false, err
	}
	entry := h.entry(quoted(command))
	hooks, err := member(root, "hooks")
	if err != nil {
		return nil, false, err
	}
	if hooks == nil {
		return apply(b, []splice{first(b, rootStart(b), empty(root.AfterExtra, len(root.Members)), `"hooks": {`+"\n    "+quoted(h.event)+": [\n      "+entry+"\n    ]\n  }")}), true, nil
	}
	events, ok := hooks.Value.Value.(*hujson.Object)
	if !ok {
		return nil, false, errors.New("hooks is no object")
	}
	list, err := member(events, h.event)
	if err != nil {
		return nil, false, err
	}
	if list == nil {
		return apply(b, []splice{first(b, hooks.Value.StartOffset+1, empty(events.AfterExtra, len(events.Members)), quoted(h.event)+": [\n      "+entry+"\n    ]")}), true, nil
	}
	all, ok := list.Value.Value.(*hujson.Array)
	if !ok {
		return nil, false, errors.New("the hooks of an event are no list")
	}
	for i := range all.Elements {
		if commandOf(&all.Elements[i]) == command {
			return b, false, nil
		}
	}
	// One of another path is replaced: it would be asked twice.
	for i := range all.Elements {
		if ours(f.Program, commandOf(&all.Elements[i])) {
			return apply(b, []splice{{at(&all.Elements[i]), entry}}), true, nil
		}
	}
	return apply(b, []splice{first(b, list.Value.StartOffset+1, empty(all.AfterExtra, len(all.Elements)), entry)}), true, nil
}

// rootStart returns the offset behind a document's opening brace. Comments
// before it hold none, or are skipped by the reader that found the object.
func rootStart(b []byte) int {
	v, _, err := jsonc{}.parse(b)
	if err != nil {
		return 0
	}
	return v.StartOffset + 1
}

// empty reports whether a container has nothing in it, not even a comment.
func empty(rest hujson.Extra, n int) int {
	if n > 0 {
		return -1
	}
	return len(rest)
}

// first writes an item first in a container whose content begins at an
// offset, set off as the first one was. blank is the length of what an empty
// container holds; negative where it is not empty.
func first(b []byte, offset, blank int, item string) splice {
	space := offset
	for space < len(b) && strings.IndexByte(" \t\r\n", b[space]) >= 0 {
		space++
	}
	lead := string(b[offset:space])
	if blank < 0 {
		return splice{span{offset, offset}, lead + item + ","}
	}
	if blank > space-offset { // a comment
		return splice{span{offset, offset}, "\n  " + item}
	}
	// The closing bracket's own indentation is that of the line it begins.
	line := offset
	for line > 0 && b[line-1] != '\n' {
		line--
	}
	indent := line
	for indent < len(b) && (b[indent] == ' ' || b[indent] == '\t') {
		indent++
	}
	own := string(b[line:indent])
	return splice{span{offset, space}, "\n" + own + "  " + item + "\n" + own}
}

// Uninstall returns the content b of a file of hooks without margay's, and
// the events that they were at.
func (f *File) Uninstall(b []byte) ([]byte, []string, error) {
	var removed []string
	before := b
	for {
		next, event, err := f.remove(b)
		if err != nil {
			return nil, nil, err
		}
		if event == "" {
			break
		}
		b, removed = next, append(removed, event)
	}
	if len(removed) == 0 {
		return before, nil, nil
	}
	return b, removed, f.sameHooks(before, b)
}

// remove takes one of margay's hooks out, with its list and with "hooks" where
// nothing else is in them.
func (f *File) remove(b []byte) ([]byte, string, error) {
	_, root, err := jsonc{}.parse(b)
	if err != nil {
		return nil, "", err
	}
	hooks, err := member(root, "hooks")
	if err != nil || hooks == nil {
		return b, "", err
	}
	events, ok := hooks.Value.Value.(*hujson.Object)
	if !ok {
		return b, "", nil
	}
	for i := range events.Members {
		list, ok := events.Members[i].Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for k := range list.Elements {
			if !ours(f.Program, commandOf(&list.Elements[k])) {
				continue
			}
			event := events.Members[i].Name.Value.(hujson.Literal).String()
			var items []span
			which := k
			switch {
			case len(list.Elements) > 1:
				for n := range list.Elements {
					items = append(items, at(&list.Elements[n]))
				}
			case len(events.Members) > 1:
				items, which = members(events), i
			default:
				items = members(root)
				for n := range root.Members {
					if &root.Members[n] == hooks {
						which = n
					}
				}
			}
			return apply(b, []splice{{without(b, items, which), ""}}), event, nil
		}
	}
	return b, "", nil
}

func members(o *hujson.Object) []span {
	var out []span
	for i := range o.Members {
		out = append(out, span{o.Members[i].Name.StartOffset, o.Members[i].Value.EndOffset})
	}
	return out
}

// without is the range that takes one of several items out: to the next one,
// or from the end of the one before. A single one leaves its surroundings.
func without(b []byte, items []span, i int) span {
	switch {
	case i+1 < len(items):
		return span{items[i].start, items[i+1].start}
	case i > 0:
		return span{items[i-1].end, items[i].end}
	}
	end := items[i].end
	for end < len(b) && strings.IndexByte(" \t\r\n", b[end]) >= 0 {
		end++
	}
	if end < len(b) && b[end] == ',' { // one that trails
		return span{items[i].start, end + 1}
	}
	return items[i]
}

// sameHooks holds an edit to its purpose: without margay's hooks, both files
// say the same.
func (f *File) sameHooks(before, after []byte) error {
	var docs [2]map[string]any
	for i, b := range [][]byte{before, after} {
		doc, err := f.format.decode(b)
		if err != nil {
			return err
		}
		f.strip(doc)
		docs[i] = doc
	}
	if !reflect.DeepEqual(docs[0], docs[1]) {
		return errors.New("the result would say something else than meant")
	}
	return nil
}

func (f *File) strip(doc map[string]any) {
	hooks, ok := doc["hooks"].(map[string]any)
	if !ok {
		return
	}
	for event, v := range hooks {
		list, ok := v.([]any)
		if !ok {
			continue
		}
		list = slices.DeleteFunc(list, func(e any) bool { return ours(f.Program, commandIn(e)) })
		hooks[event] = list
		if len(list) == 0 {
			delete(hooks, event)
		}
	}
	if len(hooks) == 0 {
		delete(doc, "hooks")
	}
}

func commandIn(e any) string {
	o, ok := e.(map[string]any)
	if !ok {
		return ""
	}
	if c, ok := o["command"].(string); ok {
		return c
	}
	if list, ok := o["hooks"].([]any); ok && len(list) == 1 {
		return commandIn(list[0])
	}
	return ""
}
