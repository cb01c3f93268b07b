package recognise

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func defaultRules(t testing.TB) *Set {
	t.Helper()
	s, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSamples runs the samples of each rule through the whole set. Every rule of
// this package has some of both kinds.
func TestSamples(t *testing.T) {
	s := defaultRules(t)
	for _, r := range s.Rules() {
		own := samples[r.ID]
		if r.Class != ClassCredential && r.ID != "generic-api-key" && (own.positive == nil || own.negative == nil) {
			t.Errorf("%s: no samples", r.ID)
		}
		for i, sample := range own.positive {
			from := strings.Index(sample, "«")
			to := strings.Index(sample, "»") - len("«")
			text := strings.NewReplacer("«", "", "»", "").Replace(sample)
			for _, around := range [][2]string{{"", ""}, {"Some words before. ", " And some after."}} {
				found := s.Find([]byte(around[0] + text + around[1]))
				ok := slices.ContainsFunc(found, func(m Match) bool {
					return m.Rule.ID == r.ID && m.Start == int64(from+len(around[0])) && m.End == int64(to+len(around[0]))
				})
				if !ok {
					t.Errorf("%s: positive sample %d not found at [%d,%d): %v", r.ID, i, from, to, spans(found))
				}
			}
		}
		for i, sample := range own.negative {
			for _, m := range s.Find([]byte(sample)) {
				if m.Rule.ID == r.ID {
					t.Errorf("%s: negative sample %d found at [%d,%d)", r.ID, i, m.Start, m.End)
				}
			}
		}
	}
}

// TestForgets: what is found depends on the text alone, not on what was read
// before, nor on how many states are kept.
func TestForgets(t *testing.T) {
	rules, err := Credentials()
	if err != nil {
		t.Fatal(err)
	}
	rules = append(append(rules, Discovery()...), Personal()...)
	roomy := defaultRules(t)
	texts := []string{"author = \"james.fake@ymail.com\"", "a.b.c.d.e@f.example.org and 203.0.113.77 4242 4242 4242 4242", "api_key_token_secret_key = m2Xk9vQ4tR7wZ1pL\n"}
	for _, r := range roomy.Rules() {
		for _, p := range slices.Concat(samples[r.ID].positive, samples[r.ID].negative) {
			texts = append(texts, strings.NewReplacer("«", "", "»", "").Replace(p))
		}
	}
	texts = append(texts, strings.Join(texts, " "))
	for _, room := range []int{0, 1000, 20000} {
		tight, err := newSet(rules, room)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			got, want := tight.Find([]byte(text)), roomy.Find([]byte(text))
			if !slices.EqualFunc(got, want, func(a, b Match) bool { return a.Rule.ID == b.Rule.ID && a.Start == b.Start && a.End == b.End }) {
				t.Errorf("room for %d bytes: %v in %q, want %v", room, spans(got), text, spans(want))
			}
		}
	}
}

// The page on how Margay works counts the rules of gitleaks.
func TestNumberOfRules(t *testing.T) {
	rules, err := Credentials()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range rules {
		if rules[i].Class == ClassCredential {
			n++
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-it-works.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), fmt.Sprintf("the %d credential rules of gitleaks and %d of Margay's own", n-len(vendors()), len(vendors()))) {
		t.Errorf("docs/how-it-works.md does not say that there are %d and %d rules", n-len(vendors()), len(vendors()))
	}
}

// Comments that switch scanners off switch nothing off: who can write into a
// text could hide a secret behind one.
func TestCommentsAllowNothing(t *testing.T) {
	s := defaultRules(t)
	for _, r := range s.Rules() {
		for i, sample := range samples[r.ID].positive {
			text := strings.NewReplacer("«", "", "»", "").Replace(sample)
			has := func(text string) bool {
				return slices.ContainsFunc(s.Find([]byte(text)), func(m Match) bool { return m.Rule.ID == r.ID })
			}
			for _, comment := range []string{"# gitleaks:allow", "// gitleaks:allow", "# pragma: allowlist secret", "# trufflehog:ignore", "# nosec", "// noqa", "# margay:allow"} {
				if with := text + " " + comment + "\n"; has(text+" # a word\n") && !has(with) {
					t.Errorf("%s: sample %d is not found before %s", r.ID, i, comment)
				}
				if with := comment + "\n" + text; has("# a word\n"+text) && !has(with) {
					t.Errorf("%s: sample %d is not found behind %s", r.ID, i, comment)
				}
			}
		}
	}
}

