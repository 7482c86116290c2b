package ready

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Probe is a question that is asked until the answer is right several times in a row.
type Probe struct {
	URL       *url.URL
	SHA       string // that the answer has to name; empty: any
	Status    int
	Pointer   string // of RFC 6901, to the commit in a JSON document; empty: there is none
	Header    string // that has the commit; empty: none has
	Successes int
	Interval  time.Duration
	Timeout   time.Duration

	Client *http.Client
	Log    *slog.Logger
	Clock  Clock
}

// Clock is the time, and how it passes.
type Clock interface {
	Now() time.Time
	// Sleep returns early, with an error, if the context ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// Machine is the clock of this machine.
type Machine struct{}

// Now is the time.
func (Machine) Now() time.Time { return time.Now() }

// Sleep pauses.
func (Machine) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// Error is what was seen until the time was up, as a sentence.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// state is what was seen so far.
type state struct {
	inARow  int    // right answers, up to now
	best    int    // the most of them
	problem string // a clause about the last wrong answer; empty: there was none
	logged  time.Time
	said    string
}

// Wait returns nil once enough answers in a row were right, and otherwise an *Error, or the context's error.
func (p *Probe) Wait(ctx context.Context) error {
	start := p.Clock.Now()
	s := state{}
	p.Log.Info("waiting", "url", p.name(), "for", p.wanted(), "successes", p.Successes, "timeout", plaintext.Duration(p.Timeout))
	for {
		problem := p.ask(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.see(problem); s.inARow >= p.Successes {
			p.Log.Info("ready", "url", p.name(), "after", plaintext.Duration(p.Clock.Now().Sub(start)))
			return nil
		}
		p.log(&s, problem)
		if passed := p.Clock.Now().Sub(start); passed+p.Interval > p.Timeout {
			return &Error{p.late(s)}
		}
		if err := p.Clock.Sleep(ctx, p.Interval); err != nil {
			return err
		}
	}
}

func (s *state) see(problem string) {
	if problem != "" {
		s.inARow, s.problem = 0, problem
		return
	}
	s.inARow++
	s.best = max(s.best, s.inARow)
}

func (p *Probe) log(s *state, problem string) {
	says := problem
	if says == "" {
		says = fmt.Sprintf("is right %d of %d times", s.inARow, p.Successes)
	}
	if now := p.Clock.Now(); says != s.said || now.Sub(s.logged) >= logAtLeast {
		p.Log.Info("not ready", "answer", says)
		s.said, s.logged = says, now
	}
}

// late says what was seen instead of the right version.
func (p *Probe) late(s state) string {
	within := plaintext.Duration(p.Timeout)
	switch {
	case s.best == 0:
		return fmt.Sprintf("%s %s, for %s.", p.name(), s.problem, within)
	case s.problem == "":
		return fmt.Sprintf("%s was right only %s in a row within %s, and has to be %d times.",
			p.name(), plaintext.Count(s.best, "time"), within, p.Successes)
	default:
		return fmt.Sprintf("%s was right at most %s in a row within %s, and has to be %d times. In between, it %s.",
			p.name(), plaintext.Count(s.best, "time"), within, p.Successes, s.problem)
	}
}

func (p *Probe) name() string { return plaintext.Line(p.URL.Redacted(), maxQuote) }

// wanted is a right answer, for people.
func (p *Probe) wanted() string {
	if p.SHA == "" || p.Pointer == "" && p.Header == "" {
		return fmt.Sprintf("status %d", p.Status)
	}
	return commit.ShortSHA(plaintext.Line(p.SHA, maxQuote))
}
