package ledger

import (
	"crypto/ed25519"
	"runtime"
	"sync"

	"github.com/margaydev/margay/flow"
)

// signed is an entry whose signature is to be checked.
type signed struct {
	entry  uint64
	family flow.TrajectoryID
	seq    uint64
	hash   Hash
	sig    [64]byte
}

// sigBatch is how many are handed to a worker at once.
const sigBatch = 64

// signatures checks signatures on all cores: they take ten times as long as
// all the rest. Its goroutines end with wait.
type signatures struct {
	key   ed25519.PublicKey
	batch []signed
	work  chan []signed
	free  chan []signed
	wg    sync.WaitGroup

	mu       sync.Mutex
	findings []Finding
	more     int
}

func newSignatures(key ed25519.PublicKey) *signatures {
	n := runtime.GOMAXPROCS(0)
	s := &signatures{key: key, work: make(chan []signed, n), free: make(chan []signed, 2*n+1)}
	for range n {
		s.wg.Go(s.worker)
	}
	return s
}

// check has one checked. It waits while too many wait already.
func (s *signatures) check(e *signed) {
	if s.batch == nil {
		select {
		case s.batch = <-s.free:
		default:
			s.batch = make([]signed, 0, sigBatch)
		}
	}
	if s.batch = append(s.batch, *e); len(s.batch) == sigBatch {
		s.work <- s.batch
		s.batch = nil
	}
}

func (s *signatures) worker() {
	for batch := range s.work {
		for i := range batch {
			e := &batch[i]
			if verify(s.key, e.hash, &e.sig) != nil {
				s.found(e)
			}
		}
		select {
		case s.free <- batch[:0]:
		default:
		}
	}
}

func (s *signatures) found(e *signed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.findings) >= maxFindings {
		s.more++
		return
	}
	s.findings = append(s.findings, Finding{Entry: e.entry, Family: e.family, Seq: e.seq, Rule: Signature, Detail: "the entry is not signed by this ledger's key"})
}

// wait returns what was found once all is checked.
func (s *signatures) wait() []Finding {
	if len(s.batch) > 0 {
		s.work <- s.batch
	}
	close(s.work)
	s.wg.Wait()
	return s.findings
}
