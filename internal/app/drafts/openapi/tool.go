package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/suggest"
)

// Tool is an operation as a tool.
type Tool struct {
	Name       string
	Definition json.RawMessage // as a server's tools/list has it
	// Notes are what else the document says, a line each, with its texts quoted.
	Notes []string
}

var (
	odd    = regexp.MustCompile(`[^A-Za-z0-9]+`)
	oddOne = regexp.MustCompile(`[^A-Za-z0-9_]`)
	host   = regexp.MustCompile(`^(?:[^/?#]*//)?(?:[^/?#]*@)?([^/?#]*)`) // without what stands before an @
	// types are those that packs have for fields, by a schema's type, or a text's format.
	types = map[string]string{"integer": "integer", "number": "number", "boolean": "boolean", "date": "date", "date-time": "datetime", "time": "time", "uuid": "id", "email": "address"}
)

func (d document) tool(o *operation) (t Tool, err error) {
	in, back := expander{document: d, left: maxValues}, expander{document: d, left: maxValues}
	own, shared := members(in.expand(o.of, schema, nil)), list(in.expand(o.item["parameters"], schema, nil))
	var result any
	for _, code := range sorted(members(o.of["responses"])) { // the first that is no failure
		if result == nil && (code == "default" || strings.HasPrefix(code, "2")) {
			result = back.expand(members(o.of["responses"])[code], schema, nil)
		}
	}
	if err = cmp.Or(in.err, back.err); err != nil {
		return t, err
	}
	id := text(o.of["operationId"])
	// Most frameworks name it so.
	t.Name = cmp.Or(oddOne.ReplaceAllString(id, "_"), strings.Trim(odd.ReplaceAllString(o.method+"_"+o.path, "_"), "_"))
	// What it is called besides can make the suggestion stricter, and nothing else.
	signs := suggest.Read(&suggest.Tool{Name: o.method + "_" + o.path + "_" + id}).Signs
	acts := !methods[o.method] || signs.Acts || signs.Odd
	definition := object{
		"name": t.Name, "description": strings.TrimSpace(text(own["summary"]) + "\n" + text(own["description"])),
		"inputSchema": input(members(own["requestBody"]), slices.Concat(list(own["parameters"]), shared)),
		"annotations": object{"readOnlyHint": !acts && !in.cut, "destructiveHint": o.method == "delete"}, // that it reads counts for nothing
	}
	note := func(is bool, format string, args ...any) {
		if is {
			t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
		}
	}
	found, typed, hosts := object{}, []string{}, []string{}
	for _, of := range []object{d, o.item, o.of} {
		if servers := list(of["servers"]); len(servers) > 0 {
			hosts = nil
			for _, s := range servers[:min(len(servers), maxHosts+1)] {
				hosts = append(hosts, fmt.Sprintf("%.100q", cmp.Or(host.FindStringSubmatch(text(members(s)["url"]))[1], "the document's host")))
			}
		}
	}
	fields(members(content(members(result))), "", found)
	for _, path := range sorted(found) {
		typed = append(typed, fmt.Sprintf("%.200q: %s", path, found[path]))
	}
	note(true, "It is %s, with the operationId %.100q. It reaches %s.", o, id, cmp.Or(first(maxHosts, hosts), "the document's host"))
	note(acts, "By its method, path or operationId it acts.")
	note(!acts, "Its method claims that it only reads; a claim loosens nothing.")
	note(in.cut, "IT IS TOO LARGE to be read wholly: read it in the document.")
	note(o.of["callbacks"] != nil, "It has callbacks: the service may call an address that an argument names.")
	note(own["deprecated"] == true, "It is deprecated.")
	note(len(typed) > 0, "Fields of its result, by its response schema: {%s}", first(maxTypes, typed))
	note(back.cut, "Its response schema is too large: there are more fields.")
	t.Definition, err = json.Marshal(definition)
	return t, err
}

// first lists what comes first, and says whether there is more.
func first(most int, all []string) string {
	if len(all) > most {
		all = append(all[:most:most], "and more")
	}
	return strings.Join(all, ", ")
}

// content is the schema of a parameter, a body or a response: its own, or that of
// JSON, or else of the first form.
func content(of object) any {
	forms := members(of["content"])
	for _, form := range append([]string{"application/json"}, sorted(forms)...) {
		if s := members(forms[form])["schema"]; s != nil {
			return s
		}
	}
	return of["schema"]
}

// input is the schema of the arguments: the properties of the body, or the body if it
// has none, and the parameters. As in FastMCP, a parameter whose name is taken has
// where it stands behind it.
func input(body object, parameters []any) object {
	in, arguments := members(content(body)), object{}
	if flatten(in, arguments); len(arguments) == 0 {
		if in = (object{}); body != nil {
			arguments["body"] = content(body)
		}
	}
	in["type"], in["properties"], in["title"] = "object", arguments, body["description"]
	for _, v := range parameters {
		p := members(v)
		name := text(p["name"])
		if arguments[name] != nil {
			name += "__" + text(p["in"])
		}
		arguments[name] = object{"description": p["description"], "allOf": []any{content(p), arguments[name]}}
	}
	return in
}

// flatten adds the properties of a schema. Two of one name both hold.
func flatten(of, into object) {
	for k, v := range members(of["properties"]) {
		into[k] = object{"allOf": []any{v, into[k]}}
	}
	for _, part := range parts(of, "$ref", "allOf") {
		flatten(members(part), into)
	}
}

// parts are the schemas that are members of one.
func parts(of object, names ...string) (out []any) {
	for _, name := range names {
		out = append(append(out, list(of[name])...), of[name])
	}
	return slices.DeleteFunc(out, func(v any) bool { return members(v) == nil })
}

// fields finds types by path. Fields with an odd name are passed over.
func fields(of object, path string, found object) {
	is := cmp.Or(types[text(of["type"])], types[text(of["format"])])
	if at := cmp.Or(path, "$"); is != "" && found[at] == nil {
		found[at] = is
	}
	for _, part := range parts(of, "$ref", "allOf", "anyOf", "oneOf") {
		fields(members(part), path, found)
	}
	for _, each := range parts(of, "items") {
		fields(members(each), path+"[*]", found)
	}
	for name, v := range members(of["properties"]) {
		if name != "" && !oddOne.MatchString(name) {
			fields(members(v), strings.TrimPrefix(path+"."+name, "."), found)
		}
	}
}
