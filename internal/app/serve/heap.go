package serve

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// heapFloor is how large the heap may become before it is collected, however
// little of it is in use. A gateway of a few conversations has a few megabytes in
// use, and would collect them a dozen times a second.
const heapFloor = 64 << 20

// roomy lets the heap grow to heapFloor until stop is called. Beyond that it is
// collected as always. Whoever sets GOGC decides that.
func roomy() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var over atomic.Bool
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	now := 100
	var tune func()
	tune = func() { // after each collection
		if over.Load() {
			debug.SetGCPercent(100)
			return
		}
		metrics.Read(live)
		most := 1000
		if n := live[0].Value.Uint64(); n > 0 {
			most = int(min(max(100*heapFloor/n, 200), 1100)) - 100 //nolint:gosec // at most 1,000
		}
		if most*10 < now*9 || most*9 > now*10 {
			now = most
			debug.SetGCPercent(now)
		}
		runtime.SetFinalizer(new([16]byte), func(*[16]byte) { tune() })
	}
	tune()
	return func() { over.Store(true) }
}
