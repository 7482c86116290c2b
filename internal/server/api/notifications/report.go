package notifications

import (
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// reported is the answer to a report: what its clients know, and what a notification is answered with.
type reported struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	*httpapi.NotificationResult
}

// ReportStatus takes the status of a deployment. A success is a notification; the id of the deployment is its Idempotency-Key, so that
// another success of the deployment and the same commit starts nothing, unless the first run has no result.
func (a *API) ReportStatus(w http.ResponseWriter, r *exchange.Request) error {
	a.StartSpan(r)
	if err := refuseOptions(r.Request); err != nil {
		return err
	}
	report, err := a.readReport(w, r)
	if err != nil {
		return err
	}
	answer := reported{ID: report.ID, URL: publicurl.Join(a.PublicURL, "/")}
	r.AddToAudit("deployment", report.ID, "status", report.Status)
	if report.Status != notification.DeploymentSuccess {
		exchange.WriteTRPC(w, answer)
		return nil
	}
	request, err := granted(r, report.Notification)
	if err != nil {
		return err
	}
	request.IdempotencyKey = "deployment/" + report.ID
	if answer.NotificationResult, _, err = a.dispatch(r, request); err != nil {
		return err
	}
	if e := answer.Environment; e != nil {
		answer.URL = publicurl.Join(a.PublicURL, "/environments/"+r.Principal.Team.NamespaceName()+"/"+e.Alias)
	}
	exchange.WriteTRPC(w, answer)
	return nil
}

// refuseOptions refuses the options of notifications, because the client may believe that nothing is created, or something else.
func refuseOptions(r *http.Request) error {
	o, err := optionsOf(r)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(r.Header)
	switch {
	case err != nil:
		return err
	case key != "":
		return &exchange.Failure{Code: "invalid_idempotency_key",
			Message: "A report takes no Idempotency-Key, because its providerDeploymentId is one. Leave the header out."}
	case o.mode == dispatch.DryRun:
		return exchange.InvalidRequest("A report takes no dryRun (nor the header X-Dry-Run). Leave it out, or try a notification of the " +
			"deployment instead: POST /api/webhooks/deploy_success?dryRun=true.")
	case o.rerun:
		return exchange.InvalidRequest("A report takes no rerun. Leave it out, or send a notification of the deployment instead: " +
			"POST /api/webhooks/deploy_success?rerun=true.")
	}
	return nil
}

func (a *API) readReport(w http.ResponseWriter, r *exchange.Request) (*notification.Report, error) {
	body, err := a.readBody(w, r, "application/json", dispatch.Create)
	if err != nil {
		return nil, err
	}
	report, err := notification.DecodeReport(body)
	if err != nil {
		return nil, exchange.InvalidBody(err)
	}
	return report, nil
}
