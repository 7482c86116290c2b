package spoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
)

// Notify hands a notification on.
func (c *Clients) Notify(ctx context.Context, cluster string, n delegation.Notification) (*httpapi.NotificationResult, error) {
	query := url.Values{}
	for name, set := range map[string]bool{"dryRun": n.DryRun, "rerun": n.Rerun} {
		if set {
			query.Set(name, "true")
		}
	}
	body, err := json.Marshal(notification.Encode(n.Notification))
	if err != nil {
		return nil, &delegation.Error{Refused: true, Message: "cannot be asked: the notification is not JSON", Cause: err}
	}
	r := newRequest(http.MethodPost, "/api/webhooks/deploy_success", query, body)
	if n.IdempotencyKey != "" {
		r.Header.Set("Idempotency-Key", n.IdempotencyKey)
	}
	answer := &httpapi.NotificationResult{}
	if err := c.ask(ctx, cluster, n.Command, r, answer); err != nil {
		return nil, err
	}
	return answer, checked(answer)
}

// checked returns an error if an answer has what no Postflight sends, and cleans the sentences, which end up in the logs of CI.
func checked(answer *httpapi.NotificationResult) error {
	for i := range answer.Results {
		r := &answer.Results[i]
		id, failed := r.RunID(), r.FailureReason != ""
		both := r.CreatedSuiteID != "" && r.DuplicateSuiteID != ""
		if both || failed == (id != "") || !failed && len(validation.IsDNS1123Label(id)) > 0 {
			return &delegation.Error{Refused: true, Message: "gave an answer that no Postflight gives: a result has neither one run nor a reason"}
		}
		r.TriggerID, r.FailureReason = plaintext.Line(r.TriggerID, maxTrigger), plaintext.Line(r.FailureReason, maxReason)
	}
	return nil
}

const (
	maxTrigger = 63       // of a name, in bytes, as Kubernetes has it
	maxReason  = 16 << 10 // of a failure_reason, in bytes: the longest quote several objects
)

// Terminate returns nothing if the cluster has no such Environment.
func (c *Clients) Terminate(
	ctx context.Context, cluster string, command delegation.Command, t *notification.Termination,
) (*httpapi.TerminationResult, error) {
	body, err := json.Marshal(httpapi.Termination{
		DeploymentURL: t.DeploymentURL, EnvironmentID: t.EnvironmentID, EnvironmentAlias: t.EnvironmentAlias,
	})
	if err != nil {
		return nil, &delegation.Error{Refused: true, Message: "cannot be asked: the request is not JSON", Cause: err}
	}
	answer := &httpapi.TerminationResult{}
	err = c.ask(ctx, cluster, command, newRequest(http.MethodPost, "/api/webhooks/environment_terminated", nil, body), answer)
	if isMissing(err) {
		return nil, nil
	}
	return answer, err
}

// WhoAmI returns who the hub is to a cluster.
func (c *Clients) WhoAmI(ctx context.Context, cluster string, command delegation.Command) (httpapi.WhoAmI, error) {
	var answer httpapi.WhoAmI
	err := c.ask(ctx, cluster, command, newRequest(http.MethodGet, "/api/v0/whoami", nil, nil), &answer)
	return answer, err
}

// Overview returns what the team has in a cluster.
func (c *Clients) Overview(ctx context.Context, cluster string, command delegation.Command) (httpapi.Overview, error) {
	var answer httpapi.Overview
	err := c.askWithin(ctx, cluster, command, newRequest(http.MethodGet, "/api/v0/overview", nil, nil), &answer, hub.MaxBytes)
	return answer, err
}

func (c *Clients) ask(ctx context.Context, cluster string, command delegation.Command, r *http.Request, answer any) error {
	return c.askWithin(ctx, cluster, command, r, answer, maxAnswer)
}

// askWithin decodes an answer with the status 200 or 201 of at most so many bytes.
func (c *Clients) askWithin(
	ctx context.Context, cluster string, command delegation.Command, r *http.Request, answer any, limit int64,
) error {
	resp, err := c.Do(ctx, cluster, command, r) //nolint:bodyclose // drop closes it
	if err != nil {
		return err
	}
	defer drop(resp.Body)
	if resp.StatusCode >= 300 {
		return problemOf(resp)
	}
	content, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, limit))
	if err == nil {
		err = json.Unmarshal(content, answer)
	}
	if err != nil {
		return &delegation.Error{Done: true, Message: "gave an answer that cannot be read", Cause: err}
	}
	return nil
}

// problem is the Cause of an Error that a cluster explains.
type problem struct{ code string }

func (p problem) Error() string { return p.code }

func isMissing(err error) bool {
	m, ok := errors.AsType[problem](err)
	return ok && m.code == "environment_not_found"
}

func problemOf(resp *http.Response) error {
	var p httpapi.Problem
	content, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if json.Unmarshal(content, &p) != nil || p.FailureCode == "" {
		return &delegation.Error{Done: true, Message: "does not answer", Cause: fmt.Errorf("something in its place answers %s", resp.Status)}
	}
	if resp.StatusCode >= 500 {
		return &delegation.Error{Done: true, Message: "failed: " + shown(p.FailureMessage), Cause: problem{p.FailureCode}}
	}
	return &delegation.Error{Refused: true, Message: "refused: " + shown(p.FailureMessage), Cause: problem{p.FailureCode}}
}
