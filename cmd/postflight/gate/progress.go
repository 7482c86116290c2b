package gate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

// reminderInterval is how often a log says that nothing has changed: CI systems kill jobs that print
// nothing for ten minutes.
const reminderInterval = time.Minute

var (
	frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	marks  = map[verdict]struct {
		sign  string
		color cli.Color
	}{
		passed: {"✓", cli.Green}, failed: {"✗", cli.Red}, noOutcome: {"!", cli.Red}, canceled: {"■", cli.Yellow},
		superseded: {"↷", cli.Yellow}, different: {"≠", cli.Yellow}, changed: {"?", cli.Yellow},
	}
)

// progress shows runs until they end: on a terminal in lines that are redrawn, in a log with a line per change.
type progress struct {
	console *cli.Console
	began   time.Time
	ended   chan struct{}
	ticker  sync.WaitGroup

	mu    sync.Mutex
	runs  []RunStatus
	drawn int // lines that the next frame replaces
}

func startProgress(console *cli.Console, runs []RunStatus) *progress {
	p := &progress{console: console, began: time.Now(), ended: make(chan struct{}), runs: slices.Clone(runs)}
	console.SetDrawing(true)
	for _, r := range runs {
		if r.Verdict != waiting && !console.Live {
			console.Print(p.line(r, timestamp()))
		}
	}
	interval := reminderInterval
	if console.Live {
		interval = cli.FrameInterval
	}
	p.ticker.Go(func() { p.tick(interval) })
	return p
}

func (p *progress) tick(interval time.Duration) {
	ticker := time.NewTicker(interval)
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

// Update changes what is known of a run.
func (p *progress) Update(i int, change func(*RunStatus)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.runs[i]
	change(&p.runs[i])
	p.runs[i].Seconds = time.Since(p.began).Seconds()
	after := p.runs[i]
	news := before.Verdict != after.Verdict || before.Relevant != after.Relevant ||
		before.state != after.state || before.Reason != after.Reason
	if news && !p.console.Live {
		p.console.Print(p.line(after, timestamp()))
	}
}

// Stop draws the last frame, and returns the runs.
func (p *progress) Stop() []RunStatus {
	close(p.ended)
	p.ticker.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.console.SetDrawing(false)
	if p.console.Live {
		p.draw(frames[0], true)
	}
	return p.runs
}

func (p *progress) remind() {
	for _, r := range p.runs {
		if r.Verdict == waiting {
			p.console.Print(p.line(r, timestamp()))
		}
	}
}

// draw replaces the lines of the frame before. Each is cleared to its end; none may wrap, or the cursor would
// not return to where the frame began.
func (p *progress) draw(frame string, last bool) {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	p.drawn = 0
	noWrap, wrap := "\x1b[?7l", "\x1b[?7h"
	if last {
		noWrap, wrap = "", "" // no frame follows, and nothing may be cut off
	}
	for _, r := range p.runs {
		mark := frame
		if m, ok := marks[r.Verdict]; ok {
			mark = p.console.Paint(m.color, m.sign)
		}
		for i, line := range strings.Split(p.line(r, mark), "\n") {
			if i > 0 {
				line = "    " + line
			}
			fmt.Fprintf(&b, "\r\x1b[K%s%s%s\n", noWrap, line, wrap)
			p.drawn++
		}
	}
	p.console.Mu.Lock()
	defer p.console.Mu.Unlock()
	fmt.Fprint(p.console.Err, b.String())
}

// line is one run. On a terminal, the reason and the link have lines of their own.
func (p *progress) line(r RunStatus, start string) string {
	took := time.Duration(r.Seconds * float64(time.Second))
	word := string(r.Verdict)
	if r.Verdict == waiting {
		took = time.Since(p.began)
		if r.state != "" {
			word = strings.ToLower(cli.Clean(r.state))
		}
	}
	if r.Followed {
		word = "superseded by " + cli.Clean(r.Relevant) + ": " + word
	}
	if r.Retried {
		word = "no result, repeated by " + cli.Clean(r.Relevant) + ": " + word
	}
	parts := []string{start, cli.Clean(r.Run), word, took.Truncate(time.Second).String()}
	if r.Trigger != "" {
		parts = slices.Insert(parts, 1, cli.Clean(r.Trigger))
	}
	line, separator := strings.Join(parts, "  "), "  "
	if p.console.Live {
		separator = "\n"
	}
	for _, detail := range []string{r.Reason, r.URL} {
		if detail != "" {
			line += separator + cli.Clean(detail)
		}
	}
	return line
}

func timestamp() string { return time.Now().UTC().Format(time.TimeOnly) }
