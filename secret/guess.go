package secret

import "strings"

// guessBits estimates how hard a value is to guess: random characters count
// by the size of their alphabet, digits 3.3 bits, pronounceable runs of
// letters two bits a letter (near the entropy rate of English), repetitions
// of one character nothing.
func guessBits(value []byte) float64 {
	var total float64
	for i := 0; i < len(value); {
		j := i + 1
		cls := charClass(value[i])
		for j < len(value) && charClass(value[j]) == cls {
			j++
		}
		total += runBits(value[i:j], cls)
		i = j
	}
	return total
}

func charClass(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c >= 'a' && c <= 'z':
		return 'l'
	case c >= 'A' && c <= 'Z':
		return 'u'
	}
	return 'p'
}

func runBits(run []byte, cls byte) float64 {
	distinct := map[byte]bool{}
	for _, c := range run {
		distinct[c] = true
	}
	n := float64(len(run))
	if len(distinct) == 1 && len(run) > 2 {
		n = 2
	}
	switch cls {
	case 'd':
		return 3.3 * n
	case 'p':
		return 4 * n
	}
	if len(run) >= 3 && pronounceable(run) {
		return 2 * n
	}
	return 4.7 * n
}

// pronounceable reports whether a run of letters of one case has vowels about
// as English has them: a word, or easily taken for one.
func pronounceable(run []byte) bool {
	cluster, longest, vowels := 0, 0, 0
	for _, c := range run {
		switch c | 0x20 {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			vowels++
			cluster = 0
		default:
			cluster++
			longest = max(longest, cluster)
		}
	}
	return longest <= 4 && vowels*5 >= len(run)
}

// fragmentBits estimates how rare text is in a background of ordinary text and
// code. It is stricter than guessBits about what is common there: words, those
// of addresses above all, and sequences. Characters of several classes in
// turn, on the other hand, are no words.
func fragmentBits(text []byte) float64 {
	var total float64
	turns, odd := 0, false
	for i := 0; i < len(text); {
		if n := commonWord(text[i:]); n > 0 {
			total += 5
			i += n
			continue
		}
		j := i + 1
		cls := charClass(text[i])
		for j < len(text) && charClass(text[j]) == cls && commonWord(text[j:]) == 0 {
			j++
		}
		total += rarity(text[i:j], cls)
		turns++
		for _, c := range text[i:j] {
			odd = odd || cls != 'd' && c|0x20 > 'f'
		}
		i = j
	}
	switch {
	case turns*3 < len(text):
		return total
	case odd:
		return max(total, 5*float64(len(text)))
	default: // it may be hexadecimal
		return max(total, 4*float64(len(text)))
	}
}

// rarity is the share of one run of a class.
func rarity(run []byte, cls byte) float64 {
	steps := 0
	for k := 1; k < len(run); k++ {
		if d := int(run[k]) - int(run[k-1]); d >= -1 && d <= 1 {
			steps++
		}
	}
	switch {
	case len(run) > 3 && 2*steps > len(run):
		return 4 + float64(len(run)-1)
	case (cls == 'l' || cls == 'u') && len(run) >= 3 && pronounceable(run):
		return 1.5 * float64(len(run))
	}
	return runBits(run, cls)
}

// common are words of addresses and settings that stand in many secrets and
// in everything else, in lower case, by length.
var common = func() (t [16][]string) {
	for _, w := range strings.Fields(`
		http https www com org net io dev api app svc sql db aws gcp cdn ssh tcp tls ssl ftp smtp imap amqp grpc json xml
		localhost postgres postgresql mysql mongodb redis rabbitmq kafka admin root user username password passwd
		token secret key apikey access private public internal external example test prod production staging
		service services server client cluster host port mode require disable sslmode hooks webhook endpoint
		begin end rsa certificate bearer basic auth oauth account config default database queue cache storage
		amazonaws google github gitlab slack stripe azure windows blob core`) {
		t[len(w)] = append(t[len(w)], w)
	}
	return t
}()

// commonWord returns the length of the longest common word of at least three
// letters, in one case, that text begins with.
func commonWord(text []byte) int {
	for n := min(len(text), len(common)-1); n >= 3; n-- {
		for _, w := range common[n] {
			if string(text[:n]) == w || text[0] < 'a' && strings.EqualFold(string(text[:n]), w) {
				return n
			}
		}
	}
	return 0
}
