// Package address says what a host names: this machine, a cloud's metadata
// service, its network, or somewhere else. It asks no resolver.
//
// Programs read hosts differently: 127.0.0.1 is also 127.1, 0x7f000001,
// 0177.0.0.1, 2130706433, [::ffff:7f00:1] or １２７。０。０。１. Of takes the worst of
// all readings, for checks that refuse or ask. Here takes only what every
// program reads as this machine, for checks that grant something.
package address

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Kind is what a host names. Later kinds are worse to reach by mistake.
type Kind uint8

// Kinds.
const (
	Public   Kind = iota // or a name that only a resolver can judge
	Unclear              // written as programs read it differently, or not a host
	Network              // of this machine's network: private, link-local, shared
	Metadata             // a cloud's service that gives out credentials
	Loopback             // this machine
)

// metadata are the services of the clouds, and names that lead to them.
var (
	metadata = addresses("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254")
	metadataNames = []string{"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.packet.net"}
)

// network are ranges besides those that net/netip knows.
var network = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "fec0::/10", "64:ff9b:1::/48")

// networkNames are suffixes of names that only local resolvers know.
var networkNames = []string{".local", ".internal", ".localdomain", ".lan", ".intranet", ".home.arpa"}

func addresses(list ...string) (out []netip.Addr) {
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func prefixes(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// OfAddr says what an address names. Addresses that carry an IPv4 address are
// also what that one names.
func OfAddr(a netip.Addr) Kind {
	a = a.WithZone("").Unmap()
	worst := plain(a)
	for _, v4 := range carried(a) {
		worst = max(worst, plain(v4))
	}
	return worst
}

func plain(a netip.Addr) Kind {
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	switch {
	case !a.IsValid():
		return Unclear
	case a.IsLoopback() || a.IsUnspecified(): // connections to the latter arrive here
		return Loopback
	case slices.Contains(metadata, a):
		return Metadata
	case a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || slices.ContainsFunc(network, in):
		return Network
	}
	return Public
}

// carried returns the IPv4 addresses in an IPv6 address: IPv4-compatible and
// translated ones, NAT64, 6to4, Teredo and ISATAP.
func carried(a netip.Addr) (out []netip.Addr) {
	if !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return nil
	}
	b := a.As16()
	at := func(i int, mask byte) {
		out = append(out, netip.AddrFrom4([4]byte{b[i] ^ mask, b[i+1] ^ mask, b[i+2] ^ mask, b[i+3] ^ mask}))
	}
	zero := func(from, to int) bool { return !slices.ContainsFunc(b[from:to], func(c byte) bool { return c != 0 }) }
	starts := func(list ...byte) bool { return string(b[:len(list)]) == string(list) }
	switch {
	case zero(0, 12), zero(0, 8) && b[8] == 0xff && b[9] == 0xff && zero(10, 12), starts(0, 0x64, 0xff, 0x9b), string(b[9:12]) == "\x00\x5e\xfe":
		at(12, 0)
	case starts(0x20, 0x02):
		at(2, 0)
	case starts(0x20, 0x01, 0, 0):
		at(4, 0)
		at(12, 0xff)
	}
	return out
}

// Of says what a host of a URL or a header names, in every spelling: without a
// port, with or without brackets.
func Of(host string) Kind {
	h := strings.ReplaceAll(strings.ToLower(norm.NFKC.String(host)), "。", ".")
	if bare := strings.Trim(h, "[]"); bare != h {
		h = bare
		if !strings.Contains(h, ":") { // brackets are for IPv6
			return max(Unclear, Of(h))
		}
	}
	if strings.Contains(h, ":") {
		a, err := netip.ParseAddr(h)
		if err != nil {
			return Unclear
		}
		return OfAddr(a)
	}
	h = strings.TrimRight(h, ".")
	if a, err := netip.ParseAddr(h); err == nil {
		return OfAddr(a)
	}
	if worst, ok := numeric(h); ok {
		return worst
	}
	return named(h)
}

func named(h string) Kind {
	ends := func(suffix string) bool { return strings.HasSuffix(h, suffix) }
	switch {
	case h == "" || strings.HasPrefix(h, ".") || strings.ContainsFunc(h, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && !unicode.In(r, unicode.L, unicode.M, unicode.Nd)
	}):
		return Unclear
	case h == "localhost" || ends(".localhost") || h == "localhost.localdomain" || h == "ip6-localhost" || h == "ip6-loopback":
		return Loopback
	case slices.Contains(metadataNames, h):
		return Metadata
	case !strings.Contains(h, ".") || slices.ContainsFunc(networkNames, ends):
		return Network
	}
	return Public
}

