package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// The load reaches a gateway, and its memory is told where the system tells it.
func TestPeak(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "margay")
	build := exec.Command("go", "build", "-o", bin, "./cmd/margay")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n, err := peak(bin)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && n < 8<<20 {
		t.Errorf("a gateway takes %d bytes", n)
	}
	if _, err := peak("/bin/true"); err == nil {
		t.Error("a program that is no gateway was measured")
	}
}
