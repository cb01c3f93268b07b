package app

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// moreCommands are those that only this system has.
var moreCommands = map[string]func(*testscript.TestScript, bool, []string){"pressinterrupt": pressInterrupt, "answer": answerTyped}

// pressInterrupt runs a command in a terminal of its own, presses ^C once it
// has printed "ready", and checks how it ends: pressinterrupt CODE COMMAND….
func pressInterrupt(ts *testscript.TestScript, _ bool, args []string) {
	if out := onTerminal(ts, args[0], "ready", "\x03", args[1:]); !strings.Contains(out, "interrupted once") {
		ts.Fatalf("on the terminal: %q", out)
	}
}

// answerTyped runs a command in a terminal of its own, types an answer once it has
// asked, and checks what the terminal shows: answer CODE QUESTION ANSWER PATTERN
// COMMAND….
func answerTyped(ts *testscript.TestScript, _ bool, args []string) {
	if out := onTerminal(ts, args[0], args[1], args[2]+"\n", args[4:]); !regexp.MustCompile(args[3]).MatchString(out) {
		ts.Fatalf("on the terminal: %q", out)
	}
}

// onTerminal runs a command in a terminal of its own, types once it has printed
// something, and returns what the terminal shows. The command must end with a code.
func onTerminal(ts *testscript.TestScript, code, printed, typed string, command []string) string {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	ts.Check(err)
	defer master.Close()
	ts.Check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	ts.Check(err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	ts.Check(err)
	cmd := exec.Command(program(ts, command[0]), command[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	_ = tty.Close()
	var out bytes.Buffer
	buf := make([]byte, 1024)
	for done := false; ; {
		n, err := master.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break // the terminal's last user has gone
		}
		if !done && strings.Contains(out.String(), printed) {
			done = true
			_, err := master.Write([]byte(typed))
			ts.Check(err)
		}
	}
	_ = cmd.Wait()
	if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != code {
		ts.Fatalf("exit code %s, want %s: %q", got, code, out.String())
	}
	return out.String()
}
