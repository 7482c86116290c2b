package notifications

import (
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// EnvironmentTerminated ends the runs of an Environment that is gone.
func (a *API) EnvironmentTerminated(w http.ResponseWriter, r *exchange.Request) error {
	if err := a.Admit(r, "application/json", dispatch.Create); err != nil {
		return err
	}
	body, err := a.ReadBody(w, r, a.Limits.BodyBytes)
	if err != nil {
		return err
	}
	t, err := notification.DecodeTermination(body)
	if err != nil {
		return exchange.InvalidBody(err)
	}
	ended, err := a.Dispatcher.Terminate(r.Context(), r.Command(), t)
	if err != nil {
		return exchange.DispatchFailure(err, dispatch.Result{})
	}
	answer := newTerminationResult(ended)
	for _, e := range answer.Results {
		r.AddToAudit("environment", e.EnvironmentAlias, "suites", e.Runs)
	}
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func newTerminationResult(ended []dispatch.Terminated) httpapi.TerminationResult {
	answer := httpapi.TerminationResult{EnvironmentID: string(ended[0].Environment.UID)}
	for _, e := range ended {
		answer.Results = append(answer.Results, httpapi.Terminated{
			EnvironmentID: string(e.Environment.UID), EnvironmentAlias: e.Environment.Name, Code: "terminated",
			Runs: append([]string{}, e.Runs[:min(len(e.Runs), limits.MaxTerminatedRuns)]...), // never null
		})
	}
	return answer
}
