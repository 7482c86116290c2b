package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/split"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const splitUsage = `Usage: LIST | postflight-split [flags]
       postflight-split [flags] NAME...
       LIST | postflight-split [flags] --exec COMMAND [ARGUMENT...]

Prints those of the test files that this shard has to run. LIST prints the names of all test files, each on a line;
whatever their order, all shards together run each of them once. Names may also be arguments.

Files are balanced by the seconds that they took in the last runs. New ones are spread evenly.

In the pod of a run whose Trigger has spec.shards, the path of this program is $POSTFLIGHT_SPLIT:
  find tests -name '*.spec.ts' | "$POSTFLIGHT_SPLIT" --exec npx jest --runTestsByPath

Use --exec where you can: many test runners run all tests if they get no name. It starts COMMAND with the names as
its last arguments, and not at all if the shard has none. An empty shard needs a report, too: if there is the folder
$POSTFLIGHT_RESULTS_DIR, this program writes an empty one there.

To see what each of four shards would run, anywhere:
  find tests -name '*.spec.ts' | postflight-split --index 0 --count 4

Exit codes: 1 there are no names, or they cannot be split; 2 the flags or the number of the shard are not valid;
127 COMMAND was not found. With --exec, otherwise that of COMMAND.

Flags:
`

// emptyReport is in the results directory of a shard without files, which would otherwise lack a report.
const emptyReport, emptyReportFile = "<testsuites/>\n", "postflight-split.xml"

type splitter struct {
	index, count string
	timings      string
	null, exec   bool
	args         []string
}

func runSplit(args []string, stdin io.Reader, out, stderr io.Writer) int {
	flags := flag.NewFlagSet("postflight-split", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, splitUsage); flags.PrintDefaults() }
	s := splitter{}
	fromVariable := func(value *string, flag, variable, usage string) {
		flags.StringVar(value, flag, os.Getenv(variable), usage+"; default: $"+variable)
	}
	fromVariable(&s.index, "index", job.ShardIndexVariable, "number of this shard, from 0")
	fromVariable(&s.count, "count", job.ShardCountVariable, "number of all shards")
	fromVariable(&s.timings, "timings", job.TimingsVariable, "file with the seconds of the last runs")
	flags.BoolVar(&s.null, "null", false, "names end with a NUL instead of a line feed, as of find -print0, for names with line feeds")
	flags.BoolVar(&s.exec, "exec", false, "start a command with the names as its last arguments, unless the shard has none")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return exitMisuse
	}
	s.args = flags.Args()
	code, err := s.run(stdin, out, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "postflight-split:", err)
	}
	return code
}

func (s *splitter) run(stdin io.Reader, out, stderr io.Writer) (code int, err error) {
	index, count, err := s.shard()
	if err == nil && s.exec && len(s.args) == 0 {
		err = errors.New("--exec needs a command")
	}
	if err != nil {
		return exitMisuse, err
	}
	names, err := s.names(stdin)
	if err != nil {
		return 1, err
	}
	plan := split.Split(names, count, s.read(stderr))
	mine := plan.Shards[index]
	fmt.Fprintln(stderr, "postflight-split:", describe(plan, index, len(names)))
	if len(mine) == 0 {
		if err := reportNothing(os.Getenv(job.ResultsDirectoryVariable)); err != nil {
			return 1, err
		}
		return 0, nil
	}
	if s.exec {
		return start(s.args, mine)
	}
	if err := s.print(out, mine); err != nil {
		return 1, err
	}
	return 0, nil
}

// shard is which one this is.
func (s *splitter) shard() (index, count int, err error) {
	const help = `. In a run, Postflight sets both; elsewhere, say for example --index 0 --count 4`
	count, err = strconv.Atoi(s.count)
	if err != nil || count < 1 || count > job.MaxShards {
		return 0, 0, fmt.Errorf("the number of shards is %q, from --count or $%s, and must be from 1 to %d%s",
			plaintext.Line(s.count, maxQuoted), job.ShardCountVariable, job.MaxShards, help)
	}
	index, err = strconv.Atoi(s.index)
	if err != nil || index < 0 || index >= count {
		return 0, 0, fmt.Errorf("the number of this shard is %q, from --index or $%s, and must be from 0 to %d%s",
			plaintext.Line(s.index, maxQuoted), job.ShardIndexVariable, count-1, help)
	}
	return index, count, nil
}

const maxQuoted = 100 // of a wrong value in a message, in bytes

// names are all that there are. None is an error: a list that could not be made would pass as a run without tests.
func (s *splitter) names(stdin io.Reader) (names []string, err error) {
	if len(s.args) > 0 && !s.exec {
		names, err = split.Sorted(s.args)
	} else {
		var input []byte
		if input, err = io.ReadAll(io.LimitReader(stdin, split.MaxNames+1)); err != nil {
			return nil, fmt.Errorf("the names cannot be read: %w", err)
		}
		if len(input) > split.MaxNames {
			return nil, fmt.Errorf("the names have more than %s", plaintext.Bytes(split.MaxNames))
		}
		names, err = split.Names(input, s.null)
	}
	if err == nil && len(names) == 0 {
		err = errors.New("there are no names of test files to split. Check the command that lists them; --help shows examples")
	}
	return names, err
}

// read returns no Timings if they cannot be read. All pods of a run have the same file.
func (s *splitter) read(stderr io.Writer) split.Timings {
	if s.timings == "" {
		return split.Timings{}
	}
	content, err := os.ReadFile(s.timings)
	var t split.Timings
	if err == nil {
		t, err = split.Parse(content)
	}
	if err != nil {
		fmt.Fprintf(stderr, "postflight-split: the times of the last runs cannot be read, so that each file counts the same: %s\n",
			plaintext.Line(err.Error(), 300))
		return split.Timings{}
	}
	if t.Problem != "" {
		fmt.Fprintln(stderr, "postflight-split:", plaintext.Line(t.Problem, 300))
	}
	return t
}

func describe(p split.Plan, index, all int) string {
	text := fmt.Sprintf("shard %d of %d has %d of %s", index+1, len(p.Shards), len(p.Shards[index]), plaintext.Count(all, "file"))
	var total int64
	for _, ms := range p.Times {
		total += ms
	}
	if total == 0 {
		return text + "; no time of an earlier run is known"
	}
	text += fmt.Sprintf(", about %s of %s", round(p.Times[index]), round(total))
	if p.New > 0 {
		text += fmt.Sprintf("; new files: %d", p.New)
	}
	return text
}

func round(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return plaintext.Duration(d.Round(time.Second))
}

func (s *splitter) print(to io.Writer, names []string) error {
	end := "\x00"
	if !s.null {
		end = "\n"
		if i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, "\n") }); i >= 0 {
			return fmt.Errorf("the name %q has a line feed: use --null", names[i])
		}
	}
	_, err := io.WriteString(to, strings.Join(names, end)+end)
	return err
}

func reportNothing(directory string) error {
	if info, err := os.Stat(directory); directory == "" || err != nil || !info.IsDir() {
		return nil
	}
	return os.WriteFile(filepath.Join(directory, emptyReportFile), []byte(emptyReport), 0o644)
}

// start replaces this process, so that signals reach the command.
func start(command, names []string) (code int, err error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return 127, fmt.Errorf("%q was not found", command[0])
	}
	err = syscall.Exec(path, append(command, names...), os.Environ())
	return 126, fmt.Errorf("%q cannot be started: %w", command[0], err)
}
