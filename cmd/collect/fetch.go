package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/postflight-dev/postflight/internal/pod/fetch"
)

const fetchUsage = `Usage: collect fetch [flags]

Downloads the files that $FETCH_FILE_0, $FETCH_FILE_1, ... name into $FETCH_DIRECTORY.

Exit codes: 1 a file cannot be written, 2 the list is not valid, 3 a file is missing, 4 a file was changed,
5 the store did not serve a file, in spite of retries.
`

func runFetch(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("fetch", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(stderr, fetchUsage); flags.PrintDefaults() }
	message := flags.String("termination-log", defaultTerminationLog, "file for the message in the status of the run")
	patience := flags.Duration("patience", fetch.DefaultPatience, "how long nothing may arrive before giving up")
	if code, ok := parse(flags, args, stderr); !ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the command in good order, the second at once
	err := fetchInputs(ctx, *patience, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "Error:", err)
	_ = writeTerminationMessage(*message, err.Error()) // the kubelet falls back to the log
	return int(fetch.KindOf(err))
}

func fetchInputs(ctx context.Context, patience time.Duration, log io.Writer) error {
	list, err := fetch.ReadList(os.LookupEnv)
	if err != nil {
		return err
	}
	client, err := fetch.NewClient(list.CA)
	if err != nil {
		return err
	}
	f := fetch.Fetcher{Client: client, Patience: patience, Log: slog.New(slog.NewTextHandler(log, nil))}
	return f.Fetch(ctx, list)
}
