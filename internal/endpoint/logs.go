package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/record"
)

// PodLogs reads logs of containers. Its error wraps one of apierror.OfLog, if it is one of these.
type PodLogs interface {
	Open(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error)
}

// SavedLogs are logs in the archive.
type SavedLogs interface {
	// Logs have only names and compressed sizes.
	Logs(ctx context.Context, r record.Run) ([]record.Log, error)
	OpenLog(ctx context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error)
}

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
	if !r.moveTo(a.logs) {
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
	run   *run
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

// sources lists the logs of now. The archive may be away as long as there are pods.
func (l *logRequest) sources(ctx context.Context) ([]logSource, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Limits.LookupTimeout)
	defer cancel()
	live, err := l.live(ctx, l.query)
	if err != nil {
		return nil, err
	}
	saved, err := l.saved(ctx, l.query)
	if err != nil && len(live) == 0 {
		return nil, archiveAway(err)
	}
	return joined(saved, live), nil
}

func (l *logRequest) live(ctx context.Context, q logQuery) ([]logSource, error) {
	s := l.run.suite
	if s == nil {
		return nil, nil // its pods went with it
	}
	var pods corev1.PodList
	err := l.Live.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.Name})
	if err != nil {
		return nil, unavailable(err)
	}
	return liveSources(slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !record.IsPodOf(s, &p) }), q), nil
}

func (l *logRequest) saved(ctx context.Context, q logQuery) ([]logSource, error) {
	switch {
	case l.run.record != nil:
		return savedSources(l.run.record.Logs, q), nil
	case l.Archive == nil:
		return nil, nil
	}
	logs, err := l.Archive.Logs(ctx, l.run.id)
	return savedSources(logs, q), err
}

// nothing says why there is no log, and what to do.
func (l *logRequest) nothing(ctx context.Context) error {
	f := &failure{code: "log_not_found"}
	all := logQuery{container: l.query.container, previous: l.query.previous}
	switch others := l.named(ctx, all); {
	case len(others) > 0:
		f.message = fmt.Sprintf("The run has no such log. It has those of %s.", strings.Join(others, ", "))
	case l.query.previous:
		f.message = "The run has no log from before a restart: Kubernetes restarted no such container. Leave previous out."
	case l.run.suite != nil && !l.run.suite.Finished():
		f.message = fmt.Sprintf("The run has no such log yet. Its state is %s: %s Ask again later, or with follow=true.", l.run.shown().State, l.run.shown().Message)
	default:
		f.message = fmt.Sprintf("The run has no such log. It ended as %s: %s%s", l.run.shown().State, l.run.shown().Message, l.whyGone())
	}
	return f
}

// named are the logs that there are instead, a few of them. It asks again, because a wrong name is rare.
func (l *logRequest) named(ctx context.Context, q logQuery) (names []string) {
	any := &logRequest{API: l.API, run: l.run, query: q}
	sources, err := any.sources(ctx)
	if len(sources) == 0 && err == nil && q.container != "" {
		any.query.container = ""
		sources, _ = any.sources(ctx)
	}
	for _, s := range sources[:min(len(sources), maxNamedLogs)] {
		names = append(names, s.String())
	}
	return names
}

// whyGone is empty if nothing is known.
func (l *logRequest) whyGone() string {
	if l.Archive == nil {
		return " No object store is configured, so logs end with their pods. Ask the operator of this service for one."
	}
	if l.run.suite == nil {
		return ""
	}
	if c := meta.FindStatusCondition(l.run.suite.Status.Conditions, v1alpha1.ConditionArchived); c != nil {
		return " " + c.Message
	}
	return " It is being archived. Ask again in a minute."
}

// sendOne sends one log, after its title.
func (l *logRequest) sendOne(ctx context.Context, s logSource, title func()) error {
	if s.lost != "" {
		return l.sendLost(s.lost, title)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := l.open(ctx, s)
	if err != nil {
		f := logFailure(err)
		if title != nil && f.code == "log_not_found" {
			return l.sendLost(f.message, title)
		}
		return f
	}
	reader := newStallReader(body, l.Limits.LogStall, func() { cancel(errStalled) })
	defer reader.Close()
	reader.watch()
	return l.copy(ctx, reader, title)
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
