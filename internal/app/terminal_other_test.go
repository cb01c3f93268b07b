//go:build unix && !linux

package app

import "github.com/rogpeppe/go-internal/testscript"

// moreCommands are those that only this system has.
var moreCommands = map[string]func(*testscript.TestScript, bool, []string){}
