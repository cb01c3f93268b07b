package gateway

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// This test's program is one of the parties when it is called like one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == PartyCommand {
		if err := Play(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Everything that is told of Margay was measured, and every party ends.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes some seconds")
	}
	r, err := Run(t.Context(), Options{Seed: 1, Seconds: 0.1, Rounds: 1, Streams: 20})
	if err != nil {
		t.Fatal(err)
	}
	for slice, metrics := range map[string][]string{
		"concurrency=64,flush=event": {"throughput_ratio_to_plain_proxy", "cpu_ratio_to_plain_proxy", "tokens_per_second", "ttft_us_p50"},
		"concurrency=64,flush=bulk":  {"throughput_ratio_to_plain_proxy"},
		"wire=responses,flush=event": {"cpu_us_per_token", "added_cpu_us_per_token"},
		"request=tiny":               {"cpu_us_per_request", "cpu_ratio_to_plain_proxy"},
		"mcp,result=65536":           {"added_p50_ms"},
		"prompt=1048576,turn=first":  {"added_p50_ms"},
		"prompt=1048576,turn=second": {"p50_ms"},
		"events=kept,risk=off":       {"cpu_ratio_to_unkept"},
		"events=kept,risk=report":    {"cpu_ratio_to_unkept"},
		"paced,concurrency=64":       {"added_us_per_token_p50", "samples"},
		"editor":                     {"ns_per_token"},
		"streams=20":                 {"rss_mib"},
	} {
		row := r.Row("margay", slice)
		if row == nil {
			t.Errorf("no row of %s", slice)
			continue
		}
		for _, m := range metrics {
			if v, ok := row.Metrics[m]; !ok || v == 0 && m != "cpu_ratio_to_unkept" {
				t.Errorf("%s: %s is %v", slice, m, v)
			}
		}
	}
}

// Few stretches of the text are alike.
func TestTokens(t *testing.T) {
	seen := map[string]int{}
	all := tokens(1, 20000)
	for i := 0; i+12 <= len(all); i += 12 {
		s := ""
		for _, tok := range all[i : i+12] {
			s += string(tok)
		}
		seen[s]++
	}
	if n := len(all) / 12; len(seen) < n*9/10 {
		t.Errorf("%d of %d stretches of twelve tokens are alike", n-len(seen), n)
	}
}
