// Package console prints progress: a live line on a terminal, and elsewhere a line every now and then.
package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	liveInterval  = 120 * time.Millisecond
	plainInterval = 15 * time.Second
)

// Console writes steps and notes to one stream.
type Console struct {
	mu   sync.Mutex
	out  io.Writer
	live bool
}

// New prints to f, with live lines if f is a terminal.
func New(f *os.File) *Console {
	return &Console{out: f, live: term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"}
}

// Println writes a line, above the live one.
func (c *Console) Println(format string, args ...any) { c.print(fmt.Sprintf(format, args...) + "\n") }

func (c *Console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live {
		text = "\r\x1b[K" + text
	}
	fmt.Fprint(c.out, text)
}

// Warn prints a problem that does not stop anything.
func (c *Console) Warn(format string, args ...any) {
	c.Println("  "+c.paint("33", "!")+" "+format, args...)
}

// Bold is s in bold on a terminal.
func (c *Console) Bold(s string) string { return c.paint("1", s) }

// Dim is s in grey on a terminal.
func (c *Console) Dim(s string) string { return c.paint("2", s) }

func (c *Console) paint(code, s string) string {
	if !c.live || os.Getenv("NO_COLOR") != "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Step is a step in progress.
type Step struct {
	name   string
	start  time.Time
	mu     sync.Mutex
	detail string
}

// Update says what the step is doing now.
func (s *Step) Update(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detail = fmt.Sprintf(format, args...)
}

// Step runs a step, and shows its progress and its result.
func (c *Console) Step(name string, run func(*Step) (result string, err error)) error {
	s := &Step{name: name, start: time.Now()}
	stop := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() { c.show(s, stop) })
	result, err := run(s)
	close(stop)
	shown.Wait()
	mark := c.paint("32", "✓")
	if err != nil {
		mark, result = c.paint("31", "✗"), ""
	}
	c.Println("  %s %-20s %s %s", mark, name, result, c.Dim(elapsed(s.start)))
	return err
}

func (c *Console) show(s *Step, stop <-chan struct{}) {
	interval, frames, end := plainInterval, []rune("…"), "\n"
	if c.live {
		interval, frames, end = liveInterval, []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"), ""
	}
	for frame := 0; ; frame++ {
		select {
		case <-stop:
			return
		case <-time.After(interval):
		}
		s.mu.Lock()
		detail := s.detail
		s.mu.Unlock()
		c.print(fmt.Sprintf("  %c %-20s %s %s%s", frames[frame%len(frames)], s.name, detail, c.Dim(elapsed(s.start)), end))
	}
}

func elapsed(since time.Time) string {
	d := time.Since(since)
	if d < 10*time.Second {
		return fmt.Sprintf("(%.1fs)", d.Seconds())
	}
	return fmt.Sprintf("(%s)", d.Round(time.Second))
}
