package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/fetch"
)

type fetchOptions struct {
	terminationLog string
	patience       time.Duration
}

func newFetch() *cobra.Command {
	o := &fetchOptions{}
	cmd := &cobra.Command{
		Use:    "fetch",
		Short:  "Download the input files of a run, in the init container of its pod",
		Hidden: true, // for pods, not for people
		Long: `Downloads the files that $FETCH_FILE_0, $FETCH_FILE_1, ... name into $FETCH_DIRECTORY.

Exit codes: 1 a file cannot be written, 2 the list is not valid, 3 a file is missing, 4 a file was changed,
5 the store did not serve a file, in spite of retries.`,
		Args: func(cmd *cobra.Command, args []string) error {
			return withExitCode(int(fetch.BadList), cobra.NoArgs(cmd, args))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err == nil {
				return nil
			}
			o.writeTerminationLog(err)
			return withExitCode(int(fetch.KindOf(err)), err)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return withExitCode(int(fetch.BadList), err) })
	cmd.Flags().StringVar(&o.terminationLog, "termination-log", "/dev/termination-log", "file for the message in the status of the run")
	cmd.Flags().DurationVar(&o.patience, "patience", fetch.DefaultPatience, "how long nothing may arrive before giving up")
	return cmd
}

func (o *fetchOptions) run(ctx context.Context, log io.Writer) error {
	list, err := fetch.ReadList(os.LookupEnv)
	if err != nil {
		return err
	}
	client, err := fetch.NewClient(list.CA)
	if err != nil {
		return err
	}
	f := fetch.Fetcher{Client: client, Patience: o.patience, Log: slog.New(slog.NewTextHandler(log, nil))}
	return f.Fetch(ctx, list)
}

// writeTerminationLog writes the message for the kubelet. Outside of a pod there is no such file, and none is
// created.
func (o *fetchOptions) writeTerminationLog(failure error) {
	file, err := os.OpenFile(o.terminationLog, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	defer file.Close()
	fmt.Fprint(file, failure.Error())
}
