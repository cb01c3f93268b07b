package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// connectors are the packages that write to clients, to pipes of servers and to
// children. They write released bytes alone.
var connectors = []string{"gateway", "hook", "mcpproxy", "mcpproxy/pin", "mcpproxy/token", "outlet"}

const (
	cutPath    = module + "/stream/cut"
	outletPath = module + "/outlet"
)

// ownWords lists the functions by which words of Margay's own are made. What a
// connector releases as its own is made by one of them, or a constant.
var ownWords = []string{
	module + "/wire/mcp.NewCancelled",
	module + "/wire/mcp.NewElicitation",
	module + "/wire/mcp.NewFailure",
	module + "/wire/mcp.NewInputRequired",
	module + "/wire/mcp.NewRefusal",
	module + "/wire.ErrorBody",
	module + "/wire.Fail",
	module + "/wire.Halt",
}

// framed lists the functions of the connectors that put lines of a protocol
// around released bytes, or pass lines on that were looked at.
var framed = []string{
	"gateway.events.halt",     // a comment: which decision ended the answer
	"gateway.Gateway.whole",   // what is said instead of an answer that was stopped
	"hook.Ask",                // an event for the running mediator, and what it released
	"hook.Handler.Serve",      // the lengths before an answer
	"hook.blocked",            // a reason
	"hook.input.fill",         // JSON around released values: names and reasons
	"hook.input.value",        // a reason, an action of the event
	"mcpproxy.events.done",    // what was written to the writer before, released
	"mcpproxy.events.event",   // a released message as an event
	"mcpproxy.exchange.end",   // an error as an event
	"mcpproxy.exchange.event", // an event whose lines framing has looked at
	"mcpproxy.lines.write",    // the line's end, as it came
}

// decoded lists the functions that set the body of a response for the connector
// itself, which decides about it later.
var decoded = []string{
	"gateway.asker.RoundTrip", // put together again
}

// carried lists the functions that may hand a writer to a package outside, which
// writes what they set up.
var carried = []string{
	"gateway.Gateway.forward",  // a reverse proxy, which writes the body that answered sets
	"outlet.Client.FlushError", // a flush
	"outlet.Send",              // a flush
}

// flushed lists the functions that flush what was written.
var flushed = []string{"outlet.Client.FlushError", "outlet.Send"}

// requested lists the functions that set the body of a request to a model's API
// or to a server, from what the mediator has let through.
var requested = []string{
	"gateway.setBody",
	"mcpproxy.exchange.request",
}

// releasing is what connectors may use of package cut. The rest decides what is
// released, and what is released as it came. Own and Encode are called where they
// stand: kept for later, nobody sees what they are given.
var releasing = []string{"Append", "Bytes", "Encode", "Len", "Own", "Read", "Released", "Reset", "WriteTo"}

// unseen are packages that write, or make values, past the types.
var unseen = []string{"golang.org/x/sys/unix", "os/exec", "plugin", "reflect", "syscall", "unsafe"}

// memory are types that have Write and lead nowhere.
var memory = []string{"*bytes.Buffer", "*strings.Builder", "hash.Hash"}

// writing are methods by which bytes go out.
var writing = []string{"Write", "WriteString", "WriteByte", "WriteRune", "WriteTo", "ReadFrom", "Flush", "FlushError", "Hijack", "Encode", "Execute", "ExecuteTemplate", "Own"}

// printing are functions that write to standard output.
var printing = []string{"fmt.Print", "fmt.Println", "fmt.Printf", "log.Print", "log.Println", "log.Printf", "os.WriteFile"}

// finding is a write that is none of released bytes.
type finding struct{ where, what string }

// analyzer looks for writes in one package. A write is known by its types, not
// by its words:
//
//   - a method of writing of anything that is not memory or of package cut;
//   - a value that can write, handed to another package as something that can
//     write, unless it is for released bytes to be written to;
//   - a value that can write, put into a struct of another package;
//   - the body of a response, if it is not an outlet.Body, and that of a request
//     outside the listed functions;
//   - released bytes made of what is not known to be Margay's own, outside the
//     listed functions;
//   - released bytes made by a permit that is none of the mediator's;
//   - anything else of package cut, and packages that no types hold.
type analyzer struct {
	name   string
	pkg    *types.Package
	info   *types.Info
	fset   *token.FileSet
	fn     string     // the function that is looked at
	own    *types.Var // its parameter, where it is a Write that passes bytes on
	out    []finding
	used   map[string]bool     // entries of the lists
	called map[*ast.Ident]bool // functions that are called where they stand
}

