package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// ReadLogs sends logs of a run, one after the other.
func (a *API) ReadLogs(w http.ResponseWriter, r *exchange.Request) error {
	query, err := logQueryOf(r.URL)
	if err != nil {
		return err
	}
	name := runName(r)
	found, err := a.findRun(r)
	if err != nil {
		return err
	}
	if !r.MoveTo(a.Runs.Sending) {
		return exchange.Overloaded("The server is sending logs for as many requests as it can, or for as many of this team as leave room " +
			"for others. " +
			"Send the request again in a few seconds.")
	}
	r.Forget()
	l := &logRequest{API: a, run: found, name: name, query: query, out: a.newLogWriter(w, query.follow)}
	if query.follow {
		err = l.follow(r.Context())
	} else {
		err = l.send(r.Context())
	}
	r.AddToAudit("suite", name.Name, "bytes", l.out.written)
	if r.Context().Err() != nil {
		return nil // the client is gone
	}
	return err
}

type logQuery struct {
	runs.LogQuery
	follow bool
	tail   int // lines; negative: all
}

func logQueryOf(u *url.URL) (q logQuery, err error) {
	p, err := exchange.ParametersOf(u.RawQuery, "pod", "container", "previous", "tail", "follow")
	if err != nil {
		return q, err
	}
	q.Pod, q.Container = p["pod"], p["container"]
	if q.Previous, err = p.Boolean("previous"); err != nil {
		return q, err
	}
	if q.follow, err = p.Boolean("follow"); err != nil {
		return q, err
	}
	q.follow = q.follow && !q.Previous // which has ended
	q.tail, err = p.Number("tail", 0, limits.MaxTail, runs.AllLines)
	return q, err
}

type logRequest struct {
	*API
	run   *runs.Run
	name  types.NamespacedName
	query logQuery
	out   *logWriter
}

func (l *logRequest) send(ctx context.Context) error {
	sources, err := l.sources(ctx)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return l.nothing(ctx)
	}
	for _, s := range sources {
		if err := l.followOne(ctx, s, true, len(sources) > 1); err != nil {
			return err
		}
	}
	return nil
}

// follow sends one log after the other until the run has ended.
func (l *logRequest) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Limits.MaxFollow, errFollowedLong)
	defer cancel()
	following := l.Runs.Follow(l.run, l.name, l.query.LogQuery, l.Limits.PodPoll)
	for none := true; ; none = false {
		next, err := following.Next(ctx, l.Limits.MaxWait)
		switch {
		case errors.Is(err, io.EOF) && none:
			return l.nothing(ctx)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, runs.ErrBrokenOff):
			return brokenOff(err)
		case err != nil:
			return lookupFailure(err)
		}
		if err := l.followOne(ctx, next, following.Ended, following.Several); err != nil {
			return err
		}
	}
}

// followOne sends a log until the container ends.
func (l *logRequest) followOne(ctx context.Context, s runs.Log, ended, titled bool) error {
	var title func()
	if titled {
		title = func() { l.out.title(s.String()) }
	}
	if !s.Live || ended {
		return l.sendOne(ctx, s, title)
	}
	log := l.Runs.FollowLog(ctx, l.run, s, l.query.tail)
	defer log.Close()
	return l.copy(ctx, log, title)
}

func (l *logRequest) sources(ctx context.Context) ([]runs.Log, error) {
	logs, err := l.Runs.Logs(ctx, l.run, l.query.LogQuery)
	return logs, lookupFailure(err)
}

// nothing returns why there is no log, and what to do.
func (l *logRequest) nothing(ctx context.Context) error {
	f := &exchange.Failure{Code: "log_not_found"}
	all := logQuery{LogQuery: runs.LogQuery{Container: l.query.Container, Previous: l.query.Previous}}
	others := l.named(ctx, all)
	switch {
	case len(others) > 0:
		f.Message = fmt.Sprintf("The run has no such log. It has those of %s.", strings.Join(others, ", "))
	case l.query.Previous:
		f.Message = "The run has no log from before a restart: Kubernetes restarted no such container. Leave previous out."
	case !l.run.Suite.Finished():
		f.Message = fmt.Sprintf("The run has no such log yet. Its state is %s: %s Ask again later, or with follow=true.", l.run.Shown().State,
			l.run.Shown().Message)
	default:
		f.Message = fmt.Sprintf("The run has no such log. It ended as %s: %s%s", l.run.Shown().State, l.run.Shown().Message, l.whyGone())
	}
	return f
}

// named returns the names of a few other logs. It asks again, because a wrong name is rare.
func (l *logRequest) named(ctx context.Context, q logQuery) (names []string) {
	any := &logRequest{API: l.API, run: l.run, query: q}
	sources, err := any.sources(ctx)
	if len(sources) == 0 && err == nil && q.Container != "" {
		any.query.Container = ""
		sources, _ = any.sources(ctx)
	}
	for _, s := range sources[:min(len(sources), limits.MaxNamedLogs)] {
		names = append(names, s.String())
	}
	return names
}

// whyGone returns why logs are missing, as a sentence after a space, or "".
func (l *logRequest) whyGone() string {
	if !l.Runs.HasArchive() {
		return " No object store is configured, so logs end with their pods. Ask the operator of this service for one."
	}
	if l.run.Archived() {
		return ""
	}
	if c := meta.FindStatusCondition(l.run.Suite.Status.Conditions, v1alpha1.ConditionArchived); c != nil {
		return " " + c.Message
	}
	return " It is being archived. Ask again in a minute."
}

func (l *logRequest) sendOne(ctx context.Context, s runs.Log, title func()) error {
	if s.Lost != "" {
		return l.sendLost(s.Lost, title)
	}
	log, err := l.Runs.OpenLog(ctx, l.run, s, l.query.tail)
	if err != nil {
		f := logFailure(err)
		if title != nil && f.Code == "log_not_found" {
			return l.sendLost(f.Message, title)
		}
		return f
	}
	defer log.Close()
	return l.copy(ctx, log, title)
}

func (l *logRequest) sendLost(problem string, title func()) error {
	if title == nil {
		return &exchange.Failure{Code: "log_not_found", Message: problem}
	}
	title()
	return l.out.line("[" + problem + "]")
}

func (l *logRequest) copy(ctx context.Context, log io.Reader, title func()) error {
	l.out.begin()
	if title != nil {
		title()
	}
	_, err := io.CopyBuffer(l.out, log, make([]byte, limits.LogBuffer))
	if err == nil {
		return nil
	}
	return brokenOff(errors.Join(err, context.Cause(ctx)))
}

func brokenOff(err error) error {
	return &exchange.Failure{Code: "unavailable", Cause: err, Message: "The log broke off. Send the request again."}
}

func logFailure(err error) *exchange.Failure {
	switch {
	case errors.Is(err, apierror.ErrNotStarted):
		return &exchange.Failure{Code: "log_not_found", Cause: err,
			Message: "The container has not started. Ask again later, or with follow=true."}
	case errors.Is(err, apierror.ErrLogGone), errors.Is(err, fs.ErrNotExist):
		return &exchange.Failure{Code: "log_not_found", Cause: err,
			Message: "The log is gone, because its container, pod or node is, and the archive does not have it."}
	case errors.Is(err, apierror.ErrNodeUnreachable):
		return &exchange.Failure{Code: "unavailable", Cause: err,
			Message: "The node of the pod does not hand out the log. Ask again in a minute."}
	default:
		return &exchange.Failure{Code: "unavailable", Cause: err, Message: "The log cannot be read at the moment. Ask again in a few seconds."}
	}
}
