package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// pages are the documents that are held to tests.
var pages = []string{"README.md", "SECURITY.md", "docs/*.md", "docs/format/*.md"}

// absolute are the words that make a sentence a claim about all cases.
var absolute = regexp.MustCompile(`(?is)\b(?:always|never|every|everything|everywhere|whole)\b|\b(?:no|not|nobody|none|nothing|nowhere)\b.*\bever\b`)

var (
	aComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	aMark    = regexp.MustCompile(`^<!-- test: ([\w./]+(?:, [\w./]+)*) -->$`)
	likeMark = regexp.MustCompile(`(?i)^<!--\s*tests?\b`)
	aCode    = regexp.MustCompile("(?s)``+.+?``+|`[^`]*`")
	aURL     = regexp.MustCompile(`\]\([^)]*\)`)
	anItem   = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`)
	aTag     = regexp.MustCompile(`</?[a-z][^>]*>`)
	aMarker  = regexp.MustCompile("\x02\\d+\x02")
	aFence   = regexp.MustCompile("^ {0,3}(?:```+|~~~+)")
)

// Claim is a sentence with an absolute word, and the tests that hold it.
type Claim struct {
	Page  string
	Line  int
	Text  string
	Tests []string
}

// claimsOf reads the pages below root. Mistakes of form are problems.
func claimsOf(root string) (claims []Claim, problems []string, err error) {
	for _, pattern := range pages {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, nil, err
		}
		if len(files) == 0 {
			problems = append(problems, pattern+": no such page")
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, nil, err
			}
			page, err := filepath.Rel(root, file)
			if err != nil {
				return nil, nil, err
			}
			c, p := claimsIn(filepath.ToSlash(page), string(text))
			claims, problems = append(claims, c...), append(problems, p...)
		}
	}
	return claims, problems, nil
}

// claimsIn finds the claims of one page: sentences with an absolute word, and
// sentences with a mark.
func claimsIn(page, text string) (claims []Claim, problems []string) {
	for _, b := range blocks(text) {
		for _, s := range sentences(b.text) {
			at := fmt.Sprintf("%s:%d", page, b.line+s.line)
			problems = append(problems, prefixed(at, s.problems)...)
			word := absolute.FindString(s.bare)
			switch {
			case word == "" && len(s.tests) == 0:
			case len(s.tests) == 0:
				problems = append(problems, fmt.Sprintf("%s: no test is named after %q, which has %q", at, s.bare, word))
			default:
				claims = append(claims, Claim{Page: page, Line: b.line + s.line, Text: s.bare, Tests: s.tests})
			}
		}
	}
	return claims, problems
}

func prefixed(at string, problems []string) (out []string) {
	for _, p := range problems {
		out = append(out, at+": "+p)
	}
	return out
}

// block is what a sentence does not leave: a paragraph, an item, a cell.
type block struct {
	line int
	text string
}

// blocks cuts a page. Fenced code is no text; a comment may go over lines.
func blocks(text string) (out []block) {
	var open *block
	fence := ""
	flush := func() {
		if open != nil {
			out = append(out, *open)
		}
		open = nil
	}
	for i, line := range strings.Split(text, "\n") {
		if f := strings.TrimSpace(aFence.FindString(line)); f != "" && (fence == "" || strings.HasPrefix(f, fence)) {
			flush()
			if fence == "" {
				fence = f
			} else {
				fence = ""
			}
			continue
		}
		line = strings.TrimLeft(line, "> \t")
		switch {
		case fence != "":
		case strings.HasPrefix(line, "|"):
			flush()
			for _, cell := range cells(line) {
				out = append(out, block{i + 1, cell})
			}
		case strings.TrimSpace(line) == "":
			flush()
		case strings.HasPrefix(line, "#"):
			flush()
			out = append(out, block{i + 1, strings.TrimLeft(line, "# ")})
		case anItem.MatchString(line):
			flush()
			open = &block{i + 1, line[len(anItem.FindString(line)):]}
		case open == nil:
			open = &block{i + 1, line}
		default:
			open.text += "\n" + line
		}
	}
	flush()
	return out
}

// cells cuts a line of a table at its bars, not at those in code or escaped.
func cells(line string) []string {
	line = aCode.ReplaceAllStringFunc(line, func(s string) string { return strings.ReplaceAll(s, "|", "\x01") })
	line = strings.ReplaceAll(line, `\|`, "\x01")
	out := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "\x01", `\|`)
	}
	return out
}

// mark is the byte that stands around the number of a mark.
const mark = 2

// sentence is one, without markup, with the tests that are named after it.
type sentence struct {
	line     int // from the first of its block
	bare     string
	tests    []string
	problems []string
}

// sentences cuts a block after each end of a sentence and after each mark. In
// the text, a mark is its number between two bytes.
func sentences(text string) (out []sentence) {
	var marks [][]string
	var problems []string
	text = aCode.ReplaceAllStringFunc(text, func(s string) string { return "`" + strings.Repeat("\n", strings.Count(s, "\n")) + "`" })
	text = aComment.ReplaceAllStringFunc(text, func(s string) string {
		m := aMark.FindStringSubmatch(s)
		if m == nil {
			if likeMark.MatchString(s) {
				problems = append(problems, "not a mark: "+s)
			}
			return strings.Repeat("\n", strings.Count(s, "\n"))
		}
		marks = append(marks, strings.Split(m[1], ", "))
		return fmt.Sprintf("%[2]c%[1]d%[2]c", len(marks)-1, mark)
	})
	text = aTag.ReplaceAllString(aURL.ReplaceAllString(text, "]"), "")
	line := 0
	for _, part := range cut(text) {
		var names []string
		for k, field := range strings.Split(part, string(rune(mark))) {
			if n, err := strconv.Atoi(field); k%2 == 1 && err == nil {
				names = append(names, marks[n]...)
			}
		}
		bare := aMarker.ReplaceAllString(part, "")
		lead := len(part) - len(strings.TrimLeft(part, " \n\t"))
		s := sentence{line: line + strings.Count(part[:lead], "\n"), bare: strings.Join(strings.Fields(bare), " "), tests: names, problems: problems}
		problems = nil
		line += strings.Count(part, "\n")
		if s.bare == "" && len(s.tests) > 0 {
			s.problems = append(s.problems, "a mark that follows no sentence: "+strings.Join(s.tests, ", "))
			s.tests = nil
		}
		out = append(out, s)
	}
	return out
}

// cut ends a sentence at punctuation that no lower case follows, with what
// closes emphasis, quotation or brackets, and after marks.
func cut(text string) (out []string) {
	from := 0
	for i := 0; i < len(text); {
		switch {
		case text[i] == mark:
			for strings.HasPrefix(strings.TrimLeft(text[i:], " \n"), string(rune(mark))) {
				i += strings.IndexByte(text[i:], mark) + 1
				i += strings.IndexByte(text[i:], mark) + 1
			}
		case strings.IndexByte(".!?", text[i]) >= 0:
			i = len(text) - len(strings.TrimLeft(text[i+1:], "*_)\"”’]"))
			rest := strings.TrimLeft(text[i:], " \n")
			if rest != "" && (rest == text[i:] || rest[0] == mark || 'a' <= rest[0] && rest[0] <= 'z') {
				continue
			}
		default:
			i++
			continue
		}
		out, from = append(out, text[from:i]), i
	}
	return append(out, text[from:])
}