func (a *analyzer) report(at token.Pos, format string, args ...any) {
	p := a.fset.Position(at)
	a.out = append(a.out, finding{fmt.Sprintf("%s/%s:%d (%s)", a.name, filepath.Base(p.Filename), p.Line, a.fn), fmt.Sprintf(format, args...)})
}

// listed reports whether the function that is looked at is in a list.
func (a *analyzer) listed(list []string) bool {
	key := a.name + "." + a.fn
	if slices.Contains(list, key) {
		a.used[key] = true
		return true
	}
	return false
}

func (a *analyzer) file(f *ast.File) {
	for _, imp := range f.Imports {
		if path := strings.Trim(imp.Path.Value, `"`); slices.Contains(unseen, path) {
			a.report(imp.Pos(), "%s is imported", path)
		}
	}
	for _, d := range f.Decls {
		a.fn, a.own = "", nil
		if fn, ok := d.(*ast.FuncDecl); ok {
			a.fn = fn.Name.Name
			if fn.Recv != nil {
				a.fn = strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + a.fn
				if l := fn.Type.Params.List; fn.Name.Name == "Write" && len(l) == 1 && len(l[0].Names) == 1 {
					a.own, _ = a.info.Defs[l[0].Names[0]].(*types.Var)
				}
			}
		}
		ast.Inspect(d, a.node)
	}
}

func (a *analyzer) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		a.ident(n)
	case *ast.SelectorExpr:
		a.selector(n)
	case *ast.CallExpr:
		if a.passesOn(n) {
			return false
		}
		switch f := ast.Unparen(n.Fun).(type) {
		case *ast.Ident:
			a.called[f] = true
		case *ast.SelectorExpr:
			a.called[f.Sel] = true
		}
		a.call(n)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			a.changes(n.X)
		}
	case *ast.IncDecStmt:
		a.changes(n.X)
	case *ast.RangeStmt:
		a.changes(n.Key)
		a.changes(n.Value)
	case *ast.AssignStmt:
		for i, l := range n.Lhs {
			var r ast.Expr
			if len(n.Rhs) == len(n.Lhs) {
				r = n.Rhs[i]
			}
			a.changes(l)
			a.assign(l, r)
		}
	case *ast.CompositeLit:
		a.literal(n)
	}
	return true
}

// ident looks at what is used of package cut.
func (a *analyzer) ident(id *ast.Ident) {
	o := a.info.Uses[id]
	if o == nil || o.Pkg() == nil || o.Pkg().Path() != cutPath {
		return
	}
	switch {
	case !slices.Contains(releasing, o.Name()):
		a.report(id.Pos(), "%s of package cut is none of a connector's", o.Name())
	case (o.Name() == "Own" || o.Name() == "Encode") && !a.called[id]:
		a.report(id.Pos(), "%s is kept for later", o.Name())
	}
}

// changes reports bytes that are changed: released ones, and those that a method
// Write hands on.
func (a *analyzer) changes(e ast.Expr) {
	for e != nil {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.Ident:
			if a.own != nil && a.info.Uses[x] == a.own {
				a.report(x.Pos(), "the bytes to hand on are changed")
			}
			return
		case *ast.CallExpr:
			if name, path := a.callee(x); path == cutPath && name == "Bytes" {
				a.report(x.Pos(), "released bytes are changed")
			}
			return
		default:
			return
		}
	}
}

// assign looks at one assignment; r is nil where it is one of several values.
func (a *analyzer) assign(l, r ast.Expr) {
	s, ok := ast.Unparen(l).(*ast.SelectorExpr)
	if !ok {
		return
	}
	v, ok := a.info.Uses[s.Sel].(*types.Var)
	if !ok || !v.IsField() || v.Pkg() == nil || v.Pkg() == a.pkg {
		return
	}
	of := a.info.TypeOf(s.X).String()
	switch {
	case strings.HasSuffix(of, "net/http.Response") && v.Name() == "Body" && r == nil:
		a.report(l.Pos(), "the body of a response is one of several values")
	case strings.HasSuffix(of, "net/http.Response") && v.Name() == "Body":
		a.body(r)
	case v.Pkg().Path() == "net/http" && (v.Name() == "Body" || v.Name() == "GetBody"):
		a.request(l.Pos())
	default:
		a.keeps(l.Pos(), v, r)
	}
}

