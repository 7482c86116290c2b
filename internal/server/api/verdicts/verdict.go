package verdicts

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// Get returns the verdict of a commit in an Environment, or waits for it.
func (a *API) Get(w http.ResponseWriter, r *exchange.Request) error {
	q, p, err := queryOf(r, "wait")
	if err != nil {
		return err
	}
	wait, err := p.Number("wait", 0, int(a.Limits.MaxWait.Seconds()), 0)
	if err != nil {
		return err
	}
	v, err := a.await(r, q, time.Duration(wait)*time.Second)
	if err != nil {
		return err
	}
	r.AddToAudit("environment", q.Environment, "sha", q.Commit.Revision, "verdict", string(v.State))
	exchange.WriteJSON(w, http.StatusOK, v.Shown(r.Team(), a.PublicURL))
	return nil
}

// queryOf shares no memory with the Request.
func queryOf(r *exchange.Request, more ...string) (q verdicts.Query, p exchange.Parameters, err error) {
	known := append([]string{"sha", "environment", "repository", "service", "maxAge"}, more...)
	if p, err = exchange.ParametersOf(r.URL.RawQuery, known...); err != nil {
		return q, p, err
	}
	revision := commit.NormalSHA(strings.TrimSpace(p["sha"]))
	switch {
	case revision == "":
		return q, p, exchange.InvalidRequest("Send sha: the whole commit, as it was notified.")
	case p["environment"] == "":
		return q, p, exchange.InvalidRequest("Send environment: the name of the Environment to which the commit was deployed.")
	case !isText(revision, notification.MaxSHABytes), !isText(p["repository"], notification.MaxTextBytes),
		!isText(p["service"], notification.MaxServiceBytes):
		return q, p, exchange.InvalidRequest("Send sha, repository and service as printable text of at most %d, %d and %d bytes.",
			notification.MaxSHABytes, notification.MaxTextBytes, notification.MaxServiceBytes)
	}
	q = verdicts.Query{
		Namespace: r.Principal.Team.NamespaceName(), Environment: p["environment"],
		Commit: commit.New(p["repository"], strings.TrimSpace(p["service"]), revision),
	}
	q.MaxAge, err = maxAgeOf(p)
	return q, p, err
}

func isText(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// maxAgeOf has the bounds of spec.gate.maxAge.
func maxAgeOf(p exchange.Parameters) (time.Duration, error) {
	text, asked := p["maxAge"]
	if !asked {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < limits.MinVerdictAge || d > limits.MaxVerdictAge {
		return 0, exchange.InvalidRequest("Send maxAge as a duration from 1m to 8760h, such as 24h, or leave it out.")
	}
	return d, nil
}

func (a *API) read(ctx context.Context, q verdicts.Query) (verdict.Verdict, error) {
	v, err := a.Reader.Verdict(ctx, q)
	switch {
	case errors.Is(err, verdicts.ErrNotFound):
		return v, &exchange.Failure{Code: "environment_not_found", Cause: err,
			Message: "Environment not found: this team has no Environment of that name. Check the name and the API key; ephemeral Environments " +
				"are deleted after a while, and their verdicts with them."}
	case err != nil:
		return v, &exchange.Failure{Code: "unavailable", Cause: err,
			Message: "The runs of the Environment cannot be looked up at the moment. Ask again in a few seconds."}
	}
	return v, nil
}

// await returns the first verdict if no run can change it soon, and else the next one that differs, or the last one after the wait. While
// it waits, it needs only the digest of the first verdict.
func (a *API) await(r *exchange.Request, q verdicts.Query, wait time.Duration) (verdict.Verdict, error) {
	first, err := a.read(r.Context(), q)
	if err != nil || wait == 0 || isFinal(first) || a.Changes.Closed() {
		return first, err
	}
	if err := r.BeginWait(a.Waiting); err != nil {
		return first, err
	}
	before := digest(first)
	if opens := first.Opens; !opens.IsZero() { // no run changes that
		wait = min(wait, opens.Sub(first.Now))
	}
	r.Forget()
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		changed, unsubscribe := a.Changes.Subscribe(runs.InEnvironment(q.Namespace, q.Environment))
		now, err := a.read(r.Context(), q)
		if err != nil || isFinal(now) || digest(now) != before || ctx.Err() != nil || a.Changes.Closed() {
			unsubscribe()
			return now, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
		unsubscribe()
	}
}

func isFinal(v verdict.Verdict) bool { return v.State != verdict.Running && v.State != verdict.None }

// digest tells verdicts apart, but for times and messages.
func digest(v verdict.Verdict) string {
	parts := []string{string(v.State)}
	for _, r := range v.Requirements {
		run := ""
		if r.Run != nil {
			run = r.Run.Name
		}
		parts = append(parts, r.Trigger, r.Service, string(r.State), run)
	}
	return suite.Hash(parts...)
}
