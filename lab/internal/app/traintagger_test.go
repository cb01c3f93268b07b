package app

import (
	"strings"
	"testing"
)

// What a second stage can't be trained with is refused before the first is trained.
func TestTrainTaggerOptions(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--out x --steps 0", "at least 1"},
		{"--out x --grpo 1 --tasks-seed 99", "nothing is trained on them"},
		{"--out x --grpo 1 --beta -1", "beta is from 0"},
		{"--out x --grpo 1 --lambda 0.5", "lambda from 1"},
		{"--out x --grpo 1 --escapes -1", "weight of escapes"},
		{"--out x --grpo -1", "--grpo at least 0"},
		{"--sweep x", "--sweep needs --grpo"},
		{"", "--out is needed"},
	} {
		args := append([]string{"train", "tagger"}, strings.Fields(c.args)...)
		var out, errs strings.Builder
		if code := Main(args, strings.NewReader(""), &out, &errs); code != 2 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: code %d, %s", c.args, code, errs.String())
		}
	}
}