func spans(ms []Match) (out []string) {
	for _, m := range ms {
		out = append(out, m.Rule.ID)
	}
	return out
}

// texts draws text that is rich in beginnings of matches.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"password=", "token: ", "api_key = \"", "ghp_", "sk_live_", "AKIA", "eyJ", "-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----",
			"://", "user:", "@host", "key", "secret", " ", "\n", "\"", "'", ";", "é", "\\n", "xoxb-", "Bearer ", "4242 4242 4242 4242", "GB82WEST12345698765432",
			"jane@example.org", "curl -u ", "sourcegraph", "2001:db8:85a3::8a2e:370:7334", "q~", "MIIEowIBAAKCAQEA0Z3VS5JJcds3xf0x",
		}),
		rapid.StringMatching(`[a-zA-Z0-9]{1,40}`),
		rapid.StringMatching(`[a-z ]{1,20}`),
		rapid.StringN(0, 4, 12),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
	})
}

func TestSplit(t *testing.T) {
	s := defaultRules(t)
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(texts().Draw(t, "text"))
		cuts := rapid.SliceOf(rapid.IntRange(0, len(text))).Draw(t, "cuts")
		checkSplit(t, s, text, cuts)
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// checkSplit holds a scanner to its contract under one way of cutting a text.
func checkSplit(t fataler, s *Set, text []byte, cuts []int) {
	t.Helper()
	want := s.Find(text)
	slices.Sort(cuts)
	sc := s.NewScanner()
	var got []Match
	hold, from := int64(0), 0
	step := func() {
		for _, m := range sc.Take(nil) {
			if m.Start < hold && !m.Continues {
				t.Fatalf("match of %s starts at %d, before the hold %d", m.Rule.ID, m.Start, hold)
			}
			if m.End > sc.pos {
				t.Fatalf("match of %s ends at %d, beyond the text read", m.Rule.ID, m.End)
			}
			got = append(got, m)
		}
		h := sc.Hold()
		if h < hold {
			t.Fatalf("hold went back from %d to %d", hold, h)
		}
		if h > sc.pos {
			t.Fatalf("hold %d is beyond the text read", h)
		}
		hold = h
	}
	for _, c := range append(cuts, len(text)) {
		sc.Write(text[from:c])
		from = c
		step()
	}
	sc.Close()
	step()
	order := func(a, b Match) int {
		if a.Start != b.Start {
			return int(a.Start - b.Start)
		}
		if a.End != b.End {
			return int(a.End - b.End)
		}
		return strings.Compare(a.Rule.ID, b.Rule.ID)
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		t.Fatalf("cuts %v: %d matches, uncut: %d", cuts, len(got), len(want))
	}
}

func FuzzSplit(f *testing.F) {
	s := defaultRules(f)
	for _, r := range s.Rules() {
		for _, p := range slices.Concat(samples[r.ID].positive, samples[r.ID].negative) {
			f.Add([]byte(p), uint16(3), uint16(9))
		}
	}
	f.Add([]byte("-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xf0x\nAAAA\n-----END RSA PRIVATE KEY-----\n tail"), uint16(40), uint16(70))
	f.Fuzz(func(t *testing.T, text []byte, a, b uint16) {
		if len(text) > 1<<14 {
			return
		}
		n := len(text) + 1
		checkSplit(t, s, text, []int{int(a) % n, int(b) % n})
	})
}

func TestReset(t *testing.T) {
	s := defaultRules(t)
	text := []byte("DB_PASSWORD=k4Qz!mfp9Lw\n")
	sc := s.NewScanner()
	for range 3 {
		sc.Write(text)
		sc.Close()
		if got := sc.Take(nil); !slices.Equal(got, s.Find(text)) {
			t.Fatalf("after Reset: %v", spans(got))
		}
		sc.Reset()
	}
}

func TestPrivateKey(t *testing.T) {
	s := defaultRules(t)
	body := strings.Repeat("MIIEowIBAAKCAQEA0Z3VS5JJcds3xf0xMIIEowIBAAKCAQEA0Z3VS5JJcds3xf0x\n", 30)
	for name, key := range map[string]string{
		"lines":     "-----BEGIN RSA PRIVATE KEY-----\n" + body + "-----END RSA PRIVATE KEY-----",
		"encrypted": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n" + body + "-----END RSA PRIVATE KEY-----",
		"escaped":   `-----BEGIN PRIVATE KEY-----\n` + strings.ReplaceAll(body, "\n", `\n`) + `-----END PRIVATE KEY-----`,
		"one line":  "-----BEGIN PRIVATE KEY----- " + strings.ReplaceAll(body, "\n", " ") + "-----END PRIVATE KEY-----",
		"pgp":       "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + body + "=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
		"cut off":   "-----BEGIN EC PRIVATE KEY-----\n" + body,
	} {
		t.Run(name, func(t *testing.T) {
			text := "before " + key + "\n. After it."
			if name == "cut off" {
				text = "before " + key
			}
			covered := make([]bool, len(text))
			for _, m := range s.Find([]byte(text)) {
				if m.Rule.ID == PrivateKeyID {
					for i := m.Start; i < m.End; i++ {
						covered[i] = true
					}
				}
			}
			for i := range text {
				in := i >= 7 && i < 7+len(key)
				if covered[i] != in && text[i] != '\n' {
					t.Fatalf("byte %d of %d: covered %v, in the key %v", i, len(text), covered[i], in)
				}
			}
		})
	}
	for _, no := range []string{
		"look for -----BEGIN RSA PRIVATE KEY----- in the file, then go on reading a sentence.",
		`if strings.Contains(s, "-----BEGIN PRIVATE KEY-----") { return errors.New("no") }`,
		"-----BEGIN CERTIFICATE-----\n" + body + "-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\n" + body + "-----END PUBLIC KEY-----",
	} {
		for _, m := range s.Find([]byte(no)) {
			if m.Rule.ID == PrivateKeyID {
				t.Errorf("taken for a private key: %d bytes at %d", m.End-m.Start, m.Start)
			}
		}
	}
}

// TestGrowth: the state of a scanner does not grow with its text.
func TestGrowth(t *testing.T) {
	s := defaultRules(t)
	sc := s.NewScanner()
	line := []byte(strings.Repeat("the key of the token is in the api_key word, and curl \\\n goes on ", 4))
	for range 2000 {
		sc.Write(line)
		sc.Take(nil)
	}
	if cap(sc.win) > 1<<15 || cap(sc.runs) > maxRuns {
		t.Fatalf("window %d bytes, %d runs", cap(sc.win), cap(sc.runs))
	}
}

func BenchmarkScan(b *testing.B) {
	s := defaultRules(b)
	for name, unit := range map[string]string{
		"prose":    "It was the best of times, it was the worst of times, it was the age of wisdom. ",
		"keywords": "the api key and the secret token for auth access: see the password page, key by key. ",
		"base64":   "TWFyZ2F5IGlzIGEgc21hbGwgZm9yZXN0IGNhdCB0aGF0IGNsaW1icyB0cmVlcy4gSXQgZWF0cw0K",
	} {
		text := bytes.Repeat([]byte(unit), 50)
		b.Run(name, func(b *testing.B) {
			sc := s.NewScanner()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				for i := 0; i < len(text); i += 4 {
					sc.Write(text[i:min(i+4, len(text))])
				}
				sc.Take(nil)
			}
		})
	}
}

