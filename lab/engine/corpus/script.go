package corpus

import "strings"

// script appends one statement of minified JavaScript: short names, no space,
// few line ends, strings and expressions among them.
func (d *draw) script() {
	switch d.IntN(6) {
	case 0:
		d.addf("var %s=%s;", d.short(), d.expr(3))
	case 1:
		d.addf("function %s(%s){%s}", d.short(), d.params(), d.block(2))
	case 2:
		d.addf("%s.prototype.%s=function(%s){%s};", d.short(), d.ident(), d.params(), d.block(2))
	case 3:
		d.addf("%d:(%s)=>{\"use strict\";%s},", d.IntN(1e5), d.params(), d.block(3))
	case 4:
		d.addf("Object.defineProperty(%s,%q,{enumerable:!0,get:()=>%s});", d.short(), d.ident(), d.expr(1))
	default:
		d.addf("%s.%s({%s});", d.short(), d.ident(), d.pairs())
	}
	if d.IntN(40) == 0 {
		d.add("\n")
	}
}

func (d *draw) short() string {
	const first = lower + upper + "_$"
	return d.some(first, 1) + d.some(first+digits, d.IntN(2))
}

func (d *draw) params() string {
	p := make([]string, d.IntN(4))
	for i := range p {
		p[i] = d.short()
	}
	return strings.Join(p, ",")
}

func (d *draw) pairs() string {
	p := make([]string, 1+d.IntN(5))
	for i := range p {
		p[i] = d.ident() + ":" + d.expr(1)
	}
	return strings.Join(p, ",")
}

func (d *draw) block(depth int) string {
	var b strings.Builder
	for range 1 + d.IntN(3) {
		switch k := d.IntN(6); {
		case k == 0 && depth > 0:
			b.WriteString("if(" + d.expr(1) + "){" + d.block(depth-1) + "}")
		case k == 1 && depth > 0:
			v := d.short()
			b.WriteString("for(let " + v + "=0;" + v + "<" + d.expr(0) + ".length;" + v + "++){" + d.block(depth-1) + "}")
		case k == 2:
			b.WriteString("return " + d.expr(2) + ";")
		case k == 3:
			b.WriteString("const " + d.short() + "=" + d.expr(2) + "," + d.short() + "=" + d.expr(1) + ";")
		default:
			b.WriteString(d.expr(2) + ";")
		}
	}
	return b.String()
}

func (d *draw) expr(depth int) string {
	if depth == 0 {
		switch d.IntN(7) {
		case 0:
			return d.some("123456789", 1) + d.some(digits, d.IntN(4))
		case 1:
			return `"` + d.ident() + `"`
		case 2:
			return "!" + d.some("01", 1)
		case 3:
			return "this." + d.ident()
		case 4:
			return d.short() + "." + d.ident()
		default:
			return d.short()
		}
	}
	switch d.IntN(9) {
	case 0:
		return d.expr(depth-1) + d.one([]string{"+", "-", "*", "/", "%", "|", "&", "<<", ">>>", "^"}) + d.expr(depth-1)
	case 1:
		return d.expr(0) + d.one([]string{"&&", "||", "??", "===", "!==", "<", ">=", "=", "+="}) + d.expr(depth-1)
	case 2:
		return d.short() + "." + d.ident() + "(" + d.expr(depth-1) + "," + d.expr(0) + ")"
	case 3:
		return d.short() + "(" + d.expr(depth-1) + ")"
	case 4:
		return d.expr(0) + "?" + d.expr(depth-1) + ":" + d.expr(depth-1)
	case 5:
		return "{" + d.pairs() + "}"
	case 6:
		return "[" + d.expr(depth-1) + "," + d.expr(0) + "," + d.expr(0) + "]"
	case 7:
		return d.one([]string{`"` + d.sentence() + `"`, "/^[\\w.-]+$/i.test(" + d.short() + ")", "`" + d.one(nouns) + " ${" + d.short() + "}`", `"#` + d.some(hexits, 6) + `"`, `"\u00` + d.some(hexits, 2) + `"`})
	default:
		return d.expr(depth - 1)
	}
}
