package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/apierror"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// readLogs answers with the logs of a run: from its pods while these exist, and else from the archive.
func (a *API) readLogs(w http.ResponseWriter, r *Request) error {
	query, err := logQueryOf(r.URL)
	if err != nil {
		return err
	}
	name := r.runName()
	found, err := a.findRun(r)
	if err != nil {
		return err
	}
	if !r.moveTo(a.Runs.Sending) {
		return overloaded("The server is sending logs for as many requests as it can, or for as many of this team as leave room for others. " +
			"Send the request again in a few seconds.")
	}
	r.forget()
	l := &logRequest{API: a, run: found, name: name, query: query, out: a.newLogWriter(w, query.follow)}
	if query.follow {
		err = l.follow(r.Context())
	} else {
		err = l.send(r.Context())
	}
	r.audit = append(r.audit, "suite", name.Name, "bytes", l.out.written)
	if r.Context().Err() != nil {
		return nil // the client is gone
	}
	return err
}

// logRequest is a request for logs of one run.
type logRequest struct {
	*API
	run   *runs.Run
	name  types.NamespacedName
	query logQuery
	out   *logWriter
	seen  bool // the cache has had the Suite
}

// send sends the logs that exist.
func (l *logRequest) send(ctx context.Context) error {
	sources, err := l.sources(ctx)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return l.nothing(ctx)
	}
	if len(sources) == 1 {
		return l.sendOne(ctx, sources[0], nil)
	}
	for _, s := range sources {
		if err := l.sendOne(ctx, s, func() { l.out.title(s.String()) }); err != nil {
			return err
		}
	}
	return nil
}

// sources lists the logs of now.
func (l *logRequest) sources(ctx context.Context) ([]runs.Log, error) {
	logs, err := l.Runs.Logs(ctx, l.run, l.query.LogQuery)
	return logs, lookupFailure(err)
}

// nothing says why there is no log, and what to do.
func (l *logRequest) nothing(ctx context.Context) error {
	f := &failure{code: "log_not_found"}
	all := logQuery{LogQuery: runs.LogQuery{Container: l.query.Container, Previous: l.query.Previous}}
	switch others := l.named(ctx, all); {
	case len(others) > 0:
		f.message = fmt.Sprintf("The run has no such log. It has those of %s.", strings.Join(others, ", "))
	case l.query.Previous:
		f.message = "The run has no log from before a restart: Kubernetes restarted no such container. Leave previous out."
	case !l.run.Suite.Finished():
		f.message = fmt.Sprintf("The run has no such log yet. Its state is %s: %s Ask again later, or with follow=true.", l.run.Shown().State, l.run.Shown().Message)
	default:
		f.message = fmt.Sprintf("The run has no such log. It ended as %s: %s%s", l.run.Shown().State, l.run.Shown().Message, l.whyGone())
	}
	return f
}

// named are the logs that there are instead, a few of them. It asks again, because a wrong name is rare.
func (l *logRequest) named(ctx context.Context, q logQuery) (names []string) {
	any := &logRequest{API: l.API, run: l.run, query: q}
	sources, err := any.sources(ctx)
	if len(sources) == 0 && err == nil && q.Container != "" {
		any.query.Container = ""
		sources, _ = any.sources(ctx)
	}
	for _, s := range sources[:min(len(sources), maxNamedLogs)] {
		names = append(names, s.String())
	}
	return names
}

// whyGone is empty if nothing is known.
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

// sendOne sends one log, after its title.
func (l *logRequest) sendOne(ctx context.Context, s runs.Log, title func()) error {
	if s.Lost != "" {
		return l.sendLost(s.Lost, title)
	}
	log, err := l.Runs.OpenLog(ctx, l.run, s, l.query.tail)
	if err != nil {
		f := logFailure(err)
		if title != nil && f.code == "log_not_found" {
			return l.sendLost(f.message, title)
		}
		return f
	}
	defer log.Close()
	return l.copy(ctx, log, title)
}

// sendLost says in the place of one of several logs why it is missing.
func (l *logRequest) sendLost(problem string, title func()) error {
	if title == nil {
		return &failure{code: "log_not_found", message: problem}
	}
	title()
	return l.out.line("[" + problem + "]")
}

func (l *logRequest) copy(ctx context.Context, log io.Reader, title func()) error {
	l.out.begin()
	if title != nil {
		title()
	}
	_, err := io.CopyBuffer(l.out, log, make([]byte, logBuffer))
	if err == nil {
		return nil
	}
	return brokenOff(errors.Join(err, context.Cause(ctx)))
}

func brokenOff(err error) error {
	return &failure{code: "unavailable", cause: err, message: "The log broke off. Send the request again."}
}

// logFailure says why a log cannot be read, and what to do.
func logFailure(err error) *failure {
	switch {
	case errors.Is(err, apierror.ErrNotStarted):
		return &failure{code: "log_not_found", cause: err, message: "The container has not started. Ask again later, or with follow=true."}
	case errors.Is(err, apierror.ErrLogGone), errors.Is(err, fs.ErrNotExist):
		return &failure{code: "log_not_found", cause: err, message: "The log is gone, because its container, pod or node is, and the archive does not have it."}
	case errors.Is(err, apierror.ErrNodeUnreachable):
		return &failure{code: "unavailable", cause: err, message: "The node of the pod does not hand out the log. Ask again in a minute."}
	default:
		return &failure{code: "unavailable", cause: err, message: "The log cannot be read at the moment. Ask again in a few seconds."}
	}
}
