package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/postflight-dev/postflight/internal/pod/prepare"
)

const prepareUsage = `Usage: collect prepare [flags]

Writes the files that $PREPARE_FILE_0, $PREPARE_FILE_1, ... hold into $PREPARE_DIRECTORY, and copies this program there
as $PREPARE_PROGRAM. The tests see the directory read-only.

Exit codes: 1 a file cannot be written, 2 the environment is not valid.
`

func runPrepare(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("prepare", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(stderr, prepareUsage); flags.PrintDefaults() }
	message := flags.String("termination-log", defaultTerminationLog, "file for the message in the status of the run")
	if code, ok := parse(flags, args, stderr); !ok {
		return code
	}
	code, err := prepareTests(slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		fmt.Fprintln(stderr, "Error:", err)
		_ = writeTerminationMessage(*message, err.Error()) // the kubelet falls back to the log
	}
	return code
}

func prepareTests(log *slog.Logger) (code int, err error) {
	list, err := prepare.ReadList(os.LookupEnv)
	if err != nil {
		return exitMisuse, err
	}
	program, err := os.Executable()
	if err == nil {
		err = prepare.Prepare(list, program)
	}
	if err != nil {
		return 1, err
	}
	for _, f := range list.Files {
		log.Info("the tests have a file", "name", f.Name, "bytes", len(f.Content))
	}
	return 0, nil
}