// numeric reads a host as inet_aton and browsers do: up to four numbers in
// decimal, octal or hexadecimal, the last of which fills what is left. Numbers
// with a leading zero are read in both ways, and numbers that are too large are
// cut. ok is false for a name.
func numeric(h string) (worst Kind, ok bool) {
	parts := strings.Split(h, ".")
	last := parts[len(parts)-1]
	if _, isNumber := number(last, 10); !isNumber && strings.Trim(last, "0123456789") != "" {
		return Public, false
	}
	worst = Unclear
	for _, base := range []int{8, 10} {
		if a, _, ok := quad(parts, base); ok {
			worst = max(worst, OfAddr(a))
		}
	}
	return worst, true
}

// quad is the address of numbers; those with a leading zero have the base. fits:
// none of them was cut.
func quad(parts []string, base int) (a netip.Addr, fits, ok bool) {
	if len(parts) > 4 {
		return a, false, false
	}
	var sum uint64
	fits = true
	for i, s := range parts {
		n, ok := number(s, base)
		if !ok {
			return a, false, false
		}
		below := 8 * (3 - i) // bits behind this number
		most := uint64(0xff)
		if i == len(parts)-1 {
			most, below = 1<<(below+8)-1, 0
		}
		fits = fits && n <= most
		sum |= n & most << below
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), fits, true
}

func number(s string, zero int) (uint64, bool) {
	base := 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		if s, base = hex, 16; hex == "" {
			return 0, true
		}
	} else if len(s) > 1 && s[0] == '0' {
		base = zero
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// Here reports whether every program reads a host as this machine.
func Here(host string) bool {
	h := strings.ToLower(host)
	if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") {
		h = h[1 : len(h)-1]
	}
	if strings.Contains(h, ":") {
		a, err := netip.ParseAddr(h)
		return err == nil && a.Zone() == "" && a.Unmap().IsLoopback()
	}
	h = strings.TrimSuffix(h, ".")
	if h == "localhost" {
		return true
	}
	parts := strings.Split(h, ".")
	octal, fits, ok := quad(parts, 8)
	decimal, _, ok2 := quad(parts, 10)
	return ok && ok2 && fits && octal == decimal && octal.IsLoopback()
}

// Odd reports whether a host is an address that programs read differently. A
// configuration should not have one.
func Odd(host string) bool {
	h := strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(h); err == nil {
		return false
	}
	if _, isNumber := numeric(strings.TrimRight(strings.ToLower(norm.NFKC.String(strings.ReplaceAll(h, "。", "."))), ".")); isNumber {
		return true
	}
	return Of(host) == Unclear
}

// OfURL says what the host of a URL names, as the most careless client reads it.
// What is not an http or websocket URL, or has a user part, is at least Unclear;
// a URL may lack its scheme.
func OfURL(s string) Kind {
	floor := Public
	clean := strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }))
	rest := strings.ReplaceAll(clean, `\`, "/")
	if rest != s {
		floor = Unclear
	}
	if rest == "about:blank" {
		return floor
	}
	if scheme, after, ok := strings.Cut(rest, ":"); ok && !strings.ContainsAny(scheme, "/?#[@.") {
		switch strings.ToLower(scheme) {
		case "http", "https", "ws", "wss":
			rest = after
		default:
			if after == "" || after[0] < '0' || after[0] > '9' { // no port either
				return Unclear
			}
		}
	}
	rest = strings.TrimLeft(rest, "/")
	before, _, _ := strings.Cut(rest, "/")
	if strings.Contains(before, "@") {
		floor = Unclear
	}
	host, _, _ := strings.Cut(before, "?")
	host, _, _ = strings.Cut(host, "#")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') && strings.Count(host, ":") == 1 || i > 0 && host[i-1] == ']' {
		host = host[:i]
	}
	if strings.Contains(host, "%") {
		floor = Unclear
		if plain, err := url.PathUnescape(host); err == nil {
			host = plain
		}
	}
	return max(floor, Of(host))
}
