package ledger_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/store/memory"
)

func TestExportIsSound(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {1, 1}, {10, 1}, {100, 7}, {600, 2}} {
		b := sample(t, c[0], c[1])
		text := export(t, b)
		r := check(t, text, ledger.Check{})
		if len(r.Findings) > 0 || int(r.Entries) != c[0] || int(r.Families) != min(c[0], c[1]) || r.Checkpoint.Entries != r.Entries {
			t.Errorf("%v: %+v", c, r)
		}
		again, err := ledger.Verify(context.Background(), iotest.OneByteReader(bytes.NewReader(text)), ledger.Check{Key: public()})
		if err != nil || len(again.Findings) > 0 {
			t.Errorf("%v, by the byte: %+v, %v", c, again, err)
		}
		head, err := b.Checkpoint(context.Background())
		if err != nil || head.Root != r.Checkpoint.Root || head.Entries != r.Entries {
			t.Errorf("the head is %+v, %v", head, err)
		}
		parsed, err := ledger.ParseCheckpoint("\n" + head.String() + " ")
		if err != nil || *parsed != *head {
			t.Errorf("the head is read as %+v, %v", parsed, err)
		}
	}
}

func TestVerifyReaderFails(t *testing.T) {
	text := export(t, sample(t, 3, 1))
	broken := errors.New("broken")
	if _, err := ledger.Verify(context.Background(), io.MultiReader(bytes.NewReader(text[:100]), iotest.ErrReader(broken)), ledger.Check{Key: public()}); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ledger.Verify(ctx, bytes.NewReader(text), ledger.Check{Key: public()}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := ledger.Verify(ctx, bytes.NewReader(text), ledger.Check{}); err == nil {
		t.Error("verified without a key")
	}
}

// An older export is whole; only a head that was kept tells. One whose history
// was made anew, as after a backup was restored, has other entries under the
// same numbers.
func TestHeads(t *testing.T) {
	b := sample(t, 30, 4)
	older := export(t, b)
	head, err := b.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	grow(t, b, 30, 50, 5)
	newer := export(t, b)
	after, err := b.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	restored := sample(t, 30, 4) // the same, up to here
	grow(t, restored, 100, 140, 4)
	forked := export(t, restored)
	empty, err := newBook(t, memory.New()).Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	unsigned := *head
	unsigned.Sig[3] ^= 1
	for name, c := range map[string]struct {
		text []byte
		head *ledger.Checkpoint
		want charge.Rule
	}{
		"the same": {older, head, ""}, "newer": {newer, head, ""}, "newest": {newer, after, ""}, "empty head": {newer, empty, ""},
		"older": {older, after, ledger.Older}, "shared history": {forked, head, ""}, "forked": {forked, after, ledger.Forked},
		"unsigned head": {newer, &unsigned, charge.Signature},
	} {
		if r := check(t, c.text, ledger.Check{}); len(r.Findings) > 0 {
			t.Errorf("%s: without a head: %v", name, r.Findings)
		}
		r := check(t, c.text, ledger.Check{Head: c.head})
		if c.want == "" && len(r.Findings) > 0 || c.want != "" && (len(r.Findings) != 1 || r.Findings[0].Rule != c.want) {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}

// part is a record of an export.
type part struct {
	at, end int
	kind    byte
	entry   int // counted from 1; of an entry
}

func parts(text []byte) (out []part) {
	entry := 0
	for at := 37; at < len(text); {
		p := part{at: at, end: at + 5 + int(binary.BigEndian.Uint32(text[at+1:])), kind: text[at]}
		if p.kind == 2 {
			entry++
			p.entry = entry
		}
		out, at = append(out, p), p.end
	}
	return out
}

// without is what an attacker who can't seal has to hide from: findings other
// than the broken seal.
func without(rule charge.Rule, fs []ledger.Finding) []ledger.Finding {
	return slices.DeleteFunc(slices.Clone(fs), func(f ledger.Finding) bool { return f.Rule == rule })
}

// flips checks an export with one bit flipped: something is found, besides the
// seal unless it is what only the seal covers, and for an entry's own bytes
// at that entry or, where only its hash tells, at the next.
func flips(t *testing.T, text []byte, ps []part, bitAt int) {
	t.Helper()
	at := bitAt / 8
	i, _ := slices.BinarySearchFunc(ps, at, func(p part, at int) int {
		if p.end <= at {
			return -1
		}
		return 1
	})
	bad := bytes.Clone(text)
	bad[at] ^= 1 << (bitAt % 8)
	var p part
	if at >= 37 {
		p = ps[i]
	}
	inEntry := p.kind == 2 && at >= p.at+13
	near := func(fs []ledger.Finding, next int) bool {
		return slices.ContainsFunc(without(ledger.Seal, fs), func(f ledger.Finding) bool {
			return int(f.Entry) == p.entry || int(f.Entry) == p.entry+next
		})
	}
	r := check(t, bad, ledger.Check{Unsigned: true})
	if inEntry && near(r.Findings, 1) && bitAt%64 != 0 {
		return
	}
	if !inEntry && len(r.Findings) > 0 {
		return
	}
	r = check(t, bad, ledger.Check{})
	if inEntry && !near(r.Findings, 0) || len(r.Findings) == 0 {
		t.Errorf("bit %d, in a record of kind %d, entry %d: %v", bitAt, p.kind, p.entry, r.Findings)
	}
	if arrived := p.kind == 2 && !inEntry; !arrived && p.kind != 5 && len(without(ledger.Seal, r.Findings)) == 0 {
		t.Errorf("bit %d, in a record of kind %d: only the seal tells", bitAt, p.kind)
	}
}

// slow is by how much less is tried where all is slow.
var slow = 1

// times is how often something is tried: the number in an environment
// variable, else few.
func times(t *testing.T, name string, few int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return few / slow
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is no number", name)
	}
	return n
}

// parallel runs f on two goroutines for 0 to n-1.
func parallel(n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

func TestEveryBitOfTen(t *testing.T) {
	text := export(t, sample(t, 10, 2))
	ps := parts(text)
	parallel(8*len(text)/slow, func(i int) { flips(t, text, ps, i*slow) })
}

// MARGAY_TAMPER=100000 tries as many bits of a thousand entries.
func TestSampledBitsOfAThousand(t *testing.T) {
	text := export(t, sample(t, 1000, 20))
	ps := parts(text)
	n := times(t, "MARGAY_TAMPER", 320)
	draw := rand.New(rand.NewPCG(1, 2))
	at := make([]int, n)
	for i := range at {
		at[i] = draw.IntN(8 * len(text))
	}
	parallel(n, func(i int) { flips(t, text, ps, at[i]) })
}

// Who can seal can't say either that an entry arrived before the one that it
// follows: which entries a kept head knows goes by that.
func TestArrivals(t *testing.T) {
	text := export(t, sample(t, 3, 1))
	for _, arrival := range []uint64{0, 1, 1 << 63} {
		bad := bytes.Clone(text)
		for _, p := range parts(text) {
			if p.entry == 2 {
				binary.BigEndian.PutUint64(bad[p.at+5:], arrival)
			}
		}
		r := check(t, bad, ledger.Check{Unsigned: true})
		if !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.Rule == ledger.Arrival && f.Entry == 2 }) {
			t.Errorf("arrived as %d: %v", arrival, r.Findings)
		}
	}
}

// Every record of a thousand entries, and of a few: gone, there twice, moved
// behind the next, or the last one there. What is found has nothing to do
// with the seal.
func TestEveryRecord(t *testing.T) {
	n := times(t, "MARGAY_TAMPER_ENTRIES", 160)
	for _, families := range []int{1, 20} {
		text := export(t, sample(t, n, families))
		ps := parts(text)
		join := func(ps ...[]byte) []byte { return bytes.Join(ps, nil) }
		find := func(what string, i int, bad []byte) {
			r := check(t, bad, ledger.Check{Unsigned: true})
			if len(r.Findings) == 0 {
				t.Errorf("%s record %d of kind %d: %v", what, i, ps[i].kind, r.Findings)
			}
		}
		parallel(len(ps), func(i int) {
			p := ps[i]
			find("deleted", i, join(text[:p.at], text[p.end:]))
			find("doubled", i, join(text[:p.end], text[p.at:p.end], text[p.end:]))
			find("cut before", i, text[:p.at])
			find("cut in", i, text[:(p.at+p.end)/2])
			if i+1 < len(ps) {
				q := ps[i+1]
				find("swapped", i, join(text[:p.at], text[q.at:q.end], text[p.at:p.end], text[q.end:]))
			}
			// An entry of elsewhere, put in or in its place.
			o := ps[(i*7+3)%(len(ps)-1)]
			if !bytes.Equal(text[o.at:o.end], text[p.at:p.end]) {
				find("inserted before", i, join(text[:p.at], text[o.at:o.end], text[p.at:]))
				find("replaced", i, join(text[:p.at], text[o.at:o.end], text[p.end:]))
			}
		})
	}
}

func TestEveryTruncation(t *testing.T) {
	text := export(t, sample(t, 10, 2))
	parallel(len(text), func(i int) {
		if r := check(t, text[:i], ledger.Check{Unsigned: true}); len(r.Findings) == 0 {
			t.Errorf("cut at %d: nothing is found", i)
		}
	})
}

// What is found says where and how.
func TestFindingsPoint(t *testing.T) {
	text := export(t, sample(t, 40, 2))
	ps := parts(text)
	cut := func(from, to int) []byte { return append(bytes.Clone(text[:ps[from].at]), text[ps[to].at:]...) }
	for name, c := range map[string]struct {
		text  []byte
		entry uint64
		rule  charge.Rule
		wants string
	}{
		"first deleted":    {cut(1, 2), 1, charge.Sequence, "entry 1 (family F000, number 2): sequence: entry 2 comes after entry 0"},
		"middle deleted":   {cut(5, 6), 5, charge.Sequence, "entry 5 (family F000, number 6): sequence: entry 6 comes after entry 4"},
		"last deleted":     {cut(20, 21), 19, ledger.Ending, "family F000 ends with entry 19, but its head is entry 20"},
		"family deleted":   {cut(21, 42), 0, ledger.Anchor, "the checkpoint is of 40 entries of 2 families, the export has 20 of 1"},
		"rubric deleted":   {cut(42, 43), 0, ledger.Rubrics, "is missing, but entries name it"},
		"cut":              {text[:ps[30].at], 0, ledger.Framing, "it is cut short behind entry 28"},
		"all but the head": {nil, 0, ledger.Framing, "it is cut short behind entry 0"},
	} {
		r := check(t, c.text, ledger.Check{})
		i := slices.IndexFunc(r.Findings, func(f ledger.Finding) bool { return f.Rule == c.rule })
		if i < 0 || r.Findings[i].Entry != c.entry || !bytes.Contains([]byte(r.Findings[i].String()), []byte(c.wants)) {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
	// Made under another key, whole in itself.
	r := check(t, text, ledger.Check{Key: make([]byte, 32)})
	if len(r.Findings) < 42 || r.Findings[len(r.Findings)-1].Entry != 0 {
		t.Errorf("under another key: %d findings", len(r.Findings))
	}
}

// Reports are bounded, whatever is in the export.
func TestFindingsAreBounded(t *testing.T) {
	r := check(t, export(t, sample(t, 1200, 1)), ledger.Check{Key: make([]byte, 32)})
	if len(r.Findings) != 1000 || r.More < 200 {
		t.Errorf("%d findings and %d more", len(r.Findings), r.More)
	}
}

// A rubric that no entry names is as wrong as one that is missing.
func TestRubrics(t *testing.T) {
	text := export(t, sample(t, 3, 1))
	ps := parts(text)
	other := []byte("\x03\x00\x00\x00\x05other")
	r := check(t, slices.Concat(text[:ps[4].at], other, text[ps[4].at:]), ledger.Check{})
	if !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.Rule == ledger.Rubrics }) {
		t.Error(fmt.Sprint(r.Findings))
	}
}

// What Judge says of an entry is a finding about it, and the entries after it are
// judged on.
func TestJudge(t *testing.T) {
	text := export(t, sample(t, 12, 3))
	var seen []string
	r := check(t, text, ledger.Check{Judge: func(before *charge.State, e *charge.Entry) error {
		if before.Seq+1 != e.Seq || before.Family != e.Family || before.Head != e.Prev {
			t.Errorf("entry %d of %s is judged behind entry %d of %s", e.Seq, e.Family, before.Seq, before.Family)
		}
		seen = append(seen, fmt.Sprint(e.Family, e.Seq))
		if e.Family == "F001" && e.Seq == 2 {
			return charge.Rule("price").Errorf("it is too cheap")
		}
		return nil
	}})
	if len(seen) != 12 || len(r.Findings) != 1 {
		t.Fatalf("%v, %v", seen, r.Findings)
	}
	if f := &r.Findings[0]; f.Entry != 6 || f.Seq != 2 || f.Family != "F001" || f.Rule != "price" || f.Detail != "it is too cheap" {
		t.Errorf("%+v", f)
	}
}

// RubricsOf finds the rubrics of an export, and none of what is no export.
func TestRubricsOf(t *testing.T) {
	text := export(t, sample(t, 4, 2))
	read := ledger.RubricsOf(bytes.NewReader(text))
	for _, want := range []string{"a rubric", "another"} {
		if b, err := read(sha256.Sum256([]byte(want))); err != nil || string(b) != want {
			t.Errorf("%q: %q %v", want, b, err)
		}
	}
	if _, err := read(charge.Hash{1}); !errors.Is(err, charge.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	for n := range text { // cut short, and with any length of a record
		b, err := ledger.RubricsOf(bytes.NewReader(text[:n]))(sha256.Sum256([]byte("a rubric")))
		if err == nil && string(b) != "a rubric" {
			t.Fatalf("%d bytes: %q", n, b)
		}
		long := bytes.Clone(text)
		long[n] = 0xff
		if b, err = ledger.RubricsOf(bytes.NewReader(long))(sha256.Sum256([]byte("a rubric"))); err == nil && string(b) != "a rubric" {
			t.Fatalf("byte %d: %q", n, b)
		}
	}
}
