package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/pod/ready"
)

const readyUsage = `Usage: collect ready [flags]

Waits until $URL answers with the commit $POSTFLIGHT_SHA, which is also compared if it is shortened to at least 7 digits.

Exit codes: 0 it does, 1 the command was stopped, 2 the URL or a flag is not valid, 3 it does not within the timeout.
`

// exitStopped is the exit code if the container was stopped before it was known whether the version is there.
const exitStopped = 1

func runReady(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("ready", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(stderr, readyUsage); flags.PrintDefaults() }
	p := &ready.Probe{
		Client: ready.NewClient(version.UserAgent("postflight-ready")), Log: slog.New(slog.NewTextHandler(stderr, nil)), Clock: ready.Machine{},
	}
	message := flags.String("termination-log", defaultTerminationLog, "file for the message in the status of the run")
	path := flags.String(job.ReadyPathFlag, "", "what is appended to the URL, such as /version")
	flags.IntVar(&p.Status, job.ReadyStatusFlag, 200, "status of the right answer")
	flags.StringVar(&p.Pointer, job.ReadyJSONFlag, "", "JSON pointer to the commit in the answer, such as /commit")
	flags.StringVar(&p.Header, job.ReadyHeaderFlag, "", "header of the answer that has the commit")
	flags.IntVar(&p.Successes, job.ReadySuccessesFlag, 3, "how many answers in a row have to be right")
	flags.DurationVar(&p.Interval, job.ReadyIntervalFlag, 2*time.Second, "pause between two requests")
	flags.DurationVar(&p.Timeout, job.ReadyTimeoutFlag, 10*time.Minute, "how long to wait")
	if code, ok := parse(flags, args, stderr); !ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := waitUntilReady(ctx, p, *path)
	if err != nil {
		fmt.Fprintln(stderr, "Error:", err)
		if err := writeTerminationMessage(*message, err.Error()); err != nil {
			fmt.Fprintln(stderr, "Error:", err)
		}
	}
	return code
}

func waitUntilReady(ctx context.Context, p *ready.Probe, path string) (code int, err error) {
	base := os.Getenv(job.ReadyURLVariable)
	if p.URL, err = job.ProbeURL(base, path); err != nil {
		return exitMisuse, fmt.Errorf("$%s: %w", job.ReadyURLVariable, err)
	}
	p.SHA = os.Getenv(job.ReadySHAVariable)
	if err = p.Wait(ctx); err == nil {
		return 0, nil
	}
	if _, late := errors.AsType[*ready.Error](err); late {
		return job.ExitNotReady, err
	}
	return exitStopped, err
}
