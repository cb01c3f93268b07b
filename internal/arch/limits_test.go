package arch

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// limits is the file limits.json.
type limits struct {
	About  string
	Limits map[string]struct {
		What  string
		Limit float64
	}
	Larger map[string]struct {
		Lines float64
		Why   string
	} `json:"larger_packages"` // packages above the limit, by name
	Largest    float64 `json:"largest_package"` // above which no exception goes
	Kernels    map[string][]string
	TestsOnly  []string `json:"tests_only"`
	Connectors []string
}

func readLimits(t *testing.T) limits {
	t.Helper()
	b, err := os.ReadFile("limits.json")
	if err != nil {
		t.Fatal(err)
	}
	var l limits
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l
}

// measured is what scripts/loc prints.
type measured struct {
	Product  float64
	Packages []struct {
		Path  string
		Lines float64
	}
	KernelLines float64 `json:"kernel_lines"`
	Kernels     []struct {
		Guarantee string
		Missing   []string
	}
	Arrows []struct {
		Path        string
		Total, Back float64
	}
	Face   []string
	Binary struct {
		Modules float64
		Bytes   float64
		Memory  float64 `json:"peak_memory"`
	}
}

func loc(t *testing.T, args ...string) (m measured) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"run", "./loc", "--root", root(t), "--json"}, args...)...)
	cmd.Dir = filepath.Join(root(t), "tools")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/loc: %v\n%s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// hold compares one measure with its limit.
func (l limits) hold(t *testing.T, name string, is float64, of string) {
	t.Helper()
	lim, ok := l.Limits[name]
	if !ok {
		t.Fatalf("limits.json has no limit %q", name)
	}
	if is > lim.Limit {
		t.Errorf("%s%s: %.6g, more than the limit of %.6g; a higher limit needs an ADR", lim.What, of, is, lim.Limit)
	}
}

// TestLimits holds what the repository may grow to. The limits are in
// limits.json alone; scripts/loc prints the measures.
func TestLimits(t *testing.T) {
	l := readLimits(t)
	m := loc(t, "--arrows", "--face", "mediator/...")
	l.hold(t, "product", m.Product, "")
	l.hold(t, "kernels", m.KernelLines, "")
	l.hold(t, "face", float64(len(m.Face)), "")
	if len(m.Packages) < 30 || len(m.Arrows) == 0 || len(m.Face) == 0 || len(m.Kernels) != len(l.Kernels) {
		t.Errorf("scripts/loc found %d packages, %d of them in mediator/..., a face of %d, %d kernels", len(m.Packages), len(m.Arrows), len(m.Face), len(m.Kernels))
	}
	for _, k := range m.Kernels {
		for _, p := range k.Missing {
			t.Errorf("there is no package %s, the kernel of: %s", p, k.Guarantee)
		}
	}
	for _, a := range m.Arrows {
		l.hold(t, "arrows", 100*a.Back/max(a.Total, 1), " (in "+a.Path+")")
	}
	larger := map[string]bool{}
	for _, p := range m.Packages {
		if e, ok := l.Larger[p.Path]; ok {
			larger[p.Path] = true
			if p.Lines > e.Lines || e.Lines > l.Largest || e.Why == "" {
				t.Errorf("%s has %.0f code lines; its exception is for %.0f, none goes above %.0f, and each has its reason", p.Path, p.Lines, e.Lines, l.Largest)
			}
			continue
		}
		l.hold(t, "package", p.Lines, " ("+p.Path+")")
	}
	for p := range l.Larger {
		if !larger[p] {
			t.Errorf("limits.json has an exception for %s, which is not there", p)
		}
	}
}

// TestBinaryLimits builds the command as it is released and holds its costs.
func TestBinaryLimits(t *testing.T) {
	l := readLimits(t)
	bin := filepath.Join(t.TempDir(), "margay")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "./cmd/margay")
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	b := loc(t, "--binary", bin).Binary
	l.hold(t, "modules", b.Modules, "")
	l.hold(t, "binary", b.Bytes/1e6, "")
	l.hold(t, "memory", b.Memory, "")
	if b.Memory == 0 {
		t.Log("this system does not tell what a process took of memory")
	}
	t.Logf("%.0f modules, %.1f MB, %.1f MB of memory", b.Modules, b.Bytes/1e6, b.Memory)
}
