package library_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/rubric/library"
)

// The rubrics are the ones that users published: what they include is written
// out in what is hashed and signed, so that moving a population into a file, or
// a change of its comments, changes no rubric and no cost in bits. A change that
// is meant counts up the revision.
func TestHashesArePinned(t *testing.T) {
	want, err := os.ReadFile("testdata/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, name := range library.Names() {
		r, err := library.Rubric(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %s revision %d\n", r.Hash(), name, r.Revision())
	}
	if got.String() != string(want) {
		t.Errorf("the library's rubrics changed: count up their revisions, then write\n%s", got.String())
	}
}

// Each vocabulary is included by its hash, and by some rubric.
func TestVocabulariesAreUsed(t *testing.T) {
	for _, v := range library.Vocabularies() {
		line := fmt.Sprintf("{file: %s%s.yaml, sha256: %x", library.Prefix, v.Name, sha256.Sum256([]byte(v.Text)))
		if !slices.ContainsFunc(library.All(), func(f library.File) bool { return strings.Contains(f.Text, line) }) {
			t.Errorf("no rubric has %s", line)
		}
		if !strings.Contains(v.Text, "\nvocabulary: "+v.Name+"\n") {
			t.Errorf("%s.yaml has another name", v.Name)
		}
	}
}
