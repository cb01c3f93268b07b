package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/privacy"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

// privacyOptions are those of the suite privacy.
type privacyOptions struct {
	ordinary            string // folder
	causes              string // file
	defences, arguments []string
}

const privacyLong = `Send recorded cases through a running gateway with the rubrics that Margay comes
with: a model calls a tool that has a case's action, recipient and class, and what
the client gets of the call is compared with what is sensitive in it and what the
task needs. FILE has a case a line, as JSON (the package comment of lab/privacy has
the format and the metrics); one that ends in .gz is compressed. scripts/privacylens
writes such a file. Without FILE, a few cases of the benchmark's own are taken, to
see that it works.

With --ordinary, the files of a folder go out instead: source code, search queries,
mail. Nothing in them should change. scripts/ordinary collects such a folder.`

func privacyFlags(c *cobra.Command, o *options) {
	c.Long = privacyLong
	p := &o.privacy
	c.Flags().IntVar(&o.n, "n", 0, "cases from the start of FILE; 0 for all")
	c.Flags().StringVar(&p.ordinary, "ordinary", "", "measure how much of the ordinary work in a `folder` is changed; it has a subfolder for each kind")
	c.Flags().StringVar(&p.causes, "causes", "", "write the outcome of each case to a `file`, as JSON lines: ids, codes and counts, no texts")
	c.Flags().StringSliceVar(&p.defences, "defence", nil, "`defences`, separated by commas, of "+strings.Join(privacy.Defences(), ", ")+"; without, none and rules, or for ordinary work rules alone")
	c.Flags().StringSliceVar(&p.arguments, "argument", []string{"text"}, "`names` of the argument that a text goes out in, separated by commas; further ones have rows of their own")
}

func checkPrivacy(o *options) error {
	p := &o.privacy
	switch {
	case len(o.files) > 1:
		return usage("give one file", "privacy takes one FILE")
	case len(o.files) > 0 && p.ordinary != "":
		return usage("leave one of them out", "FILE and --ordinary can't be measured at once")
	}
	for _, a := range p.arguments {
		if a == "" || a == privacy.Recipient {
			return usage("--argument text,content", "--argument %q can't be the name of a text", a)
		}
	}
	return checkDefences(p.defences, privacy.Defences())
}

func runPrivacy(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	p := &o.privacy
	var causes bytes.Buffer
	lines := json.NewEncoder(&causes)
	var failed error
	cause := func(c privacy.Cause) {
		if p.causes != "" && failed == nil {
			failed = lines.Encode(c)
		}
	}
	r, err := measurePrivacy(ctx, o, cause)
	if err == nil {
		err = failed
	}
	if err == nil && p.causes != "" {
		err = cli.WriteFile(p.causes, causes.Bytes())
	}
	return r, nil, err
}

func measurePrivacy(ctx context.Context, o *options, cause func(privacy.Cause)) (*results.Result, error) {
	p := &o.privacy
	if p.ordinary != "" {
		f, err := privacy.ReadFolder(p.ordinary)
		if err != nil {
			return nil, err
		}
		return privacy.Ordinary(ctx, privacy.OrdinaryOptions{
			Folder: f, Source: filepath.Base(p.ordinary), Defences: p.defences, Arguments: p.arguments, Seed: o.seed, Progress: o.progress, Cause: cause,
		})
	}
	cases, source := privacy.Sample(), "cases of its own"
	if len(o.files) > 0 {
		var err error
		if cases, err = privacy.ReadFile(o.files[0]); err != nil {
			return nil, err
		}
		source = filepath.Base(o.files[0])
	}
	if o.n > 0 {
		cases = slices.Clip(cases[:min(o.n, len(cases))])
	}
	sum, err := privacy.Sum(cases)
	if err != nil {
		return nil, err
	}
	return privacy.Run(ctx, privacy.Options{
		Cases: cases, Source: fmt.Sprintf("%s, sha256 %s", source, sum), Defences: p.defences, Arguments: p.arguments, Seed: o.seed, Progress: o.progress, Cause: cause,
	})
}
