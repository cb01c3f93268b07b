package secret

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
