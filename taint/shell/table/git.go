package table

import "regexp"

// HarmlessGit are the beginnings of settings of git's that name no program.
var HarmlessGit = []string{"user.name", "user.email", "color.", "core.quotepath", "core.autocrlf", "commit.gpgsign", "tag.gpgsign", "advice.", "init.defaultbranch", "diff.noprefix", "diff.renames", "log.", "pull.rebase", "rebase.auto", "merge.conflictstyle", "core.commentchar", "protocol.version", "gc.auto", "maintenance.auto", "safe.directory", "column.", "core.abbrev", "diff.context", "diff.algorithm", "http.lowspeed"}

// Others matches names of what others may have pushed or asked to merge.
var Others = regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])(?:origin|upstream|remotes|pull|pr)/|FETCH_HEAD|refs/(?:remotes|pull)`)

// Mine matches names of branches that a clone itself came from.
var Mine = regexp.MustCompile(`(?:^|[.:^])(?:refs/)?(?:remotes/)?origin/(?:main|master|trunk|develop|HEAD)(?:\.\.|[:^~]|$)`)
