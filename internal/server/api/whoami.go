package api

import (
	"net/http"

	"github.com/go-logr/logr"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/auth"
)

func (a *API) whoAmI(w http.ResponseWriter, r *Request) error {
	p := r.Principal
	answer := httpapi.WhoAmI{
		Sender: httpapi.Sender{Kind: p.Sender.Kind, Name: p.Sender.Name}, Team: p.Team.Name, Namespace: p.Team.NamespaceName(),
		Actions: []string{}, DeploymentTypes: p.Grant.DeploymentTypes, Environments: p.Grant.Environments, Commit: p.Grant.Commit, Runs: p.Grant.Runs,
	}
	for _, action := range grant.Actions {
		if p.Grant.Allows(action) {
			answer.Actions = append(answer.Actions, string(action))
		}
	}
	if !p.Expires.IsZero() {
		answer.ExpiresAt = new(p.Expires.UTC())
	}
	writeJSON(w, "application/json", http.StatusOK, answer)
	return nil
}

// addWaitToken is for senders whose token may end before the runs do. One without it can send the notification again.
func (a *API) addWaitToken(r *Request, answer *reply) {
	var runs []string
	for _, result := range answer.Results {
		if id := result.RunID(); id != "" {
			runs = append(runs, id)
		}
	}
	if a.WaitTokens == nil || r.Principal.Sender.Kind == auth.KindKey || len(runs) == 0 {
		return
	}
	token, expires, err := a.WaitTokens.Issue(r.Context(), r.Principal, runs)
	if err != nil {
		logr.FromContextOrDiscard(r.Context()).Info("a notification was answered without a wait token", "cause", err.Error())
		return
	}
	answer.WaitToken, answer.WaitTokenExpiresAt = token, &expires
}