// literal looks at a struct of another package that is made by hand.
func (a *analyzer) literal(n *ast.CompositeLit) {
	typ := a.info.TypeOf(n)
	st, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return
	}
	if typ.String() == "net/http.Response" {
		a.report(n.Pos(), "a response is made by hand")
	}
	for i, e := range n.Elts {
		var v *types.Var
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			v, _ = a.info.Uses[kv.Key.(*ast.Ident)].(*types.Var)
			e = kv.Value
		} else if i < st.NumFields() {
			v = st.Field(i)
		}
		switch {
		case v == nil || v.Pkg() == nil || v.Pkg() == a.pkg:
		case typ.String() == "net/http.Request" && (v.Name() == "Body" || v.Name() == "GetBody"):
			a.request(e.Pos())
		default:
			a.keeps(e.Pos(), v, e)
		}
	}
}

// keeps reports a writer that is put into a field of another package's.
func (a *analyzer) keeps(at token.Pos, v *types.Var, e ast.Expr) {
	t := v.Type()
	if e != nil {
		t = a.info.TypeOf(e)
	}
	if writes(v.Type()) && writes(t) && !inMemory(t) {
		a.report(at, "a %s is kept in %s of another package", t, v.Name())
	}
}

// request reports a request's body, outside the listed functions.
func (a *analyzer) request(at token.Pos) {
	if !a.listed(requested) {
		a.report(at, "the body of a request is set by none of the listed functions")
	}
}

// passesOn reports whether a call in a method Write hands on the same bytes.
func (a *analyzer) passesOn(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || a.own == nil || sel.Sel.Name != "Write" || len(c.Args) != 1 {
		return false
	}
	id, ok := c.Args[0].(*ast.Ident)
	return ok && a.info.Uses[id] == a.own
}

// selector looks at a method, whether it is called or kept for later.
func (a *analyzer) selector(s *ast.SelectorExpr) {
	if id, ok := s.X.(*ast.Ident); ok {
		if p, ok := a.info.Uses[id].(*types.PkgName); ok {
			if slices.Contains(printing, p.Imported().Path()+"."+s.Sel.Name) || p.Imported().Path() == "os" && strings.HasPrefix(s.Sel.Name, "Std") && s.Sel.Name != "Stdin" {
				a.report(s.Pos(), "%s writes to the standard output", types.ExprString(s))
			}
			return
		}
	}
	m, ok := a.info.Uses[s.Sel].(*types.Func)
	if !ok || m.Pkg() == nil {
		return
	}
	typ := a.info.TypeOf(s.X)
	switch {
	case m.Pkg().Path() == cutPath, !slices.Contains(writing, m.Name()), inMemory(typ):
	case m.Pkg() == a.pkg && m.Name() != "Write" && !types.IsInterface(m.Signature().Recv().Type()): // it is looked at, too
	case m.Name() == "Flush" && a.listed(flushed):
	default:
		a.report(s.Pos(), "%s of a %s", m.Name(), typ)
	}
}

// call looks at what is handed over.
func (a *analyzer) call(c *ast.CallExpr) {
	fun, pkg := a.callee(c)
	if pkg == cutPath && fun == "Encode" {
		if t := a.info.TypeOf(c.Args[0]); !ofMediator(t) {
			a.report(c.Pos(), "a %s is not a permit of the mediator's", t)
		}
	}
	if pkg == cutPath && fun == "Own" && !a.ownWords(c.Args[0]) && !a.listed(framed) {
		a.report(c.Pos(), "what is released as words of Margay's own is made by none of the listed functions")
	}
	if tv, ok := a.info.Types[c.Fun]; ok && (tv.IsType() || tv.IsBuiltin()) || pkg == a.pkg.Path() {
		if id, ok := c.Fun.(*ast.Ident); ok && tv.IsBuiltin() {
			switch id.Name {
			case "print", "println":
				a.report(c.Pos(), "%s writes to the standard error", id.Name)
			case "append", "clear", "copy":
				a.changes(c.Args[0])
			}
		}
		return // a conversion, or a function that is looked at, too
	}
	if pkg == "net/http" && slices.Contains([]string{"NewRequest", "NewRequestWithContext", "Post", "PostForm"}, fun) {
		a.request(c.Pos())
	}
	sig, ok := a.info.TypeOf(c.Fun).Underlying().(*types.Signature)
	if !ok {
		return
	}
	for i, arg := range c.Args {
		t := a.info.TypeOf(arg)
		if t == nil || !writes(t) || inMemory(t) || !writes(param(sig, i)) {
			continue
		}
		// Package outlet is looked at, too.
		to := pkg == cutPath && fun == "WriteTo" || pkg == outletPath || pkg == "net/http" && fun == "MaxBytesReader"
		if !to && !a.listed(carried) {
			a.report(arg.Pos(), "a %s is handed to %s", t, types.ExprString(c.Fun))
		}
	}
}

