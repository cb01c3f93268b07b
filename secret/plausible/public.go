package plausible

import (
	"bytes"
	"slices"
)

// Excused reports whether a value that stands behind a telling name is, by its
// exact form or its place, what work with code is full of: a digest, the verdict
// of a test, the id of an agent's session, an expression. It is for rules that go
// by names: what a rule of a vendor's finds, or a vault knows, is not asked about.
func Excused(before, v []byte) bool {
	return digest(before, v) || object(before, v) || verdict(before, v) || expressed(before, v) || session(before, v)
}

// objects matches the names of git's objects.
var objects = expression(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// object reports whether v is the name of a git object, and is called one.
func object(before, v []byte) bool {
	n := nameOf(before)
	last, _ := n.last()
	return (last == "commit" || last == "revision" || last == "rev") && objects().Match(v)
}

// digests matches published digests: the name of the algorithm and exactly as
// many characters as its sums have. Those of images and objects are shortened.
var digests = expression(`^(?:(?i:sha-?1)[:-](?:[0-9a-f]{7,40}|[\w+/-]{27}=)|(?i:sha-?256)[:-](?:[0-9a-f]{7,64}|[\w+/-]{43}=?)|(?i:sha-?384)[:-](?:[0-9a-f]{96}|[\w+/-]{64})` +
	`|(?i:sha-?512)[:-](?:[0-9a-f]{128}|[\w+/-]{86}(?:==)?)|(?i:md5)[:-](?:[0-9a-f]{32}|[\w+/-]{22}==)|h1:[\w+/]{43}=|10c\d/[0-9a-f]{128})$`)

// digest reports whether v is a digest, or ends one whose algorithm is before it.
func digest(before, v []byte) bool {
	tag := len(before)
	if tag > 0 && (before[tag-1] == ':' || before[tag-1] == '-') {
		for tag--; tag > 0 && inName(before[tag-1]); {
			tag--
		}
	}
	return digests().Match(v) || tag < len(before) && digests().Match(slices.Concat(before[tag:], v))
}

func inName(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// alone matches a line up to its first word PASS, in capitals.
var alone = expression(`^[^A-Za-z]*PASS: $`)

// testName matches the names of tests and of their files.
var testName = expression(`^[\w./:\[\]-]+$`)

// verdict reports whether v is the name of a test that passed.
func verdict(before, v []byte) bool {
	if bytes.HasSuffix(before, []byte("--- PASS: ")) || bytes.HasSuffix(before, []byte("=== PASS: ")) {
		return true
	}
	return alone().Match(before) && testName().Match(v) && (bytes.ContainsAny(v, "_./:") || !bytes.ContainsAny(v, "0123456789"))
}

var (
	// alternatives matches what is between two strings of code.
	alternatives = expression(`["'] ?\|{1,2} ?["']$`)
	// address matches a pointer, an alias, or a member of something.
	pointer = expression(`^(?:[&*][A-Za-z_]\w*|[&*!]*[A-Za-z_]\w*(?:(?:\?\.|\.|->|::)[A-Za-z_]\w*)+)$`)
	// number matches numbers that are not whole.
	number = expression(`^[+-]?\d*(?:\.\d+(?:[eE][+-]?\d+)?|\d[eE][+-]?\d+)$`)
)

// expressed reports whether v is a part of an expression: one of several
// strings, a pointer, a member, a number.
func expressed(before, v []byte) bool {
	if alternatives().Match(before) || number().Match(v) {
		return true
	}
	if !pointer().Match(v) || Drawn(v) {
		return false
	}
	n := nameOf(before)
	return !n.quoted && !n.upper()
}

// typed matches the beginnings of identifiers that say what they identify.
var typed = expression(`^[a-z]{2,12}_`)

// session reports whether v is the id of a session that is no credential. That of
// a browser's session is: it is in a cookie, or the name is that of a server's, or
// it looks drawn and nothing else.
func session(before, v []byte) bool {
	n := nameOf(before)
	last, prev := n.last()
	if (last != "id" || prev != "session") && last != "sessionid" && last != "sessid" {
		return false
	}
	line := bytes.ToLower(before)
	return !bytes.Contains(line, []byte("cookie")) && !bytes.Contains(line, []byte(" -b ")) && (typed().Match(v) || !Drawn(v))
}

// dated matches words that end in a date: versions of an API, of a release.
var dated = expression(`^[a-z]+(?:[-_.][a-z]+)*[-_.]\d{4}-?\d\d-?\d\d$`)

// names matches Margay's own names of values.
var names = expression(`margay-[a-z]+(?:-[a-z]+)*-[a-z2-7]{14}`)

// Foreign reports whether v holds no name that Margay gave a value.
func Foreign(v []byte) bool { return !bytes.Contains(v, []byte("margay-")) || !names().Match(v) }
