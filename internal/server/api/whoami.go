package api

import (
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

func (a *API) whoAmI(w http.ResponseWriter, r *exchange.Request) error {
	p := r.Principal
	answer := httpapi.WhoAmI{
		Sender: httpapi.Sender{Kind: p.Sender.Kind, Name: p.Sender.Name}, Team: p.Team.Name, Namespace: p.Team.NamespaceName(),
		Actions: []string{}, DeploymentTypes: p.Grant.DeploymentTypes, Environments: p.Grant.Environments, Commit: p.Grant.Commit,
		Runs: p.Grant.Runs,
	}
	for _, action := range grant.Actions {
		if p.Grant.Allows(action) {
			answer.Actions = append(answer.Actions, string(action))
		}
	}
	if !p.Expires.IsZero() {
		answer.ExpiresAt = new(p.Expires.UTC())
	}
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}
