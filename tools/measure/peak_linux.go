package measure

import (
	"os"
	"syscall"
)

func peak(p *os.ProcessState) float64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) * 1024 / 1e6
	}
	return 0
}
