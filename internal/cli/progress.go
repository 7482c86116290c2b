package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// frameEvery is smooth to the eye.
	frameEvery = 100 * time.Millisecond

	// reminder is how often a log is told that there is nothing new: CI systems end jobs that are
	// silent for ten minutes.
	reminder = time.Minute
)

var (
	frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	marks  = map[Verdict]string{
		Passed: "\x1b[32m✓\x1b[0m", Failed: "\x1b[31m✗\x1b[0m", NoOutcome: "\x1b[31m!\x1b[0m",
		Canceled: "\x1b[33m■\x1b[0m", Superseded: "\x1b[33m↷\x1b[0m",
	}
)

// progress shows runs while they are waited for: lines that change on a terminal, and a line per
// change in a log.
type progress struct {
	console *Console
	began   time.Time
	ended   chan struct{}
	done    sync.WaitGroup

	mu    sync.Mutex
	runs  []Outcome
	drawn int // lines that the next frame replaces
}

func startProgress(console *Console, runs []Outcome) *progress {
	p := &progress{console: console, began: time.Now(), ended: make(chan struct{}), runs: slices.Clone(runs)}
	console.draws(true)
	every := reminder
	if console.Live {
		every = frameEvery
	}
	p.done.Go(func() { p.tick(every) })
	return p
}

func (p *progress) tick(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.mu.Lock()
			if p.console.Live {
				p.draw(frames[n%len(frames)], false)
			} else {
				p.remind()
			}
			p.mu.Unlock()
		}
	}
}

// update changes what is known of a run.
func (p *progress) update(i int, change func(*Outcome)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.runs[i]
	change(&p.runs[i])
	p.runs[i].Seconds = time.Since(p.began).Seconds()
	if is := p.runs[i]; !p.console.Live && (was.Verdict != is.Verdict || was.Relevant != is.Relevant) {
		p.console.print(p.line(is, stamp(time.Now())))
	}
}

// stop leaves the last frame standing.
func (p *progress) stop() {
	close(p.ended)
	p.done.Wait()
	defer p.console.draws(false)
	if p.console.Live {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.draw(frames[0], true)
	}
}

func (p *progress) outcomes() []Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.runs)
}

func (p *progress) remind() {
	for _, o := range p.runs {
		if o.Verdict == Waiting {
			p.console.print(fmt.Sprintf("%s  %s  still waiting (%s)", stamp(time.Now()), label(o), elapsed(time.Since(p.began))))
		}
	}
}

// draw replaces the lines of the frame before. Each is cleared to its end; none may wrap, or the
// cursor would not come back to where the frame began.
func (p *progress) draw(frame string, last bool) {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	p.drawn = 0
	noWrap, wrap := "\x1b[?7l", "\x1b[?7h"
	if last {
		noWrap, wrap = "", "" // no frame comes after it, and nothing may be cut
	}
	for _, o := range p.runs {
		mark, ok := marks[o.Verdict]
		if !ok {
			mark = frame
		}
		for i, line := range strings.Split(p.line(o, mark), "\n") {
			if i > 0 {
				line = "    " + line
			}
			fmt.Fprintf(&b, "\r\x1b[K%s%s%s\n", noWrap, line, wrap)
			p.drawn++
		}
	}
	p.console.mu.Lock()
	defer p.console.mu.Unlock()
	fmt.Fprint(p.console.Err, b.String())
}

// line is one run. On a terminal the link and the reason have lines of their own.
func (p *progress) line(o Outcome, lead string) string {
	took := time.Duration(o.Seconds * float64(time.Second))
	word := string(o.Verdict)
	if o.Verdict == Waiting {
		took, word = time.Since(p.began), "running"
	}
	if o.Followed {
		word = "superseded by " + Clean(o.Relevant) + ": " + word
	}
	line := fmt.Sprintf("%s  %s  %s  %s", lead, label(o), word, elapsed(took))
	for _, detail := range []string{o.Reason, o.URL} {
		if detail != "" && (o.Verdict != Waiting || detail == o.URL) {
			line += p.separator() + Clean(detail)
		}
	}
	return line
}

func (p *progress) separator() string {
	if p.console.Live {
		return "\n"
	}
	return "  "
}

func label(o Outcome) string {
	if o.Trigger != "" {
		return Clean(o.Trigger) + "  " + Clean(o.Run)
	}
	return Clean(o.Run)
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05") }
