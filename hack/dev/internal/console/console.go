// Package console prints what the tool does, step by step: with a live line on a terminal, with a
// plain line every now and then elsewhere (a log file, CI).
package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// plainInterval is how long a step is silent where there is no terminal.
const plainInterval = 15 * time.Second

// Console writes steps and notes to one stream.
type Console struct {
	mu   sync.Mutex
	out  io.Writer
	live bool
}

// New prints to f, with live lines if f is a terminal.
func New(f *os.File) *Console {
	return &Console{out: f, live: isTerminal(f)}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil && os.Getenv("TERM") != "dumb"
}

// Println writes a whole line, never into the middle of a live one.
func (c *Console) Println(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	fmt.Fprintf(c.out, format+"\n", args...)
}

// Warn says something that the reader should know but that stops nothing.
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

func (c *Console) clear() {
	if c.live {
		fmt.Fprint(c.out, "\r\x1b[K")
	}
}

// Step is one thing being done. End it with Done or Fail.
type Step struct {
	c      *Console
	name   string
	start  time.Time
	mu     sync.Mutex
	detail string
	stop   chan struct{}
	gone   chan struct{}
}

// Step begins a step and shows that it is under way.
func (c *Console) Step(name string) *Step {
	s := &Step{c: c, name: name, start: time.Now(), stop: make(chan struct{}), gone: make(chan struct{})}
	go s.show()
	return s
}

// Update tells how far the step is.
func (s *Step) Update(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detail = fmt.Sprintf(format, args...)
}

// Done ends the step well.
func (s *Step) Done(format string, args ...any) {
	s.end(s.c.paint("32", "✓"), fmt.Sprintf(format, args...))
}

// Fail ends the step badly; the error itself is printed by whoever handles it.
func (s *Step) Fail() { s.end(s.c.paint("31", "✗"), "") }

func (s *Step) end(mark, detail string) {
	close(s.stop)
	<-s.gone
	s.c.Println("  %s %-20s %s %s", mark, s.name, detail, s.c.Dim(elapsed(s.start)))
}

func (s *Step) show() {
	defer close(s.gone)
	interval := plainInterval
	if s.c.live {
		interval = 120 * time.Millisecond
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for frame := 0; ; frame++ {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.draw(frame)
		}
	}
}

func (s *Step) draw(frame int) {
	s.mu.Lock()
	detail := s.detail
	s.mu.Unlock()
	if !s.c.live {
		s.c.Println("  … %-20s %s %s", s.name, detail, elapsed(s.start))
		return
	}
	spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.clear()
	fmt.Fprintf(s.c.out, "  %c %-20s %s %s", spinner[frame%len(spinner)], s.name, detail, s.c.Dim(elapsed(s.start)))
}

func elapsed(since time.Time) string {
	d := time.Since(since)
	if d < 10*time.Second {
		return fmt.Sprintf("(%.1fs)", d.Seconds())
	}
	return fmt.Sprintf("(%s)", d.Round(time.Second))
}
