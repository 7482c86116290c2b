package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/handon"
	"github.com/postflight-dev/postflight/internal/server/auth"
)

// authFailures are by the status of the authenticator's error.
var authFailures = map[int]exchange.Failure{
	http.StatusBadRequest: {Code: "invalid_request", Message: "The headers of the request contradict each other."},
	http.StatusUnauthorized: {Code: "unauthenticated",
		Message: "The API key is missing or not valid. Send it in one header, \"Authorization: Bearer <API key>\", " +
			"and check that it was not revoked."},
	http.StatusForbidden: {Code: "forbidden",
		Message: "The sender of this request may not do this. \"postflight whoami\" says what it may do."},
	http.StatusServiceUnavailable: {Code: "unavailable",
		Message: "API keys and tokens cannot be checked at the moment. Send the request again in a minute."},
}

func (a *API) authenticate(r *exchange.Request, action grant.Action) error {
	actions := []grant.Action{action}
	if action == Anything {
		actions = grant.Actions
	}
	principal, err := a.Authenticate(r.Request, actions...)
	if errors.Is(err, auth.ErrTeamSuspended) {
		return &exchange.Failure{Code: "team_suspended", Cause: err,
			Message: "The team of this API key or token is suspended. Ask the operator of this service to enable it."}
	}
	if err != nil {
		return refusedHub(r, exchange.AuthFailure(err, authFailures))
	}
	r.Principal = principal
	return delegated(r)
}

// refusedHub tells a hub from the sender for which it asks: only the operator can change what the hub may do.
func refusedHub(r *exchange.Request, err error) error {
	f, ok := errors.AsType[*exchange.Failure](err)
	if !ok || f.Code != "forbidden" || r.Header.Get(delegation.Header) == "" {
		return err
	}
	return &exchange.Failure{Code: "cluster_refused", Cause: err, Message: "The cluster does not let this hub act for the Team, if it has " +
		"one of that name: " + f.Message}
}

// delegated takes the rights away that a hub does not ask for.
func delegated(r *exchange.Request) error {
	values := r.Header.Values(delegation.Header)
	if len(values) == 0 {
		return nil
	}
	d, err := delegation.Decode(values[0])
	if err != nil || len(values) > 1 {
		return exchange.InvalidRequest("The header %s is malformed. Only hubs send it: leave it out.", delegation.Header)
	}
	r.Delegation = d
	r.Principal.Grant = d.Narrow(r.Principal.Grant)
	r.Principal.Sender.Text = d.By(r.Principal.Sender.Text)
	r.AddToAudit("hub", d.Hub, "onBehalfOf", d.For)
	return nil
}

// authorize refuses what the sender may not do, whatever it sends. The handler checks what depends on the body.
func (a *API) authorize(r *exchange.Request, action grant.Action) error {
	granted := r.Principal.Grant
	switch {
	case action == Anything:
		return nil
	case !granted.Allows(action) && r.Delegation != nil:
		return &exchange.Failure{Code: "cluster_refused", Message: fmt.Sprintf("The cluster does not give this hub the right to %s for the Team "+
			"%s. Add it to allow of %s %s there.", rights[action], r.Team(), r.Principal.Sender.Kind, r.Principal.Sender.Name)}
	case !granted.Allows(action):
		return exchange.Forbidden("You may not do this: it takes the right to %s, and you have %s. "+
			"Ask your team for more, or use an API key. \"postflight whoami\" says what you may do.", rights[action], rightsOf(granted))
	case len(granted.Runs) > 0 && r.PathValue("id") == "":
		return exchange.Forbidden("This token reads certain runs only, and a verdict is about all runs of a commit. " +
			"Use the token of the job, or an API key.")
	default:
		return nil
	}
}

// authorizeSubject refuses runs and Environments of this cluster that the sender may not know.
func (a *API) authorizeSubject(r *exchange.Request, s handon.Subject) error {
	if s == handon.Environment && r.Principal.Grant.Delegated() && handon.EnvironmentOf(r) == "" {
		return exchange.InvalidRequest("A hub asks about the Environments that it names. Send environment.")
	}
	if s == handon.Environment {
		return a.Topics.Overview.CheckKnown(r, handon.EnvironmentOf(r))
	}
	if s != handon.Run {
		return nil
	}
	if len(r.Principal.Grant.Runs) > 0 {
		if err := a.Topics.Runs.CheckGrant(r); err != nil {
			return err
		}
	}
	if r.Principal.Grant.Delegated() {
		return a.Topics.Runs.CheckKnown(r)
	}
	return nil
}

// rights complete "the right to".
var rights = map[grant.Action]string{
	grant.Notify: "notify", grant.Upload: "upload", grant.Outcome: "read outcomes", grant.Read: "read", grant.Act: "cancel and repeat runs",
}

func rightsOf(g grant.Grant) string {
	if len(g.Actions) == 0 {
		return "none"
	}
	var all []string
	for _, action := range g.Actions {
		all = append(all, rights[action])
	}
	return "that to " + strings.Join(all, ", ")
}
