package cli

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
)

// Console is where a command prints.
type Console struct {
	Out, Err io.Writer
	JSON     bool // -o json
	Live     bool // a person looks at Err as it changes; otherwise a log keeps it

	mu      sync.Mutex
	drawing bool // lines are redrawn, and another one between them would tear them apart
}

// NewConsole is live where Err is a terminal that can move its cursor, and no CI system says that it
// only looks like one.
func NewConsole(out, err io.Writer, getenv func(string) string) *Console {
	return &Console{Out: out, Err: err, Live: isTerminal(err) && getenv("CI") == "" && getenv("TERM") != "dumb"}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Note prints a line for people. The arguments may hold anything.
func (c *Console) Note(format string, args ...any) { c.print(fmt.Sprintf(format, cleaned(args)...)) }

// print prints a line that is clean.
func (c *Console) print(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.Err, line)
}

// Aside prints a line for people, unless they look at lines that are redrawn.
func (c *Console) Aside(format string, args ...any) {
	c.mu.Lock()
	drawing := c.drawing
	c.mu.Unlock()
	if !drawing {
		c.Note(format, args...)
	}
}

// draws says that lines are redrawn from now on, or no longer.
func (c *Console) draws(now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawing = now && c.Live
}

// WriteJSON prints the result of a command for programs.
func (c *Console) WriteJSON(value any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := c.Out.Write(escapeControls(text.Bytes()))
	return err
}

// Table prints rows below a header; a cell may hold anything.
func (c *Console) Table(rows [][]string) error {
	w := tabwriter.NewWriter(c.Out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		clean := make([]string, len(row))
		for i, cell := range row {
			clean[i] = Clean(cell)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(clean, "\t"), "\t"))
	}
	return w.Flush()
}

// age is how long ago something was, as kubectl says it.
func age(from, now time.Time) string {
	d := now.Sub(from)
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// elapsed is for a line that changes every second.
func elapsed(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%dh%02dm%02ds", s/3600, s/60%60, s%60)
	}
	if s >= 60 {
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%ds", s)
}
