package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/lab/prism"
	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

func (a *app) trainCommand() *cobra.Command {
	c := &cobra.Command{Use: "train", Short: "Fit models that Margay ships"}
	c.AddCommand(a.trainMonitorCommand(), a.trainEffectsCommand(), a.trainTaggerCommand(), a.trainSaliencyCommand())
	return c
}

func (a *app) trainMonitorCommand() *cobra.Command {
	var traces, record, out string
	var against []string
	o := train.Options{}
	c := &cobra.Command{
		Use: "monitor", Short: "Fit the monitor's risk model",
		Long: "Fit the monitor's risk model to recorded generations (docs/format/trace.md): .jsonl and .jsonl.gz files, of one vocabulary, " +
			"some of which leak. The same traces and seed give the same model. If any trace is invalid, no model is written.",
		RunE: func(*cobra.Command, []string) error {
			if (traces == "") == (record == "") || out == "" {
				return usage("margay-lab train monitor --traces FOLDER --out FILE", "--traces or --record, and --out, are needed")
			}
			o.Progress = func(s string) { a.Note("%s", s) }
			var m *monitor.Model
			var err error
			if record != "" {
				m, err = prism.TrainOnRecord(record, against, o)
			} else if len(against) > 1 {
				return usage("give a folder of traces", "--against names several files, and traces are compared with one file or folder")
			} else {
				o.Against = strings.Join(against, "")
				m, err = train.Monitor(traces, o)
			}
			if err != nil {
				return trainFailure(err)
			}
			if err := writeModel(out, m); err != nil {
				return failure("is the folder there, and yours?", "the model can't be written: %w", err)
			}
			return a.Print(m.Spec(), func(w io.Writer) { modelTable(w, m) })
		},
	}
	c.Flags().StringVar(&traces, "traces", "", "`folder` or file of traces")
	c.Flags().StringVar(&record, "record", "", "`file` that margay-lab prism --record made, in place of --traces")
	c.Flags().StringVar(&out, "out", "", "`file` for the model")
	c.Flags().StringSliceVar(&against, "against", nil, "`folder` or file of an evaluation's traces, or with --record its records, separated by commas; fail if the training traces share a secret with them")
	c.Flags().StringSliceVar(&o.Without, "without", nil, "`features` to leave out, separated by commas: shows what the others achieve alone")
	c.Flags().StringVar(&o.Name, "name", "", "the model's name (default the traces' sources)")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the splits")
	c.Flags().IntVar(&o.Seeds, "seeds", 3, "further splits, to show how stable the result is")
	return c
}

func trainFailure(err error) error {
	hint := "docs/format/trace.md has the format; a writer that is wrong once is wrong elsewhere"
	switch {
	case errors.Is(err, train.ErrOverlap):
		hint = "a model must not have seen what it is evaluated on: record the training in another world"
	case errors.Is(err, train.ErrOneClass):
		hint = "add traces: both parts of the split need outputs that leak and such that don't, of at least four tasks each"
	case errors.Is(err, train.ErrNoTraces):
		hint = "margay-lab prism --export-traces FOLDER writes some"
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		hint = "give a folder or a file of traces"
	}
	return failure(hint, "%w", err)
}

// writeModel writes the whole file or none.
func writeModel(path string, m *monitor.Model) error {
	b, err := json.MarshalIndent(m.Spec(), "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".model-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone once it is renamed
	_, err = f.Write(append(b, '\n'))
	if e := f.Chmod(0o644); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func modelTable(w io.Writer, m *monitor.Model) {
	s := m.Spec()
	t := s.Training
	fmt.Fprintf(w, "model %s\n%d outputs, %d of which leak, %d tokens, seed %d; thresholds %.2f and %.2f (white box), %.2f and %.2f (gray box), %.2f and %.2f (black box)\n\n",
		m.Hash(), t.Outputs, t.Leaking, t.Tokens, t.Seed, s.White.Tau1, s.White.Tau2, s.Gray.Tau1, s.Gray.Tau2, s.Black.Tau1, s.Black.Tau2)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	columns := []string{"n", "precision", "recall", "f1", "fpr", "auc", "brier", "caught", "clean_touched"}
	fmt.Fprint(tw, "mode\tpart\tby")
	for _, c := range columns {
		fmt.Fprint(tw, "\t", c)
	}
	fmt.Fprintln(tw)
	for _, mode := range []string{"white_box", "white_box_trend_all", "gray_box", "gray_box_trend_all", "black_box", "black_box_trend_all", "black_box_paper"} {
		for _, part := range []string{"train", "test"} {
			for _, by := range []string{"outputs", "tokens"} {
				got, ok := t.Metrics[mode+"/"+part+"/"+by]
				if !ok {
					continue
				}
				fmt.Fprintf(tw, "%s\t%s\t%s", mode, part, by)
				for _, c := range columns {
					cell := ""
					if v, ok := got[c]; ok && c == "n" {
						cell = fmt.Sprintf("%.0f", v)
					} else if ok {
						cell = fmt.Sprintf("%.3f", v)
					}
					fmt.Fprint(tw, "\t", cell)
				}
				fmt.Fprintln(tw)
			}
		}
	}
	fmt.Fprint(tw, "\nsplits\tf1\trecall\tprecision\tcaught\n")
	for _, mode := range []string{"white_box", "gray_box", "black_box"} {
		got, ok := t.Metrics[mode+"/seeds"]
		if !ok {
			continue // no telemetry, or no further splits
		}
		fmt.Fprint(tw, mode)
		for _, c := range []string{"f1", "recall", "precision", "caught"} {
			fmt.Fprintf(tw, "\t%.3f to %.3f", got[c+"_min"], got[c+"_max"])
		}
		fmt.Fprintln(tw)
	}
	line := func(name string, cell func(*monitor.Fit) string) {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", name, cell(&s.White), cell(&s.Gray), cell(&s.Black))
	}
	fmt.Fprintln(tw, "\nweight\twhite_box\tgray_box\tblack_box")
	line("(fitted on)", func(f *monitor.Fit) string { return fmt.Sprintf("%s, lambda %g", f.Rows, f.Lambda) })
	line("(bias)", func(f *monitor.Fit) string { return fmt.Sprintf("%.3f", f.Bias) })
	line("(of it shifted)", func(f *monitor.Fit) string { return fmt.Sprintf("%.3f", f.Shift) })
	for i, name := range s.Features {
		line(name, func(f *monitor.Fit) string { return weight(f, i) })
	}
	_ = tw.Flush()
}

// weight is a dash where the training never told the feature apart.
func weight(f *monitor.Fit, i int) string {
	if f.Scale[i] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", f.Weights[i])
}
