package address

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

// spell writes an IPv4 address in one of the ways in which some program reads it.
func spell(r *rand.Rand, a netip.Addr) string {
	b := a.As4()
	v := uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])
	one := func(n uint64) string {
		switch r.IntN(4) {
		case 0:
			return "0" + strings.Repeat("0", r.IntN(3)) + strconv.FormatUint(n, 8)
		case 1:
			return []string{"0x", "0X"}[r.IntN(2)] + strings.Repeat("0", r.IntN(3)) + strconv.FormatUint(n, 16)
		}
		return strconv.FormatUint(n, 10)
	}
	parts := 1 + r.IntN(4)
	var out []string
	for i := range parts - 1 {
		out = append(out, one(uint64(b[i])))
	}
	s := strings.Join(append(out, one(v&(1<<(8*(5-parts))-1))), ".")
	if r.IntN(4) == 0 {
		s += "."
	}
	if r.IntN(3) == 0 {
		s = strings.ToUpper(s)
	}
	if r.IntN(4) == 0 { // as a browser folds it
		s = strings.Map(func(c rune) rune {
			switch {
			case c >= '0' && c <= '9' && r.IntN(2) == 0:
				return c - '0' + '０'
			case c == '.' && r.IntN(2) == 0:
				return []rune{'。', '．', '｡'}[r.IntN(3)]
			}
			return c
		}, s)
	}
	return s
}

// spell6 writes an IPv4 address as one of IPv6 that carries it.
func spell6(r *rand.Rand, a netip.Addr) string {
	b := a.As4()
	h := func(i, j int) uint16 { return uint16(b[i])<<8 | uint16(b[j]) }
	tail := fmt.Sprintf("%x:%x", h(0, 1), h(2, 3))
	if r.IntN(2) == 0 {
		tail = a.String()
	}
	s := [...]string{
		"::ffff:" + tail, "0:0:0:0:0:ffff:" + tail, "0000:0000:0000:0000:0000:FFFF:" + tail, "::" + tail, "::ffff:0:" + tail,
		"64:ff9b::" + tail, fmt.Sprintf("2002:%x:%x::1", h(0, 1), h(2, 3)), fmt.Sprintf("2001:0:%x:%x::1", h(0, 1), h(2, 3)),
		fmt.Sprintf("2001::4136:e378:8000:63bf:%x:%x", ^h(0, 1), ^h(2, 3)), "2001:db8::200:5efe:" + tail,
	}[r.IntN(10)]
	if r.IntN(2) == 0 {
		s = strings.ToUpper(s)
	}
	return "[" + s + "]"
}

// TestSpellings: every spelling of an address has the kind of the address, also
// inside a URL.
func TestSpellings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	in := func(from string, bits int) netip.Addr {
		b := netip.MustParseAddr(from).As4()
		for i := bits; i < 32; i++ {
			b[i/8] |= byte(r.IntN(2)) << (7 - i%8)
		}
		return netip.AddrFrom4(b)
	}
	for range 2000 {
		for _, c := range []struct {
			a    netip.Addr
			want Kind
		}{
			{in("127.0.0.0", 8), Loopback},
			{in("0.0.0.0", 32), Loopback},
			{in("169.254.169.254", 32), Metadata},
			{in("100.100.100.200", 32), Metadata},
			{in("169.254.0.0", 17), Network},
			{in("100.64.0.0", 11), Network},
			{in("10.0.0.0", 8), Network},
			{in("192.168.0.0", 16), Network},
			{in("172.16.0.0", 12), Network},
		} {
			for _, host := range []string{spell(r, c.a), spell6(r, c.a)} {
				if got := Of(host); got < c.want {
					t.Fatalf("%s is %s: kind %d, want %d", host, c.a, got, c.want)
				}
				for _, u := range []string{"http://" + host, "HTTPS:/" + host + ":80/a", host + "/x", `http:\\` + host + `\x`, "https://user:x@" + host, " http://" + host + "?x@y", "//" + host + "#a", "ht\ntp://" + host} {
					if got := OfURL(u); got < c.want {
						t.Fatalf("%q is %s: kind %d, want %d", u, c.a, got, c.want)
					}
				}
			}
		}
		if a := in("93.0.0.0", 8); OfAddr(a) != Public || Of(a.String()) != Public || OfURL("https://"+a.String()+":8443/x") != Public || Here(spell(r, a)) || Here(a.String()) {
			t.Fatalf("%s is not public", a)
		}
	}
}

