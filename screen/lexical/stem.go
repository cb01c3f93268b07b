package lexical

import (
	"strings"
	"sync"
)

// irregular has the stems of forms that no rule makes: broke, feet. Lines of
// the list such as "break = broke, broken" have them.
var irregular = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(synonyms) {
		if base, forms, ok := strings.Cut(line, "="); ok && line[0] != '#' {
			for w := range strings.SplitSeq(forms, ",") {
				out[strings.TrimSpace(w)] = regular(strings.TrimSpace(base))
			}
		}
	}
	return out
})

// stem takes the endings of inflection from an English word in small letters.
// Words that are derived from each other (allergy, allergic) are a matter of
// the list of synonyms: endings of derivation say too little.
func stem(w string) string {
	if base := irregular()[w]; base != "" {
		return base
	}
	return regular(w)
}

func regular(w string) string {
	if len(w) < 4 || hasDigit(w) {
		return w
	}
	for i := range len(w) {
		if w[i] >= 0x80 {
			return w
		}
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case ends(w, "sses", "shes", "ches", "xes", "zzes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !ends(w, "ss", "us", "is"):
		w = w[:len(w)-1]
	}
	switch {
	case strings.HasSuffix(w, "ied") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ing") && spoken(w[:len(w)-3]):
		w = single(w[:len(w)-3])
	case strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed") && spoken(w[:len(w)-2]):
		w = single(w[:len(w)-2])
	}
	if strings.HasSuffix(w, "e") && len(w) > 4 {
		return w[:len(w)-1]
	}
	return w
}

func ends(w string, endings ...string) bool {
	for _, e := range endings {
		if strings.HasSuffix(w, e) {
			return true
		}
	}
	return false
}

// spoken reports whether a stem has three letters and a vowel, as words do.
func spoken(w string) bool { return len(w) >= 3 && strings.ContainsAny(w, "aeiouy") }

// single takes back the letter that an ending doubled: planning, plan.
func single(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}
