package clusters

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
)

// start asks as many questions of the queue as may be asked at once. The caller holds the lock.
func (o *Overviews) start(c *cluster) {
	for len(c.queue) > 0 && o.asking < o.Asking && c.asking < o.allowed(c) {
		e := c.queue[0]
		c.queue = c.queue[1:]
		if o.Clock.Since(e.lookedAt) > o.AskTimeout { // the page has been answered without it
			e.end()
			continue
		}
		o.asking++
		c.asking++
		go o.ask(c, e, e.command)
	}
}

// allowed leaves a cluster that does not answer a single question, so that many of these take nothing from others.
func (o *Overviews) allowed(c *cluster) int {
	if !c.failed.IsZero() {
		return 1
	}
	return o.AskingOne
}

// ask outlives the page: the next one gets the answer.
func (o *Overviews) ask(c *cluster, e *entry, command delegation.Command) {
	ctx, cancel := context.WithTimeout(context.Background(), o.AskTimeout)
	defer cancel()
	begun := o.Clock.Now()
	overview, err := o.Overview(ctx, e.cluster, command)
	if err == nil {
		overview = hub.Bounded(overview)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.Clock.Now()
	refusal, known := errors.AsType[*delegation.Error](err)
	switch e.endedAt = now; {
	case err == nil:
		e.answer = hub.Answer{Overview: &overview, AnsweredAt: now, Took: now.Sub(begun)}
		c.failed, c.why = time.Time{}, ""
	case known && refusal.Refused: // the team may no longer see what it saw
		e.answer = hub.Answer{Problem: o.why(ctx, err)}
	default:
		e.answer.Problem = o.why(ctx, err)
		c.failed, c.why = now, e.answer.Problem
	}
	e.end()
	o.asking--
	c.asking--
	for _, waiting := range o.clusters { // in any order, so that none is always the last
		o.start(waiting)
	}
}

// end wakes the pages that wait.
func (e *entry) end() {
	close(e.open)
	e.open = nil
}

// maxProblem bounds a sentence of a cluster, in bytes.
const maxProblem = 300

// why completes "The cluster NAME ...". It leaves out causes, which name addresses inside of networks: visitors of public pages see it, and
// the operator finds the cause in the condition Ready of the Cluster.
func (o *Overviews) why(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("did not answer within %s", plaintext.Duration(o.AskTimeout))
	}
	text := "cannot be asked at the moment"
	if known, ok := errors.AsType[*delegation.Error](err); ok {
		text = known.Message
	}
	return strings.TrimSuffix(plaintext.Line(text, maxProblem), ".")
}
