package table

import (
	"slices"
	"strings"
)

// made are folders and files that a build makes again.
var made = []string{
	"node_modules", "target", "dist", "build", "out", "coverage", ".next", ".nuxt", ".turbo", ".cache", ".parcel-cache", "__pycache__", ".pytest_cache",
	".mypy_cache", ".ruff_cache", ".tox", "htmlcov", "cdk.out", ".gradle", "DerivedData", "tmp", ".tmp",
}

// madeEndings are the endings of such files.
var madeEndings = []string{".pyc", ".o", ".a", ".so", ".class", ".test", ".prof", ".out", ".log", ".tmp", ".orig", ".rej", ".bak", ".swp"}

// Rebuilt reports whether a file or a folder of a name is one that a build makes again.
func Rebuilt(name string) bool {
	return slices.Contains(made, name) || slices.ContainsFunc(madeEndings, func(e string) bool { return strings.HasSuffix(name, e) })
}

// RebuiltPattern reports whether a pattern matches the names of such files alone.
func RebuiltPattern(pattern string) bool {
	return slices.ContainsFunc(madeEndings, func(e string) bool { return pattern == "*"+e }) || slices.Contains(made, strings.Trim(pattern, "*/"))
}