// ownWords reports whether an expression is a constant, or made by a listed
// function.
func (a *analyzer) ownWords(e ast.Expr) bool {
	c, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	if a.info.Types[c.Fun].IsType() { // a conversion, to bytes
		return a.info.Types[c.Args[0]].Value != nil
	}
	name, path := a.callee(c)
	if !slices.Contains(ownWords, path+"."+name) {
		return false
	}
	a.used[path+"."+name] = true
	return true
}

// callee is the name of what is called, and the path of its package; both are
// empty for a function value.
func (a *analyzer) callee(c *ast.CallExpr) (name, path string) {
	var id *ast.Ident
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.IndexExpr:
		if id, _ = f.X.(*ast.Ident); id == nil {
			return "", ""
		}
	case *ast.FuncLit:
		return "", a.pkg.Path()
	default:
		return "", ""
	}
	if f, ok := a.info.Uses[id].(*types.Func); ok && f.Pkg() != nil {
		return f.Name(), f.Pkg().Path()
	}
	return "", ""
}

// ofMediator reports whether a type is one of the mediator's, and no interface,
// which others may implement.
func ofMediator(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && !types.IsInterface(n) && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path()+"/", module+"/mediator/")
}

func (a *analyzer) body(e ast.Expr) {
	if t := a.info.TypeOf(e); t.String() != "*"+outletPath+".Body" && !a.listed(decoded) {
		a.report(e.Pos(), "the body of a response is a %s", t)
	}
}

// writes reports whether a value of a type can write, or may turn out to.
func writes(t types.Type) bool {
	if i, ok := t.Underlying().(*types.Interface); ok && i.NumMethods() == 0 {
		return true
	}
	return hasWrite(t)
}

func hasWrite(t types.Type) bool {
	for name, first := range map[string]string{"Write": "[]byte", "WriteString": "string", "ReadFrom": "io.Reader"} {
		obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		if m, ok := obj.(*types.Func); ok {
			if p := m.Signature().Params(); p.Len() == 1 && p.At(0).Type().String() == first {
				return true
			}
		}
	}
	return false
}

// inMemory reports whether what is written to a type stays in it.
func inMemory(t types.Type) bool {
	name := types.Unalias(t).String()
	return slices.Contains(memory, name) || slices.Contains(memory, "*"+name)
}

func param(sig *types.Signature, i int) types.Type {
	n := sig.Params().Len()
	switch {
	case sig.Variadic() && i >= n-1:
		return sig.Params().At(n - 1).Type().(*types.Slice).Elem()
	case i < n:
		return sig.Params().At(i).Type()
	default: // the results of a call are handed over
		return types.NewInterfaceType(nil, nil)
	}
}

// checked are the connectors' sources and what it takes to check types.
type checked struct {
	exports map[string]string
	dirs    map[string]string
	files   map[string][]string
}

func checkable(t *testing.T) *checked {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "bufio", "encoding/json", "html/template", "log", "net/http/httputil", "os/exec", "reflect", "syscall", module + "/mediator", cutPath, outletPath}
	for _, c := range connectors {
		args = append(args, "./"+c)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	c := &checked{exports: map[string]string{}, dirs: map[string]string{}, files: map[string][]string{}}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatal(err)
		}
		c.exports[p.ImportPath], c.dirs[p.ImportPath], c.files[p.ImportPath] = p.Export, p.Dir, p.GoFiles
	}
}

