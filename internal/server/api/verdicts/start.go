package verdicts

import (
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// Start starts the runs that a verdict lacks, and returns the verdict afterwards.
func (a *API) Start(w http.ResponseWriter, r *exchange.Request) error {
	a.StartSpan(r)
	q, _, err := queryOf(r)
	if err != nil {
		return err
	}
	v, err := a.read(r.Context(), q)
	if err != nil {
		return err
	}
	var all []verdicts.Started
	if len(v.Starts()) > 0 || v.Newest == nil {
		if obstacle := verdicts.Obstacle(v); obstacle != "" {
			return &exchange.Failure{Code: "refused", Message: obstacle}
		}
		if all, err = verdicts.Start(r.Context(), a.Dispatcher, r.Command(), v); err != nil {
			return exchange.DispatchFailure(err, dispatch.Result{})
		}
	}
	after := verdicts.After(v, all)
	answer := a.started(all)
	answer.Verdict = after.Shown(r.Team(), a.PublicURL)
	r.AddToAudit("environment", q.Environment, "sha", q.Commit.Revision, "verdict", string(after.State), "started", len(answer.Started))
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func (a *API) started(all []verdicts.Started) httpapi.StartedVerdict {
	answer := httpapi.StartedVerdict{Started: []httpapi.StartedRun{}}
	for _, s := range all {
		if s.Run == nil {
			answer.Problems = append(answer.Problems, httpapi.StartProblem{Trigger: s.Trigger, Service: s.Service, Reason: s.Problem})
			continue
		}
		answer.Started = append(answer.Started, httpapi.StartedRun{Trigger: s.Trigger, Service: s.Service, Run: s.Run.Name,
			URL: suite.PageURL(a.PublicURL, s.Run.Namespace, s.Run.Name)})
	}
	return answer
}
