package plausible

import (
	"strings"
	"testing"
)

func TestNameOf(t *testing.T) {
	for before, want := range map[string]struct {
		words  string
		sep    byte
		public bool
	}{
		"INFO x: HARBOR_CACHE_KEY=":            {"harbor cache key", '=', true},
		`  "harborApiKeyId": "`:                {"harbor api key id", ':', true},
		"export HARBOR_API_KEY='":              {"export harbor api key", '=', false},
		"10:02 INFO harbor_session_id -> ":     {"02 info harbor session id", '>', false},
		" harbor_token    | ":                  {"harbor token", '|', false},
		"The harbor publishable key 5 is ":     {"the harbor publishable key 5", 0, true},
		"`harbor_key_id` is `":                 {"harbor key id", 0, true},
		"the harbor api key turned out to be ": {"the harbor api key", 0, false},
		"a.b = c; harbor.primary-key := ":      {"harbor primary key", '=', true},
		"password_hash: ":                      {"password hash", ':', false},
		"PASSWORD_MIN_LENGTH=":                 {"password min length", '=', true},
		"next_page_token: ":                    {"next page token", ':', true},
		"HARBOR_KEY_OLD_2=":                    {"harbor key old 2", '=', false},
		"":                                     {"", 0, false},
		"=":                                    {"", '=', false},
	} {
		n := nameOf([]byte(before))
		if got := strings.Join(n.words, " "); got != want.words || n.sep != want.sep || n.public() != want.public {
			t.Errorf("%q: words %q, separator %q, public %v", before, got, n.sep, n.public())
		}
	}
}

func TestDrawn(t *testing.T) {
	for _, v := range []string{"Xk9vQ4tR7wZ1pLm2", "harbor_live_Xk9vQ4tR7wZ1pLm2", "bG9%kd2Lm!xQ", "hb.Zq81LtVw0xKd9PmsTa"} {
		if !Drawn([]byte(v)) {
			t.Errorf("%q is drawn", v)
		}
	}
	for _, v := range []string{
		"", "Xk9vQ", "getHttp2ServerURLForTest", "9b1f03c7a2e45d68b7c01f29d3e45a61", "9476c8ce-2d51-4dee-b246-d89a9a0d8771",
		"harbor-1.29.6+ee27bee5", "velvet_harbor7", "VelvetHarborTangerine", "HARBOR_CONFIG_PATH_2", "AKIAIOSFODNN7HARBOR", "2024-05-06T10:11:12Z",
	} {
		if Drawn([]byte(v)) {
			t.Errorf("%q is not drawn", v)
		}
	}
}

// Every list that the code asks for is in words.txt, and no other.
func TestLists(t *testing.T) {
	asked := []func() map[string]bool{
		accessors, codeWords, electronics, functionWords, identifying, notSecret, publicKeys, publicTokens, references, secretWords, trailing, verbs,
	}
	for i, list := range asked {
		if len(list()) == 0 {
			t.Errorf("list %d is empty", i)
		}
	}
	if len(asked) != len(lists()) {
		t.Errorf("%d lists are asked for, words.txt has %d", len(asked), len(lists()))
	}
}

// Addresses without a user and regions of clouds are public, whatever name stands
// before them; what only begins like one is not. Words that are put together to one
// that is longer than names are shaped like a password.
func TestPublished(t *testing.T) {
	for v, public := range map[string]bool{
		"amqp://mq-01.example.internal/orders": true, "postgres://db.example:5432/x": true, "redis://localhost:6379/0": true, "kafka://broker:9092": true,
		"eu-central-1": true, "us-gov-west-1": true, "ap-southeast-2b": true,
		"amqp://Xk9vQ4tR7wZ1": false, "nats://Xk9vQ4tR7wZ1pLm2Uc8s4": false, "redis://:Xk9vQ4tR7wZ1pL": false, "s3://bucket/Xk9vQ4tR7wZ1": false,
		"postgres://h/db&password=Xk9vQ4": false, "postgres://app:x/Yz9": false, "redis://db.example/Xk9vQ4tR7wZ1pLm2": false, "mysql://db.example#Xk9v": false,
		"eu-central-1x9": false, "us-password-1": false,
	} {
		if published().Match([]byte(v)) != public {
			t.Errorf("%s: public %v", v, !public)
		}
	}
	before := []byte("HARBOR_HANDSHAKE=")
	for v, shaped := range map[string]bool{"harbortangerinevelvetlantern": true, "storageaccountproduction": false, "internationalisation": false} {
		if Shaped(before, []byte(v)) != shaped {
			t.Errorf("%s: shaped %v", v, !shaped)
		}
	}
}
