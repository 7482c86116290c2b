package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
)

// Greenlighter tells how a run is, as soon as there is news.
type Greenlighter interface {
	Greenlight(ctx context.Context, id string, wait time.Duration) (*client.Greenlight, error)
}

// Verdict is how a run ended, for who waited for it.
type Verdict string

// The verdicts.
const (
	Waiting    Verdict = "waiting"
	Passed     Verdict = "passed"
	Failed     Verdict = "failed"
	Canceled   Verdict = "canceled"
	Superseded Verdict = "superseded"
	NoOutcome  Verdict = "no outcome"
)

// codes are what a pipeline is told. Where runs differ, the first of this list counts that one has:
// that something failed is known for good.
var codes = []struct {
	verdict Verdict
	code    int
}{{Failed, ExitFailed}, {NoOutcome, ExitTrouble}, {Canceled, ExitCanceled}, {Superseded, ExitCanceled}, {Passed, ExitPassed}}

// Outcome is what is known of one run.
type Outcome struct {
	Run      string  `json:"run"`
	Trigger  string  `json:"trigger,omitempty"`
	Verdict  Verdict `json:"verdict"`
	Relevant string  `json:"relevantRun,omitempty"` // another one where the run was superseded
	Followed bool    `json:"followed,omitempty"`    // the verdict is that of relevantRun, so of a newer deployment; this one was not tested
	URL      string  `json:"url,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	Seconds  float64 `json:"seconds"` // waited
}

// Wait says how to wait.
type Wait struct {
	Greenlighter
	Console *Console
	Follow  bool          // the run that supersedes counts
	Timeout time.Duration // for all of them
}

// For waits for the runs, all at once, and prints how each is. The outcomes are in their order.
func (w *Wait) For(ctx context.Context, runs []Outcome) []Outcome {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	p := startProgress(w.Console, runs)
	defer p.stop()
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() { w.one(ctx, runs[i].Run, func(change func(*Outcome)) { p.update(i, change) }) })
	}
	group.Wait()
	outcomes := p.outcomes()
	w.warn(outcomes)
	return outcomes
}

// warn says that an exit code of 0 does not speak of what was notified.
func (w *Wait) warn(outcomes []Outcome) {
	followed := slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return !o.Followed })
	if len(followed) > 0 {
		w.Console.Note("%d of %d runs were superseded and had no result. As --follow asks, the outcome is that of the newer deployment: do not promote the older one on it.",
			len(followed), len(outcomes))
	}
}

// one follows a run to its end.
func (w *Wait) one(ctx context.Context, run string, update func(func(*Outcome))) {
	for wait := time.Duration(0); ; wait = client.MaxWait {
		began := time.Now()
		answer, err := w.Greenlight(ctx, run, wait)
		if err != nil {
			reason := w.noOutcome(ctx, err)
			update(func(o *Outcome) { o.Verdict, o.Reason = NoOutcome, reason })
			return
		}
		verdict := verdictOf(answer, w.Follow)
		update(func(o *Outcome) {
			o.Verdict, o.Relevant, o.URL = verdict, answer.RelevantRunID, answer.RelevantRunURL
			o.Reason = reasonOf(answer, verdict)
			o.Followed = verdict != Superseded && answer.RelevantRunID != answer.RootRunID
		})
		if verdict != Waiting {
			return
		}
		if wait > 0 && time.Since(began) < time.Second { // news that ended nothing, or a server that does not wait
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

func (w *Wait) noOutcome(ctx context.Context, err error) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("The run had not ended after %s. Raise --timeout, or look at the run.", w.Timeout)
	case ctx.Err() != nil:
		return "Stopped waiting; the run goes on."
	default:
		return err.Error()
	}
}

func verdictOf(a *client.Greenlight, follow bool) Verdict {
	switch {
	case a.RelevantRunID != a.RootRunID && !follow:
		return Superseded
	case a.RunStage == httpapi.Completed && a.Greenlight:
		return Passed
	case a.RunStage == httpapi.Completed:
		return Failed
	case a.RunStage == httpapi.Canceled:
		return Canceled
	default:
		return Waiting
	}
}

func reasonOf(a *client.Greenlight, v Verdict) string {
	switch {
	case v == Superseded:
		return "A newer deployment is being tested by " + a.RelevantRunID + ", and this one has no result. --follow waits for the newer one instead."
	case v == Failed && a.Bugs != nil && len(a.ReproducedBugs) > 0:
		return a.ReproducedBugs[0].Name
	default:
		return ""
	}
}

// verdictError is the error that makes the process end as the outcomes demand; nil if all passed.
func verdictError(outcomes []Outcome) error {
	for _, c := range codes {
		var runs []string
		for _, o := range outcomes {
			if o.Verdict == c.verdict {
				runs = append(runs, o.Run)
			}
		}
		if len(runs) > 0 && c.code != ExitPassed {
			return exitf(c.code, "%d of %d runs: %s: %s", len(runs), len(outcomes), c.verdict, strings.Join(runs, ", "))
		}
	}
	return nil
}

// Runs waits for runs that somebody named, prints the outcomes and ends as they demand.
func (w *Wait) Runs(ctx context.Context, ids []string) error {
	runs := make([]Outcome, len(ids))
	for i, id := range ids {
		runs[i] = Outcome{Run: id, Verdict: Waiting}
	}
	outcomes := w.For(ctx, runs)
	if w.Console.JSON {
		if err := w.Console.WriteJSON(map[string]any{"runs": outcomes}); err != nil {
			return Trouble(err)
		}
	}
	return verdictError(outcomes)
}
