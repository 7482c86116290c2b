// Package cli has what all commands share: the terminal, exit codes, and how runs and tests are printed.
package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// FrameInterval looks smooth.
const FrameInterval = 100 * time.Millisecond

// Output is the flag that every command has, and where the command prints: results to standard output, and
// progress and hints to standard error.
type Output struct {
	Format  string
	Formats []string // besides JSON and YAML, which the command prints itself
	Console *Console
}

func (o *Output) AddFlags(cmd *cobra.Command) {
	known := o.formats()
	cmd.Flags().StringVarP(&o.Format, "output", "o", "",
		plaintext.Alternatives(known)+" prints the result in this format on standard output")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// formats that every command knows.
var formats = []string{"json", "yaml"}

func (o *Output) formats() []string { return slices.Concat(formats, o.Formats) }

func (o *Output) Open(cmd *cobra.Command) error {
	if known := o.formats(); o.Format != "" && !slices.Contains(known, o.Format) {
		return Exitf(ExitTrouble, "-o %q: the formats are %s", o.Format, strings.Join(known, " and "))
	}
	o.Console = newConsole(cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Getenv)
	o.Console.yaml = o.Format == "yaml"
	o.Console.JSON = o.Console.yaml || o.Format == "json"
	return nil
}

type Console struct {
	Out, Err io.Writer
	JSON     bool // -o json, or the same data with -o yaml
	yaml     bool
	Terminal bool // out is a terminal
	Live     bool // err is a terminal, whose lines may be redrawn; otherwise it is a log
	Plain    bool // no colors, see https://no-color.org

	Mu      sync.Mutex
	drawing bool // lines are being redrawn, and another line would tear them apart
}

// newConsole is live if err is a terminal that can move its cursor, and no CI system imitates one.
func newConsole(out, err io.Writer, getenv func(string) string) *Console {
	live := isTerminal(err) && getenv("CI") == "" && getenv("TERM") != "dumb"
	plain := getenv("NO_COLOR") != "" || getenv("TERM") == "dumb"
	return &Console{Out: out, Err: err, Terminal: isTerminal(out), Live: live, Plain: plain}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Untrusted lets a function print text that others wrote to standard output: unchanged, unless that is a terminal,
// which gets the text and its colours alone.
func (c *Console) Untrusted(print func(to io.Writer) error) error {
	if !c.Terminal {
		return print(c.Out)
	}
	from, to := io.Pipe()
	shown := make(chan error, 1)
	go func() {
		err := plaintext.CopyToTerminal(c.Out, from)
		_ = from.CloseWithError(err)
		shown <- err
	}()
	err := print(to)
	_ = to.Close()
	return errors.Join(err, <-shown)
}

// Note prints a line for people. The arguments may hold any text.
func (c *Console) Note(format string, args ...any) { c.Print(fmt.Sprintf(format, cleanAll(args)...)) }

// Print prints a line that is clean.
func (c *Console) Print(line string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	fmt.Fprintln(c.Err, line)
}

// Aside prints a line for people, unless lines are being redrawn.
func (c *Console) Aside(format string, args ...any) {
	c.Mu.Lock()
	drawing := c.drawing
	c.Mu.Unlock()
	if !drawing {
		c.Note(format, args...)
	}
}

func (c *Console) SetDrawing(drawing bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.drawing = drawing && c.Live
}

// Result prints the result of a command: as JSON with -o json, and otherwise as print does.
func (c *Console) Result(value any, print func() error) error {
	if c.JSON {
		return c.WriteJSON(value)
	}
	return print()
}

func (c *Console) WriteJSON(value any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	escaped := escapeControls(text.Bytes())
	if c.yaml {
		return c.writeYAML(escaped)
	}
	_, err := c.Out.Write(escaped)
	return err
}

// WriteYAML prints an object of Kubernetes as people keep it in Git, or as JSON with -o json.
func (c *Console) WriteYAML(value any) error {
	if c.JSON {
		return c.WriteJSON(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.writeYAML(text)
}

// writeYAML quotes and escapes control characters.
func (c *Console) writeYAML(text []byte) error {
	text, err := yaml.JSONToYAML(text)
	if err != nil {
		return err
	}
	_, err = c.Out.Write(text)
	return err
}

// Table prints rows below a header; a cell may hold any text. On a terminal, states have colors.
func (c *Console) Table(rows [][]string) error {
	clean := make([][]string, len(rows))
	for i, row := range rows {
		clean[i] = make([]string, len(row))
		for j, cell := range row {
			clean[i][j] = Clean(cell)
		}
	}
	if c.Terminal && !c.Plain && len(rows) > 0 {
		paintStates(clean)
	}
	w := tabwriter.NewWriter(c.Out, 0, 0, 3, ' ', 0)
	for _, row := range clean {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return w.Flush()
}

// WithValue drops the rows that have only a name.
func WithValue(rows [][]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// BytesBar shows how far a transfer is. It is silent unless a person watches.
func (c *Console) BytesBar(total int64, description string) *progressbar.ProgressBar {
	if !c.Live {
		return progressbar.DefaultBytesSilent(total)
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(c.Err), progressbar.OptionShowBytes(true), progressbar.OptionFullWidth(),
		progressbar.OptionSetDescription(Clean(description)), progressbar.OptionThrottle(FrameInterval),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(c.Err) }))
}

// Age is how long ago something was, as kubectl prints it.
func Age(from, now time.Time) string { return duration.HumanDuration(max(0, now.Sub(from))) }
