package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// hookForm is how a program runs margay at its events.
type hookForm struct {
	entry string // of a list of hooks, in JSON; %s is the command
	// events are those at which the program runs margay. Programs refuse a whole
	// file for one event that they don't know, so the list has only those that
	// matter. A matcher may follow the event, behind a space.
	events []string
}

// hookForms have a timeout of 30 seconds: longer than margay takes to give up by
// itself, which denies in the program's own terms. Hooks of Claude Code and
// Cursor that can't run, fail or hang block; Codex has no way to say so.
var hookForms = map[Program]hookForm{
	ClaudeCode: {`{"hooks": [{"type": "command", "command": %s, "timeout": 30, "onFailure": "block"}]}`, []string{
		"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "UserPromptExpansion", "ElicitationResult", "SessionStart",
	}},
	Codex: {`{"hooks": [{"type": "command", "command": %s, "timeout": 30}]}`, []string{
		"PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "SessionStart",
	}},
	Cursor: {`{"command": %s, "timeout": 30, "failClosed": true}`, []string{
		"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead", "beforeSubmitPrompt",
		"preToolUse ^(?!Shell$|MCP:)", "postToolUse ^(?!Shell$)", "afterShellExecution",
	}},
}

// ours reports whether a command line runs `margay … hook PROGRAM`.
func ours(p Program, command string) bool { return programOf(p, command) != "" }

// programOf returns the path of margay in such a command line; empty for any
// other.
func programOf(p Program, command string) string {
	command, ok := strings.CutSuffix(command, " hook "+string(p))
	if !ok {
		return ""
	}
	// The program comes first, in quotes or not.
	var name string
	if q := command[:min(1, len(command))]; q == `"` || q == "'" {
		name, _, _ = strings.Cut(command[1:], q)
	} else {
		name, _, _ = strings.Cut(command, " ")
	}
	if !Margay(name) {
		return ""
	}
	return name
}

// Margay reports whether a program at a path of any system is called margay. Only
// by that name are hooks and servers known to be Margay's.
func Margay(path string) bool {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(name), ".exe") == "margay"
}

// commandOf returns the command of an entry, in either form. An entry with
// several commands is somebody else's.
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

// Install adds margay's hooks to the content b of a file of hooks. It returns the
// events that were added. b is nil for a missing file.
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
	p := hookForms[f.Program]
	for _, e := range slices.Backward(p.events) {
		event, matcher, _ := strings.Cut(e, " ")
		entry := fmt.Sprintf(p.entry, quoted(command))
		if matcher != "" {
			entry = strings.TrimSuffix(entry, "}") + `, "matcher": ` + quoted(matcher) + "}"
		}
		next, did, err := f.add(b, event, entry, command)
		if err != nil {
			return nil, nil, err
		}
		if did {
			b, added = next, append(added, event)
		}
	}
	slices.Reverse(added)
	if len(added) == 0 {
		return before, nil, nil
	}
	return b, added, f.same(empty, b, f.withoutHooks)
}

// add puts one hook first in the list of its event: the first runs first, and
// the edit need not know what follows.
func (f *File) add(b []byte, event, entry, command string) ([]byte, bool, error) {
	doc, root, err := jsonc{}.parse(b)
	if err != nil {
		return nil, false, err
	}
	hooks, err := member(root, "hooks")
	if err != nil {
		return nil, false, err
	}
	if hooks == nil {
		return apply(b, []splice{first(b, doc.StartOffset+1, empty(root.AfterExtra, len(root.Members)), `"hooks": {`+"\n    "+quoted(event)+": [\n      "+entry+"\n    ]\n  }")}), true, nil
	}
	events, ok := hooks.Value.Value.(*hujson.Object)
	if !ok {
		return nil, false, errors.New("hooks is not an object")
	}
	list, err := member(events, event)
	if err != nil {
		return nil, false, err
	}
	if list == nil {
		return apply(b, []splice{first(b, hooks.Value.StartOffset+1, empty(events.AfterExtra, len(events.Members)), quoted(event)+": [\n      "+entry+"\n    ]")}), true, nil
	}
	all, ok := list.Value.Value.(*hujson.Array)
	if !ok {
		return nil, false, errors.New("the hooks of an event are not a list")
	}
	for i := range all.Elements {
		if commandOf(&all.Elements[i]) == command {
			return b, false, nil
		}
	}
	// A hook with another path is replaced: margay would be asked twice.
	for i := range all.Elements {
		if ours(f.Program, commandOf(&all.Elements[i])) {
			return apply(b, []splice{{at(&all.Elements[i]), entry}}), true, nil
		}
	}
	return apply(b, []splice{first(b, list.Value.StartOffset+1, empty(all.AfterExtra, len(all.Elements)), entry)}), true, nil
}

// empty returns the length of what an empty container holds, such as comments;
// -1 for a container with n items.
func empty(rest hujson.Extra, n int) int {
	if n > 0 {
		return -1
	}
	return len(rest)
}

// first inserts an item as the first of a container whose content starts at
// offset, with the space of the old first item. blank is the length of what an
// empty container holds; negative if it is not empty.
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
	// The closing bracket is indented like its line.
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

// Uninstall removes margay's hooks from the content b of a file of hooks. It
// returns their events.
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
	return b, removed, f.same(before, b, f.withoutHooks)
}

// remove removes one of margay's hooks, and its list and "hooks" if nothing else
// is in them.
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
				which = slices.IndexFunc(items, func(s span) bool { return s.end == hooks.Value.EndOffset })
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

// without is the range to remove for one of several items: up to the next one,
// or from the end of the one before. A single item leaves its surroundings.
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

// withoutHooks removes margay's hooks from what a file says.
func (f *File) withoutHooks(doc map[string]any) {
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
