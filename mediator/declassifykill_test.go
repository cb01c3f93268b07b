package mediator_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/sqlite"
)

const (
	releaseChild = "MARGAY_TEST_RELEASES"
	// perDate is what a date of birth costs at least, of all days of 80 years.
	perDate = 14 * flow.Bit
)

var ampleRubric = strings.Replace(tripRubric, "limits: {budget: 120, caps: {required-service: 80,", "limits: {budget: 1000000, caps: {required-service: 1000000,", 1)

// releaseForever makes calls from several goroutines, in trajectories of their
// own and in one that all share, and prints what each lets out as it would be
// sent, until it is killed.
func releaseForever(t *testing.T, path string) {
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Busy: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	e := tripOn(t, store, ampleRubric, nil, nil)
	start, _ := strconv.Atoi(os.Getenv(releaseChild + "_FROM"))
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := start; ; i++ {
				id := fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ69G5FA%d", w)
				if i%3 == 0 {
					id = "01ARZ3NDEKTSV4RRFFQ69G5FAZ"
				}
				day := time.Date(1931, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, (i*6+w)%20000)
				s, err := e.Session(context.Background(), &mediator.SessionRequest{Caller: "c", Trajectory: id})
				if err != nil {
					fmt.Println("failed:", err)
					return
				}
				c, r := s.Call(context.Background(), flow.ToolCall{Name: "book", Arguments: `{"passengers":[{"dob":"` + day.Format(time.DateOnly) + `"}]}`})
				if r.Denied() {
					fmt.Println("denied:", r.Decision.Reasons)
					return
				}
				fmt.Println("sent:", id, c.Arguments)
			}
		})
	}
	wg.Wait()
	os.Exit(1)
}

// However the mediator is killed, there is no byte sent whose charge is not in
// the ledger: what was sent is looked for in the texts, and what it costs at
// least in the ledger, which is sound. MARGAY_KILLS=500 kills as often.
func TestDeclassifyKilled(t *testing.T) {
	if path := os.Getenv(releaseChild); path != "" {
		releaseForever(t, path)
	}
	kills := 10
	if text := os.Getenv("MARGAY_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal("MARGAY_KILLS is no number")
		}
	}
	draw := rand.New(rand.NewPCG(uint64(kills), 5))
	var path string
	dates := map[string]map[string]bool{} // by trajectory
	releases := map[string]int{}
	total := 0
	for round := range kills {
		if round%10 == 0 { // or checking takes longer and longer
			path = filepath.Join(t.TempDir(), "margay.db")
			clear(dates)
			clear(releases)
		}
		total += kill(t, path, round*400, 1+draw.IntN(60), draw, dates, releases)
		charged(t, path, dates, releases)
		if t.Failed() {
			t.Fatalf("after kill %d", round)
		}
	}
	if total < kills*5 {
		t.Errorf("%d releases in %d kills are no load", total, kills)
	}
	t.Logf("%d kills; %d releases were sent, and the charges of all are there", kills, total)
}

// kill runs a child and kills it behind so many releases, or at a random time
// before.
func kill(t *testing.T, path string, from, behind int, draw *rand.Rand, dates map[string]map[string]bool, releases map[string]int) (n int) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestDeclassifyKilled$")
	cmd.Env = append(os.Environ(), releaseChild+"="+path, releaseChild+"_FROM="+strconv.Itoa(from))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if draw.IntN(4) == 0 {
		timer := time.AfterFunc(time.Duration(1+draw.IntN(300))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var id, args string
		if k, _ := fmt.Sscanf(lines.Text(), "sent: %s %s", &id, &args); k != 2 {
			if !strings.HasPrefix(lines.Text(), "sent:") {
				t.Errorf("the child said %q", lines.Text())
			}
			continue
		}
		releases[id]++
		if at := strings.Index(args, `"dob":"19`); at >= 0 && len(args) >= at+17 {
			if dates[id] == nil {
				dates[id] = map[string]bool{}
			}
			dates[id][args[at+7:at+17]] = true
		}
		if n++; n == behind {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return n
}

// charged checks the ledger and holds what was sent to it.
func charged(t *testing.T, path string, dates map[string]map[string]bool, releases map[string]int) {
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: ed25519.NewKeyFromSeed(make([]byte, 32))})
	if err != nil {
		t.Fatal(err)
	}
	var export bytes.Buffer
	if _, err := book.Export(t.Context(), &export); err != nil {
		t.Fatal(err)
	}
	report, err := ledger.Verify(t.Context(), &export, ledger.Check{Key: book.Public()})
	if err != nil || len(report.Findings) > 0 {
		t.Fatalf("%v %v", err, report.Findings)
	}
	for id, n := range releases {
		s, err := book.Head(t.Context(), flow.TrajectoryID(id))
		if err != nil {
			t.Fatal(err)
		}
		if least := flow.Bits(len(dates[id])) * perDate; int(s.Seq) < n || s.Caps[1] < least {
			t.Errorf("%s: %d releases of %d dates were sent; the ledger has %d, and %v of at least %v", id, n, len(dates[id]), s.Seq, s.Caps[1], least)
		}
	}
}
