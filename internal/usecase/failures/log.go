package failures

import (
	"context"
	"io"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/view/logtext"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

const (
	maxLogs  = 3        // that are searched for a failure
	maxBytes = 16 << 20 // of a log: with more, the log itself tells more than an excerpt
)

// excerpt takes the lines around a failure from the log of the pod that reported it, or from the last logs.
func (g *gathering) excerpt(ctx context.Context) {
	const unreadable = "The log cannot be read at the moment. Ask again in a few seconds."
	if !g.Runs.Sending.TryAcquire(g.team.Name) {
		g.missing("Too many logs of the team are being read at the moment. Ask again in a few seconds.")
		return
	}
	defer g.Runs.Sending.Release(g.team.Name)
	logs, err := g.Runs.Logs(ctx, g.run, runs.LogQuery{Pod: failedPod(g.Explanation)})
	if err == nil && len(logs) == 0 {
		logs, err = g.Runs.Logs(ctx, g.run, runs.LogQuery{})
	}
	if err != nil {
		g.missing(unreadable)
		return
	}
	for i := len(logs) - 1; i >= max(0, len(logs)-maxLogs); i-- {
		if logs[i].Lost != "" {
			g.missing(logs[i].Lost)
			continue
		}
		excerpt, found, err := g.read(ctx, logs[i])
		if err != nil {
			g.missing(unreadable)
			return
		}
		if found || g.Log == nil {
			g.Log = excerpt
		}
		if found {
			return
		}
	}
}

func (g *gathering) read(ctx context.Context, l runs.Log) (*httpapi.LogExcerpt, bool, error) {
	body, err := g.Runs.OpenLog(ctx, g.run, l, runs.AllLines)
	if err != nil {
		return nil, false, err
	}
	defer body.Close()
	e := failure.NewExcerpt(sought(g.Explanation)...)
	err = logtext.EachLine(io.LimitReader(body, maxBytes), func(_ int, line []byte) bool { return e.Add(line) })
	return e.Of(l.Pod, l.Container), e.Found(), err
}
