package app

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// moreCommands are those that only this system has.
var moreCommands = map[string]func(*testscript.TestScript, bool, []string){"pressinterrupt": pressInterrupt}

// pressInterrupt runs a command in a terminal of its own, presses ^C once it
// has printed "ready", and checks how it ends: pressinterrupt CODE COMMAND….
func pressInterrupt(ts *testscript.TestScript, _ bool, args []string) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	ts.Check(err)
	defer master.Close()
	ts.Check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	ts.Check(err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	ts.Check(err)
	cmd := exec.Command(program(ts, args[1]), args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	_ = tty.Close()
	var out bytes.Buffer
	buf := make([]byte, 1024)
	for pressed := false; ; {
		n, err := master.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break // the terminal's last user has gone
		}
		if !pressed && strings.Contains(out.String(), "ready") {
			pressed = true
			_, err := master.Write([]byte{3})
			ts.Check(err)
		}
	}
	_ = cmd.Wait()
	if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
	if !strings.Contains(out.String(), "interrupted once") {
		ts.Fatalf("on the terminal: %q", out.String())
	}
}
