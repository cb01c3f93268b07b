package inline

import "testing"

func TestInline(t *testing.T) {
	for _, c := range []struct {
		text         string
		runs, writes bool
	}{
		{"1,20p", false, false},
		{"s/a/b/g", false, false},
		{"s/system/write/w x", false, true},
		{"s/a/b/e", true, false},
		{"1e id", true, false},
		{"w out", false, true},
		{"/from/,/where/p", false, false},
		{"s|e|w|", false, false},
		{"$!N;P;D", false, false},
		{"/x/d", false, false},
	} {
		if runs, writes := Sed(c.text); runs != c.runs || writes != c.writes {
			t.Errorf("sed %q runs %v, writes %v", c.text, runs, writes)
		}
	}
	for _, c := range []struct {
		text         string
		runs, writes bool
	}{
		{"{print $1}", false, false},
		{"$1 > 3 {print}", false, false},
		{"{print > \"x\"}", false, true},
		{"BEGIN{system(\"id\")}", true, false},
		{"{print | \"sh\"}", true, false},
		{"/a|b/ {print}", false, false},
		{"$1 == 1 || $2 == 2", false, false},
		{"{\"id\" | getline x}", true, false},
		{"{print \"a|b > c\"}", false, false},
	} {
		if runs, writes := Awk(c.text); runs != c.runs || writes != c.writes {
			t.Errorf("awk %q runs %v, writes %v", c.text, runs, writes)
		}
	}
	for text, want := range map[string]bool{
		"print(1+1)": true, "import json; print(json.dumps({}))": true, "import os": false, "import json, os": false, "from os import system": false, "exec('x')": false,
		"print(open('a.txt').read())": true, "open('a.txt', 'w')": false, "__import__('os')": false, "getattr(x, 'y')": false, "import json as os": true, "print('\\x41')": false,
		`print("a\n\tb")`: true, `print("a\\x5f")`: false, `print("{0.\x5f\x5fclass}")`: false, `print("\u005f")`: false, "x = 1 \\\n": false, `"\137"`: false, `"\N{LOW LINE}"`: false,
		"import sys; sys.modules": false, "print(open('/etc/x').read(), file=open('y','w'))": false,
	} {
		if Python(text) != want {
			t.Errorf("python %q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{
		"console.log(1)": true, "require('child_process')": false, "console.log(require('./package.json').version)": true, "fetch('x')": false, "eval('x')": false, "x['constructor']": false,
		`let s="";process.stdin.on("data",d=>s+=d);process.stdin.on("end",()=>{const v=JSON.parse(s);console.log(v[0].a+"\n")})`: true,
		`process.stdin.on("data",d=>eval(d.toString()))`: false, `process.stdin.on("x",y)`: false, `process.stdin.constructor`: false, `v["constr"+"uctor"]`: false, `v[0]["a"]`: false, `v[[]]`: false, `"\u0063"`: false,
		`process.stdin["on"]`: false, `process.stdin.pipe(process.stdout)`: false, `[][k]`: false, `console.log([])`: true,
		"console.log(process.version)": true, "process.exit()": false, "import('fs')": false, "`${x}`": false,
	} {
		if JavaScript(text) != want {
			t.Errorf("javascript %q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"s/a/b/g": true, "s/a/b/e": false, "s/a/`id`/": false, "exec 'sh'": false, "s/a/@{[x]}/": false, "s/a/b/; exec 'sh'": false} {
		if Perl(text) != want {
			t.Errorf("perl %q: %v", text, !want)
		}
	}
}
