package measure

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// A Binary is what a built command costs.
type Binary struct {
	Modules    int     `json:"modules"`     // besides its own
	Bytes      int64   `json:"bytes"`       // of the file
	PeakMemory float64 `json:"peak_memory"` // of its version command in MB (10^6 bytes), the median of five runs; 0 where the system doesn't tell
}

// BinaryOf reads the file and runs its version command.
//
// Memory is the peak of the resident set. Linux counts that of the process that
// starts another into it, so call this from a small process.
func BinaryOf(path string) (Binary, error) {
	var b Binary
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return b, err
	}
	b.Modules = len(info.Deps)
	st, err := os.Stat(path)
	if err != nil {
		return b, err
	}
	b.Bytes = st.Size()
	peaks := make([]float64, 5)
	for i := range peaks {
		cmd := exec.Command(path, "version")
		if out, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("%s version: %w\n%s", path, err, out)
		}
		peaks[i] = peak(cmd.ProcessState)
	}
	slices.Sort(peaks)
	b.PeakMemory = peaks[len(peaks)/2]
	return b, nil
}
