package mcp

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
)

// pieces gives its bytes in pieces of changing sizes.
type pieces struct {
	b    []byte
	seed uint64
}

func (p *pieces) Read(dst []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	p.seed = p.seed*6364136223846793005 + 1442695040888963407
	n := min(len(p.b), len(dst), int(p.seed>>33%17))
	copy(dst, p.b[:n])
	p.b = p.b[n:]
	return n, nil
}

func lines(t *testing.T, r io.Reader, limit int) []Line {
	t.Helper()
	var out []Line
	in := NewReader(r, limit)
	for {
		l, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Raw = bytes.Clone(l.Raw)
		out = append(out, l)
	}
}

// No bytes make the reader panic; lines are the same however the stream is
// cut; a message is what it was when nothing, or everything, in it is edited.
func FuzzReader(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s), uint64(1), 40)
		f.Add([]byte(s), uint64(7), 1<<20)
	}
	f.Add([]byte("\n\r\n  \nx"), uint64(3), 2)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, limit int) {
		limit = max(1, min(limit, 1<<20))
		whole := lines(t, bytes.NewReader(data), limit)
		cut := lines(t, &pieces{data, seed}, limit)
		if len(whole) != len(cut) {
			t.Fatalf("%d lines, in pieces %d", len(whole), len(cut))
		}
		var all []byte
		lost := false
		for i := range whole {
			a, b := whole[i], cut[i]
			if !bytes.Equal(a.Raw, b.Raw) || a.TooLarge != b.TooLarge || a.Cut != b.Cut || !reflect.DeepEqual(a.About, b.About) {
				t.Fatalf("line %d is %+v, in pieces %+v", i, a, b)
			}
			if n := len(bytes.TrimSuffix(a.Raw, []byte("\n"))); n > limit {
				t.Fatalf("a line of %d bytes, over %d", n, limit)
			}
			lost = lost || a.TooLarge
			all = append(all, a.Raw...)
			message(t, a.Raw)
		}
		if !lost && !bytes.Equal(all, data) {
			t.Fatal("the lines together are not the stream")
		}
	})
}

func message(t *testing.T, raw []byte) {
	t.Helper()
	p := Parser{Limits: Limits{MaxBytes: 1 << 20}}
	m, err := p.Parse(raw)
	about := Skim(raw)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Reason == "" || e.Code != CodeParse && e.Code != CodeInvalid {
			t.Fatalf("an error of another kind: %v", err)
		}
		return
	}
	// What is read strictly is found by skimming, unless a key is written
	// with escapes.
	if m.ID != "" && m.ID != NullID && len(about) > 0 && about[0].ID != m.ID {
		t.Fatalf("the id is %s, skimmed %s", m.ID, about[0].ID)
	}
	parts := append([]Part(nil), m.Parts("tools/call")...)
	if out, err := p.Rewrite(m, nil); err != nil || !bytes.Equal(out, raw) {
		t.Fatal("a message without edits is another one")
	}
	edits := map[int]string{}
	for i := range parts {
		if parts[i].ID != i {
			t.Fatal("ids are not places")
		}
		_ = m.Path(&parts[i])
		if !parts[i].Key && parts[i].Opaque == "" {
			edits[i] = parts[i].Text
		}
	}
	method := m.Method
	out, err := p.Rewrite(m, edits)
	if err != nil {
		t.Fatalf("writing the same texts: %v", err)
	}
	q := Parser{}
	again, err := q.Parse(out)
	if err != nil || again.Method != method {
		t.Fatalf("what was written is no message: %v", err)
	}
	for i, now := range again.Parts("tools/call") {
		if now.Text != parts[i].Text || now.Opaque != parts[i].Opaque || now.JSON != parts[i].JSON {
			t.Fatalf("part %d is %q, was %q", i, now.Text, parts[i].Text)
		}
	}
}