// TestInProse: a token of a known format is found whatever ends it.
func TestInProse(t *testing.T) {
	s := defaultRules(t)
	token := "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc"
	for _, after := range []string{"", " ", ".", ",", ")", "!", "?", ":", ". Next", "\"", "\n", ";", "]", "}"} {
		ok := slices.ContainsFunc(s.Find([]byte("use "+token+after)), func(m Match) bool { return m.Start == 4 && m.End == int64(4+len(token)) })
		if !ok {
			t.Errorf("not found before %q", after)
		}
	}
}

// TestCrowdForgets: the states that a text has made are discarded, also those that the
// table of the crowd knows.
func TestCrowdForgets(t *testing.T) {
	set, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []string{"jira", "jira", "Jira", "a", "1", "_", ".", "-"}
	var text []byte
	for len(text) < 96<<10 {
		n := len(text) + 46
		for text = append(text, 'b'); len(text) < n; {
			text = append(text, parts[rng.IntN(len(parts))]...)
		}
		text = append(text, ' ')
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	set.Find(text)
	if grown := int64(heap()) - int64(before); grown > 40<<20 {
		t.Errorf("the heap grew by %d MiB; the crowd has %d KiB", grown>>20, set.crowd.Size()>>10)
	}
	runtime.KeepAlive(set)
}
