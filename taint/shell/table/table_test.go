package table

import "testing"

// TestParse: the table can be read, and no mistake in it passes.
func TestParse(t *testing.T) {
	if _, err := parseTable(programs); err != nil {
		t.Fatal(err)
	}
	all, err := parseTable("# a table\nls, dir: observe files\nls with -x: edit\nls taking -I\ngit status: observe\ngit *: reach to\n")
	if err != nil || len(all) != 3 || len(all["ls"].With) != 1 || len(all["ls"].Taking) != 1 || all["dir"].Does != "files" || all["git"].Set || !all["git"].Subs["status"].Set {
		t.Errorf("%v, %v", all, err)
	}
	for _, bad := range []string{"ls", "ls: look", "ls:", "ls with -l", "ls with -l: observe edit", "ls: observe some"} {
		if _, err := parseTable(bad); err == nil {
			t.Errorf("%q is a line", bad)
		}
	}
}

func TestVariables(t *testing.T) {
	for name, want := range map[string]bool{"LD_PRELOAD": true, "GIT_SSH_COMMAND": true, "GIT_AUTHOR_DATE": false, "FOO": false, "PAGER": true} {
		if Steers(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if !Plain("PAGER", "cat") || Plain("PAGER", "sh") || Plain("FOO", "") {
		t.Error("what is plain is not")
	}
}