// TestKinds are names, other addresses and what is no host.
func TestKinds(t *testing.T) {
	for want, hosts := range [][]string{
		Public:   {"example.com", "EXAMPLE.com.", "bücher.example", "1.1.1.1", "2606:4700::1111", "x-1.y_2.example", "127.example", "0x7f.example", "localhost.example"},
		Unclear:  {"", ".", "a b", "x@y.example", "1.2.3.4.5", "08.8.8.8", "999999999999", "[v1.x]", "::g", "a..b/c", "<x>"},
		Network:  {"printer", "db.internal", "nas.local", "fe80::1", "FE80::1%eth0", "[fe80::1%25eth0]", "fd12::1", "fec0::1", "64:ff9b:1::1", "ff02::1", "224.0.0.1", "255.255.255.255"},
		Metadata: {"metadata.google.internal", "METADATA.google.internal.", "fd00:ec2::254", "[FD00:0ec2:0::0254]", "instance-data"},
		Loopback: {"localhost", "LOCALHOST", "LocalHost.", "a.localhost", "::1", "[::1]", "0:0:0:0:0:0:0:1", "::", "[::1%lo]", "127.0.0.1", "０x７f.１", "ⓛocalhost"},
	} {
		for _, h := range hosts {
			if got := Of(h); got != Kind(want) {
				t.Errorf("%q: kind %d, want %d", h, got, want)
			}
		}
	}
	for _, s := range []string{"file:///etc/passwd", "ftp://x.example", "data:text/html,x", "javascript:alert(1)", "https://a@b.example", "https://x.example@1.1.1.1/", "http://%31%32%37.1/", "https://", "mailto:x@y.example", "gopher:x"} {
		if OfURL(s) == Public {
			t.Errorf("%q is public", s)
		}
	}
	for _, s := range []string{"https://x.example/a@b", "x.example", "http://x.example:8080/?a=1", "x.example:443/path", "wss://x.example", "https://[2606:4700::1111]:443/"} {
		if got := OfURL(s); got != Public {
			t.Errorf("%q: kind %d", s, got)
		}
	}
}

// TestHere: a check that grants something takes no spelling that another
// program may read as another machine.
func TestHere(t *testing.T) {
	for _, h := range []string{"localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.9.9.9", "127.1", "0x7f.1", "0x7F000001", "2130706433", "::1", "[::1]", "::ffff:127.0.0.1", "[::ffff:7f00:1]", "0:0:0:0:0:0:0:1", "127.0.0.1."} {
		if !Here(h) {
			t.Errorf("%q is not here", h)
		}
	}
	for _, h := range []string{"", "0.0.0.0", "::", "0177.0.0.1", "0127.0.0.1", "127.256.1", "4294967296", "6425673729", "::127.0.0.1", "64:ff9b::7f00:1", "localhost.example", "a.localhost", "127.0.0.1.example", "1.2.3.4.5.6", "127.0.0.1:80", "[127.0.0.1", "127..1", "::1.", "[::1].", "[127.0.0.1].x", "::1%.", "::1%lo", "[::1%]]"} {
		if Here(h) {
			t.Errorf("%q is here", h)
		}
	}
	for h, odd := range map[string]bool{"127.0.0.1": false, "::1": false, "[::1]": false, "localhost": false, "x.example": false, "127.1": true, "0x7f000001": true, "0177.0.0.1": true, "2130706433": true, "08.1.1.1": true, "１27.0.0.1": true, "a b": true} {
		if Odd(h) != odd {
			t.Errorf("%q: odd is %v", h, !odd)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{"127.1", "[::1]:80", "http://a@b/", "0x.0x.0x.0x", "%", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if OfURL(s); Here(s) && Of(s) != Loopback {
			t.Errorf("%q is here, and its kind is %d", s, Of(s))
		}
	})
}
