package main

import (
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

func newUpload() *cobra.Command {
	var (
		conn     connection
		as       string
		attempts int
	)
	cmd := gates(&cobra.Command{
		Use:   "upload FILE",
		Short: "Upload a file that runs need: an app, an archive, data",
		Long: `Uploads a file to the team's store and prints its location, which a variable of a notification may
hold. The store checks that what arrived is what was sent. An upload that breaks off is tried again.

Files may end in .apk, .aab, .deb, .ipa, .zip, .csv or .pdf.`,
		Example: `  # Upload the app of this commit, and test it
  LOCATION=$(postflight upload build/shop.apk --as "builds/$GITHUB_SHA/shop.apk")
  postflight notify --type mobile -v RUN_INPUT_PATH="$LOCATION" --wait`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, console, err := conn.connect(cmd)
			if err != nil {
				return err
			}
			u := &cli.Upload{Connection: c, Console: console, File: args[0], As: as, Attempts: attempts}
			return u.Run(cmd.Context())
		},
	})
	cmd.Flags().StringVar(&as, "as", "", "path in the store; default: the name of the file")
	cmd.Flags().IntVar(&attempts, "attempts", 5, "how often to try")
	conn.addFlags(cmd)
	return cmd
}
