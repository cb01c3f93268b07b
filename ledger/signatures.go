package ledger

import (
	"crypto/ed25519"
	"runtime"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// signed is an entry whose signature is to be checked.
type signed struct {
	entry  uint64
	family flow.TrajectoryID
	seq    uint64
	hash   charge.Hash
	sig    [64]byte
}

// sigBatch is how many entries a worker gets at once.
const sigBatch = 64

// signatures checks signatures on all cores: they take ten times as long as
// everything else. Its goroutines end with wait.
type signatures struct {
	key   ed25519.PublicKey
	batch []signed
	work  chan []signed
	wg    sync.WaitGroup

	mu       sync.Mutex
	findings []Finding
	more     int
}

func newSignatures(key ed25519.PublicKey) *signatures {
	n := runtime.GOMAXPROCS(0)
	s := &signatures{key: key, work: make(chan []signed, n)}
	for range n {
		s.wg.Go(s.worker)
	}
	return s
}

// check hands an entry to the workers. It waits if they are all busy.
func (s *signatures) check(e *signed) {
	if s.batch = append(s.batch, *e); len(s.batch) == sigBatch {
		s.work <- s.batch
		s.batch = make([]signed, 0, sigBatch)
	}
}

func (s *signatures) worker() {
	for batch := range s.work {
		for i := range batch {
			if e := &batch[i]; charge.VerifyHash(s.key, e.hash, &e.sig) != nil {
				s.found(e)
			}
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
	s.findings = append(s.findings, Finding{Entry: e.entry, Family: e.family, Seq: e.seq, Rule: charge.Signature, Detail: "the entry is not signed by this ledger's key"})
}

// wait returns the findings once all entries are checked.
func (s *signatures) wait() []Finding {
	s.work <- s.batch
	close(s.work)
	s.wg.Wait()
	return s.findings
}
