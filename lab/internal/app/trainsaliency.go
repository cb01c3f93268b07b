package app

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/saliency"
)

func (a *app) trainSaliencyCommand() *cobra.Command {
	var out, features string
	o := saliency.Options{}
	c := &cobra.Command{
		Use: "saliency", Short: "Train the network of the screener by attention",
		Long: "Train the network of screen/saliency on recorded features (margay-lab saliency --saliency URL --features FILE writes them): of all suites, " +
			"while margay-lab saliency measures networks that were trained without a suite each. The same features, seed and Go release give the same file on one architecture.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usage("margay-lab train saliency --out screen/saliency/weights.json", "--out is needed")
			}
			source, err := saliencySource(&saliencyOptions{features: features})
			if err != nil {
				return err
			}
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			o.Progress = func(s string) { a.Note("%s", s) }
			file, card, err := saliency.Run(ctx, source.Record, o)
			if err != nil {
				return failure("record more questions: margay-lab saliency --help", "%w", err)
			}
			if err := cli.WriteFile(out, file); err != nil {
				return failure("is the folder there, and yours?", "the weights can't be written: %w", err)
			}
			return a.Print(card, func(w io.Writer) {
				cli.Fprintf(w, "%d labelled regions, %d of them needed; record %s\n", card.Regions, card.Needed, card.Record)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` for the weights")
	c.Flags().StringVar(&features, "features", "", "`file` of recorded features (default the record that comes with the repository)")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of weights and batches")
	c.Flags().IntVar(&o.Epochs, "epochs", 0, "passes over the questions (default as for the network that ships)")
	c.Flags().Lookup("epochs").DefValue = ""
	return c
}
