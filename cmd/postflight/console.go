package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
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
	live     bool // err is a terminal, whose lines may be redrawn; otherwise it is a log

	mu      sync.Mutex
	drawing bool // lines are being redrawn, and another line would tear them apart
}

// newConsole is live if err is a terminal that can move its cursor, and no CI system imitates one.
func newConsole(out, err io.Writer, getenv func(string) string) *console {
	file, ok := err.(*os.File)
	live := ok && term.IsTerminal(int(file.Fd())) && getenv("CI") == "" && getenv("TERM") != "dumb"
	return &console{out: out, err: err, live: live}
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

// age is how long ago something was, as kubectl prints it.
func age(from, now time.Time) string { return duration.HumanDuration(max(0, now.Sub(from))) }
