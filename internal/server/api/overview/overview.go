package overview

import (
	"errors"
	"net/http"

	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

// Get sums up what the team has here, as its pages show it.
func (a *API) Get(w http.ResponseWriter, r *exchange.Request) error {
	if _, err := exchange.ParametersOf(r.URL.RawQuery); err != nil {
		return err
	}
	team := r.Principal.Team
	namespace := team.NamespaceName()
	triggers, triggersErr := index.Triggers(r.Context(), a.Cache, namespace)
	environments, environmentsErr := index.Environments(r.Context(), a.Cache, namespace)
	if err := errors.Join(triggersErr, environmentsErr); err != nil {
		return &exchange.Failure{Code: "unavailable", Cause: err,
			Message: "Triggers and Environments cannot be looked up at the moment. Ask again in a few seconds."}
	}
	subject := hub.Subject{
		Team: team, Triggers: triggers, Environments: environments, Runs: a.Newest(namespace), PublicURL: a.PublicURL,
	}
	if granted := r.Principal.Grant; granted.Delegated() {
		subject = subject.Known(granted)
	}
	answer := hub.OverviewOf(subject, a.Clock.Now())
	r.AddToAudit("tiles", len(answer.Board), "environments", len(answer.Environments))
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}
