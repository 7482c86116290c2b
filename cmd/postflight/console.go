package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

// output is the flag that every command has, and where the command prints: results to standard output, and
// progress and hints to standard error.
type output struct {
	format  string
	console *console
}

func (o *output) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json prints the result as JSON on standard output")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) open(cmd *cobra.Command) error {
	if o.format != "" && o.format != "json" {
		return exitf(exitTrouble, "-o %q: the only format is json", o.format)
	}
	o.console = newConsole(cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Getenv)
	o.console.json = o.format == "json"
	return nil
}

type console struct {
	out, err io.Writer
	json     bool // -o json
	terminal bool // out is a terminal
	live     bool // err is a terminal, whose lines may be redrawn; otherwise it is a log

	mu      sync.Mutex
	drawing bool // lines are being redrawn, and another line would tear them apart
}

// newConsole is live if err is a terminal that can move its cursor, and no CI system imitates one.
func newConsole(out, err io.Writer, getenv func(string) string) *console {
	live := isTerminal(err) && getenv("CI") == "" && getenv("TERM") != "dumb"
	return &console{out: out, err: err, terminal: isTerminal(out), live: live}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// untrusted lets a function print text that others wrote to standard output: unchanged, unless that is a terminal,
// which gets the text and its colours alone.
func (c *console) untrusted(print func(to io.Writer) error) error {
	if !c.terminal {
		return print(c.out)
	}
	from, to := io.Pipe()
	shown := make(chan error, 1)
	go func() {
		err := plaintext.CopyToTerminal(c.out, from)
		_ = from.CloseWithError(err)
		shown <- err
	}()
	err := print(to)
	_ = to.Close()
	return errors.Join(err, <-shown)
}

// note prints a line for people. The arguments may hold any text.
func (c *console) note(format string, args ...any) { c.print(fmt.Sprintf(format, cleanAll(args)...)) }

// print prints a line that is clean.
func (c *console) print(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.err, line)
}

// aside prints a line for people, unless lines are being redrawn.
func (c *console) aside(format string, args ...any) {
	c.mu.Lock()
	drawing := c.drawing
	c.mu.Unlock()
	if !drawing {
		c.note(format, args...)
	}
}

func (c *console) setDrawing(drawing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawing = drawing && c.live
}

// result prints the result of a command: as JSON with -o json, and otherwise as print does.
func (c *console) result(value any, print func() error) error {
	if c.json {
		return c.writeJSON(value)
	}
	return print()
}

func (c *console) writeJSON(value any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := c.out.Write(escapeControls(text.Bytes()))
	return err
}

// table prints rows below a header; a cell may hold any text.
func (c *console) table(rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = clean(cell)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return w.Flush()
}

// bytesBar shows how far a transfer is. It is silent unless a person watches.
func (c *console) bytesBar(total int64, description string) *progressbar.ProgressBar {
	if !c.live {
		return progressbar.DefaultBytesSilent(total)
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(c.err), progressbar.OptionShowBytes(true), progressbar.OptionFullWidth(),
		progressbar.OptionSetDescription(clean(description)), progressbar.OptionThrottle(frameInterval),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(c.err) }))
}

// age is how long ago something was, as kubectl prints it.
func age(from, now time.Time) string { return duration.HumanDuration(max(0, now.Sub(from))) }
