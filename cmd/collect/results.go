package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/pod/collect"
	"github.com/postflight-dev/postflight/internal/pod/fetch"
)

const resultsUsage = `Usage: collect results [flags]

Waits for SIGTERM, which the kubelet sends once the tests have stopped. Then it uploads the files in
$POSTFLIGHT_RESULTS_DIR and reads the JUnit reports (*.xml) among them. It asks the manager at
$POSTFLIGHT_COLLECT_URL where to upload to, with the token in the file $POSTFLIGHT_COLLECT_TOKEN, and takes
no longer than $POSTFLIGHT_COLLECT_BUDGET. $POSTFLIGHT_COLLECT_CA may hold certificates in PEM.

Exit codes: 2 the environment is not valid; otherwise 0. What was not kept is in the termination message.
`

// gcPercent halves what garbage adds to the memory: a sidecar takes it from the tests. Reading reports takes a few percent longer for it.
const gcPercent = 50

func runResults(args []string, stderr io.Writer) int {
	debug.SetGCPercent(gcPercent)
	flags := flag.NewFlagSet("results", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(stderr, resultsUsage); flags.PrintDefaults() }
	message := flags.String("termination-log", defaultTerminationLog, "file for the summary, which the manager reads")
	if code, ok := parse(flags, args, stderr); !ok {
		return code
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM) // a second one changes nothing: only SIGKILL ends uploads
	c, err := collector(os.Getenv)
	if err != nil {
		fmt.Fprintln(stderr, "Error:", err)
		return exitMisuse
	}
	c.Log = slog.New(slog.NewTextHandler(stderr, nil))
	c.Report = func(s results.Summary) {
		if err := writeTerminationMessage(*message, results.Message(s)); err != nil {
			c.Log.Error("the summary could not be written", "reason", err)
		}
	}
	c.Log.Info("waiting for the tests to stop", "directory", c.Directory)
	<-stop
	c.Collect(context.Background())
	return 0
}

// collector reads the environment that job.WithResults makes.
func collector(getenv func(string) string) (*collect.Collector, error) {
	c := &collect.Collector{
		Manager: getenv(job.CollectURLVariable), TokenFile: getenv(job.CollectTokenVariable),
		Directory: getenv(job.ResultsDirectoryVariable), Started: time.Now(),
	}
	for _, name := range []string{job.CollectURLVariable, job.CollectTokenVariable, job.ResultsDirectoryVariable} {
		if getenv(name) == "" {
			return nil, fmt.Errorf("$%s must be set", name)
		}
	}
	if !strings.HasPrefix(c.Directory, "/") {
		return nil, fmt.Errorf("$%s must be an absolute path", job.ResultsDirectoryVariable)
	}
	var err error
	if c.Budget, err = time.ParseDuration(getenv(job.CollectBudgetVariable)); err != nil || c.Budget <= 0 {
		return nil, fmt.Errorf("$%s must be a duration, such as 55s", job.CollectBudgetVariable)
	}
	c.Patience = collect.Patience(c.Budget)
	if index, err := strconv.Atoi(getenv(completionIndexVariable)); err == nil {
		c.Index = &index
	}
	c.Secrets = mask.NewValues(strings.Split(getenv(job.CollectMaskVariable), "\n"))
	c.Quarantines = quarantine.Compile(quarantine.Parse(getenv(job.CollectQuarantine)).Rules)
	c.Attempts = v1alpha1.AttemptsPolicy(getenv(job.CollectAttempts))
	c.Rerun = results.NameSet(getenv(job.CollectRerunVariable))
	c.Client, err = fetch.NewClient(getenv(job.CollectCAVariable))
	return c, err
}

// completionIndexVariable is set by Kubernetes in each container of an indexed Job.
const completionIndexVariable = "JOB_COMPLETION_INDEX"
