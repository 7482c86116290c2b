// Command collect fetches input files, puts files in place, waits for the version under test and uploads results in the pods of runs. It is
// a command of its own, and small, because every node pulls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/postflight-dev/postflight/internal/core/run/job"
)

const usage = `Usage: collect fetch | prepare | ready | results | split | reach

For the containers that Postflight adds to the pods of runs:
  fetch    download the input files of a run
  prepare  put files in place for the tests
  ready    wait until the version under test answers
  results  wait for SIGTERM, then upload what the tests wrote and read their JUnit reports
For the tests of a run with shards:
  split    print the test files of this shard
For a pod of postflight doctor:
  reach    try to reach addresses

'collect COMMAND -h' lists the flags.
`

// defaultTerminationLog is where the kubelet reads the message of a container.
const defaultTerminationLog = "/dev/termination-log"

// exitMisuse is the exit code for wrong arguments or a wrong environment.
const exitMisuse = 2

func main() { os.Exit(run(command(os.Args), os.Stderr)) }

// command is what the copy of this program that tests have does, whose name says it.
func command(args []string) []string {
	if filepath.Base(args[0]) == job.SplitProgram {
		return append([]string{"split"}, args[1:]...)
	}
	return args[1:]
}

func run(args []string, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitMisuse
	}
	switch command, args := args[0], args[1:]; command {
	case "fetch":
		return runFetch(args, stderr)
	case "prepare":
		return runPrepare(args, stderr)
	case "ready":
		return runReady(args, stderr)
	case "results":
		return runResults(args, stderr)
	case "split":
		return runSplit(args, os.Stdin, os.Stdout, stderr)
	case "reach":
		return runReach(args, stderr)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stderr, usage)
		return 0
	default:
		fmt.Fprintf(stderr, "Error: there is no command %q\n\n%s", command, usage)
		return exitMisuse
	}
}

// parse reads flags without arguments. If the command ends here, it returns the exit code.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) (code int, ok bool) {
	flags.SetOutput(stderr)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return exitMisuse, false
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "Error: collect %s has no arguments, but got %q\n", flags.Name(), flags.Args())
		return exitMisuse, false
	}
	return 0, true
}

// writeTerminationMessage writes the message for the kubelet. It creates no file, because outside of a pod there is none.
func writeTerminationMessage(path, message string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.WriteString(file, message)
	return err
}