// analyze looks at a connector with a further file; empty for none.
func (c *checked) analyze(t *testing.T, name, more string) *analyzer {
	t.Helper()
	path := module + "/" + name
	a := &analyzer{name: name, fset: token.NewFileSet(), used: map[string]bool{}, called: map[*ast.Ident]bool{}, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	var files []*ast.File
	add := func(file string, src any) {
		f, err := parser.ParseFile(a.fset, file, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, f := range c.files[path] {
		add(filepath.Join(c.dirs[path], f), nil)
	}
	if more != "" {
		add("added.go", more)
	}
	conf := types.Config{Importer: importer.ForCompiler(a.fset, "gc", func(path string) (io.ReadCloser, error) {
		if f := c.exports[path]; f != "" {
			return os.Open(f)
		}
		return nil, fmt.Errorf("no export data of %s", path)
	})}
	var err error
	if a.pkg, err = conf.Check(path, a.fset, files, a.info); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		a.file(f)
	}
	return a
}

// TestConnectors: every package below a connector's folder is looked at, but for
// suites that tests alone import.
func TestConnectors(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		top, _, _ := strings.Cut(name, "/")
		if slices.Contains(connectors, top) && !slices.Contains(connectors, name) && name != "gateway/gatewaytest" {
			t.Errorf("nobody looks at what %s writes: add it to connectors", name)
		}
	}
}

// TestReleasedBytes: connectors write nothing but released bytes.
func TestReleasedBytes(t *testing.T) {
	c := checkable(t)
	used := map[string]bool{}
	for _, name := range connectors {
		a := c.analyze(t, name, "")
		for _, f := range a.out {
			t.Errorf("%s: %s; write a cut.Released", f.where, f.what)
		}
		maps.Copy(used, a.used)
	}
	for _, list := range [][]string{ownWords, framed, decoded, carried, flushed, requested} {
		for _, fn := range list {
			if !used[fn] {
				t.Errorf("%s is listed and does not need it", fn)
			}
		}
	}
}

// beside stands beside each mutant: permits of a connector's own, and writers
// around another one.
const beside = `
type yes struct{}

func (yes) Releases() bool { return true }

type of[T any] struct{ yes }

type under interface{ Write([]byte) (int, error) }

type sized struct {
	under
	BlockSize int
}

type other struct {
	under
	b []byte
}
`

// TestReleasedBytesMutants adds one write to a copy of each connector, each of
// another kind, and sees the analyzer find it.
func TestReleasedBytesMutants(t *testing.T) {
	const response = "w http.ResponseWriter, r *http.Request, b []byte"
	mutants := []struct{ params, body string }{
		{response, `w.Write(b)`},
		{response, `_, _ = io.WriteString(w, string(b))`},
		{response, `f := w.Write; f(b)`},
		{response, `fmt.Fprintf(w, "%s", b)`},
		{response, `fmt.Fprintln(w)`},
		{response, `http.Error(w, string(b), 500)`},
		{response, `io.Copy(w, bytes.NewReader(b))`},
		{response, `bytes.NewReader(b).WriteTo(w)`},
		{response, `bytes.NewBuffer(b).WriteTo(w)`},
		{response, `json.NewEncoder(w).Encode(b)`},
		{response, `z := bufio.NewWriter(w); z.Write(b); z.Flush()`},
		{response, `http.NewResponseController(w).Flush()`},
		{response, `w.(http.Flusher).Flush()`},
		{response, `w.(io.ReaderFrom).ReadFrom(bytes.NewReader(b))`},
		{response, `w.(io.StringWriter).WriteString("x")`},
		{response, `var x io.Writer = w; x.Write(b)`},
		{response, `http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))`},
		{response, `http.Redirect(w, r, string(b), 302)`},
		{response, `http.NotFound(w, r)`},
		{response, `http.FileServer(nil).ServeHTTP(w, r)`},
		{response, `template.Must(template.New("").Parse("")).Execute(w, b)`},
		{response, `io.MultiWriter(w).Write(b)`},
		{response, `io.TeeReader(bytes.NewReader(b), w)`},
		{response, `h := http.Handler(http.NotFoundHandler()); h.ServeHTTP(w, r)`},
		{response, `c, _, _ := w.(http.Hijacker).Hijack(); c.Close()`},
		{response, `log.New(w, "", 0)`},
		{response, `func() { w.Write(b) }()`},
		{response, `any(w).(interface{ Write([]byte) (int, error) }).Write(b)`},
		{response, `h := http.NotFoundHandler().ServeHTTP; h(w, r)`},
		{response, `var x any = w; fmt.Fprint(x.(io.Writer), b)`},
		{response, `cut.Own(append([]byte(nil), b...)).WriteTo(w)`},
		{response, `resp := r.Response; resp.Body = io.NopCloser(bytes.NewReader(b))`},
		{response, `_ = &http.Response{Body: io.NopCloser(bytes.NewReader(b))}`},
		{response, `var out cut.Released; out.Own(b); out.WriteTo(w)`},
		{response, `var out cut.Released; own := out.Own; own(b)`},
		{response, `var out cut.Released; out.Encode(yes{}, func(d []byte) ([]byte, error) { return b, nil })`},
		{response, `var out cut.Released; f := out.Encode; f(yes{}, func(d []byte) ([]byte, error) { return b, nil })`},
		{response, `var out cut.Released; out.Encode(of[mediator.Result]{}, func(d []byte) ([]byte, error) { return b, nil })`},
		{response, `var out cut.Released; copy(out.Bytes(), b); out.WriteTo(w)`},
		{response, `var out cut.Released; out.Bytes()[0] = b[0]; out.WriteTo(w)`},
		{response, `f := cut.Own; f(b).WriteTo(w)`},
		{response, `f := (*cut.Released).Own; f(&cut.Released{}, b)`},
		{response, `var o interface{ Own([]byte) } = &cut.Released{}; o.Own(b)`},
		{response, `x := cut.NewText(0, true); x.Write(b)`},
		{response, `var x cut.Text; x.Advance()`},
		{response, `cut.Apply(nil, nil, 0, b)`},
		{response, `w.(interface{ WriteString(string) (int, error) }).WriteString(string(b))`},
		{response, `w.(interface{ ReadFrom(io.Reader) (int64, error) }).ReadFrom(bytes.NewReader(b))`},
		{response, `w.(interface{ Flush() }).Flush()`},
		{response, `sized{w, 1}.Write(b)`},
		{"", "}\n\nfunc (o other) Write(p []byte) (int, error) { p = o.b; return o.under.Write(p)"},
		{"", "}\n\nfunc (o other) Write(p []byte) (int, error) { copy(p, o.b); return o.under.Write(p)"},
		{"", "}\n\nfunc (o other) Write(p []byte) (int, error) { p[0] = o.b[0]; return o.under.Write(p)"},
		{response, `_ = bufio.ReadWriter{Writer: bufio.NewWriter(nil)}`},
		{response, `var x struct{ http.Response }; x.Body = io.NopCloser(bytes.NewReader(b))`},
		{response, `r.Body = io.NopCloser(bytes.NewReader(b))`},
		{response, `r.GetBody = nil`},
		{response, `_ = &http.Request{Body: io.NopCloser(bytes.NewReader(b))}`},
		{response, `http.NewRequest("POST", "/", bytes.NewReader(b))`},
		{response, `http.DefaultClient.Post("/", "", bytes.NewReader(b))`},
		{"b []byte", `os.WriteFile("/dev/stdout", b, 0)`},
		{"b []byte", `_ = exec.Cmd{Stdin: bytes.NewReader(b)}`},
		{"b []byte", `syscall.Write(1, b)`},
		{"b []byte", `_ = (*cut.Released)(unsafe.Pointer(&b))`},
		{"b []byte", `reflect.ValueOf(&cut.Released{}).Method(0)`},
		{"p io.WriteCloser, b []byte", `p.Write(b)`},
		{"p io.WriteCloser, b []byte", `io.Copy(p, bytes.NewReader(b))`},
		{"p net.Conn, b []byte", `p.Write(b)`},
		{"p *os.File, b []byte", `p.WriteString(string(b))`},
		{"p *os.File, b []byte", `p.ReadFrom(bytes.NewReader(b))`},
		{"b []byte", `os.Stdout.Write(b)`},
		{"b []byte", `fmt.Println(string(b))`},
		{"b []byte", `println(string(b))`},
		{"b []byte", `log.Print(b)`},
	}
	c := checkable(t)
	for _, name := range connectors {
		pkg := "package " + name[strings.LastIndexByte(name, '/')+1:] + "\n"
		before := len(c.analyze(t, name, pkg+beside).out)
		for _, m := range mutants {
			src := pkg + "\nimport (\n"
			for _, imp := range []string{"bufio", "bytes", "encoding/json", "fmt", "html/template", "io", "log", "net", "net/http", "os", "os/exec", "reflect", "syscall", "time", "unsafe", module + "/mediator", cutPath, outletPath} {
				if base := imp[strings.LastIndexByte(imp, '/')+1:]; regexp.MustCompile(`\b` + base + `\.`).MatchString(m.params + "\n" + m.body) {
					src += fmt.Sprintf("%q\n", imp)
				}
			}
			src += ")\n" + beside + "\nfunc added(" + m.params + ") {\n" + m.body + "\n}\n"
			if len(c.analyze(t, name, src).out) <= before {
				t.Errorf("%s with this would pass: %s", name, m.body)
			}
		}
	}
}
