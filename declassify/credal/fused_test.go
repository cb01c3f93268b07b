package credal

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestNoFusedOperations: where a compiler fuses a product into a sum, bounds
// have other bits than elsewhere. arm64 has the instructions; that all products
// are converted on the way shows there.
func TestNoFusedOperations(t *testing.T) {
	cmd := exec.Command("go", "build", "-o", os.DevNull, "-gcflags=-S", ".")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`\sFMULD\s`).Match(out) {
		t.Fatal("no assembly of products: nothing was looked at")
	}
	for _, line := range regexp.MustCompile(`\S+\.go:\d+\)\sFN?M(ADD|SUB)[DS]?\s`).FindAll(out, 5) {
		t.Errorf("fused: %s", line)
	}
}
