package spoke

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

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
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // otherwise variables of many "<" have more bytes than a body may
	if err := encoder.Encode(notification.Encode(n.Notification)); err != nil {
		return nil, &delegation.Error{Refused: true, Message: "cannot be asked: the notification is not JSON", Cause: err}
	}
	r := newRequest(http.MethodPost, "/api/webhooks/deploy_success", query, body.Bytes())
	if n.IdempotencyKey != "" {
		r.Header.Set("Idempotency-Key", headerKey(n.IdempotencyKey))
	}
	answer := &httpapi.NotificationResult{}
	if err := c.ask(ctx, cluster, n.Command, r, answer, bound{maxAnswer, 100_000}); err != nil {
		return nil, err
	}
	return answer, checked(answer)
}

// headerKey is a key as a header may have it. Events and reports have keys of any text.
func headerKey(key string) string {
	if len(key) <= maxHeaderKey && strings.Trim(key, printable) == "" {
		return key
	}
	return fmt.Sprintf("sha256/%x", sha256.Sum256([]byte(key)))
}

const (
	maxHeaderKey = 255 // the bound in the HTTP contract
	printable    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:+="
)

// checked returns an error if an answer has what no Postflight sends, and cleans the sentences, which end up in the logs of CI.
func checked(answer *httpapi.NotificationResult) error {
	if answer.Results == nil { // "no Trigger matches" is an empty list
		return noPostflight()
	}
	for i := range answer.Results {
		r := &answer.Results[i]
		id, failed := r.RunID(), r.FailureReason != ""
		both := r.CreatedSuiteID != "" && r.DuplicateSuiteID != ""
		if both || failed == (id != "") || !failed && len(validation.IsDNS1123Label(id)) > 0 {
			return noPostflight()
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
	r := newRequest(http.MethodPost, "/api/webhooks/environment_terminated", nil, body)
	err = c.ask(ctx, cluster, command, r, answer, bound{maxAnswer, 10_000})
	if isMissing(err) {
		return nil, nil
	}
	if err == nil && answer.Results == nil {
		err = noPostflight()
	}
	return answer, err
}

// WhoAmI returns who the hub is to a cluster.
func (c *Clients) WhoAmI(ctx context.Context, cluster string, command delegation.Command) (httpapi.WhoAmI, error) {
	var answer httpapi.WhoAmI
	err := c.ask(ctx, cluster, command, newRequest(http.MethodGet, "/api/v0/whoami", nil, nil), &answer, bound{maxProblem, 1000})
	if err == nil && answer.Team != command.Team.Name {
		err = noPostflight()
	}
	return answer, err
}

// Overview returns what the team has in a cluster.
func (c *Clients) Overview(ctx context.Context, cluster string, command delegation.Command) (httpapi.Overview, error) {
	var answer httpapi.Overview
	err := c.ask(ctx, cluster, command, newRequest(http.MethodGet, "/api/v0/overview", nil, nil), &answer, bound{hub.MaxBytes, 20_000})
	if err == nil && answer.Team != command.Team.Name {
		err = noPostflight()
	}
	return answer, err
}

// bound is of an answer, because a cluster may send anything.
type bound struct {
	bytes    int64
	elements int // see delegation.Elements
}

// noPostflight is the error of an answer that lacks what every Postflight sends.
func noPostflight() error {
	return &delegation.Error{Refused: true, Message: "gave an answer that no Postflight gives. Ask the operator of this service to check " +
		"spec.url of the Cluster"}
}

// ask decodes an answer with the status 200 or 201.
func (c *Clients) ask(
	ctx context.Context, cluster string, command delegation.Command, r *http.Request, answer any, most bound,
) error {
	resp, err := c.Do(ctx, cluster, command, r) //nolint:bodyclose // drop closes it
	if err != nil {
		return err
	}
	defer drop(resp.Body)
	if resp.StatusCode >= 300 {
		return problemOf(resp)
	}
	content, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, most.bytes))
	if n := delegation.Elements(content); err == nil && n > most.elements {
		err = fmt.Errorf("it has %d elements, and %d are allowed", n, most.elements)
	}
	if err == nil {
		err = json.Unmarshal(content, answer)
	}
	if err != nil {
		return &delegation.Error{Message: "gave an answer that cannot be read", Cause: err}
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
		return &delegation.Error{Message: "does not answer", Cause: fmt.Errorf("something in its place answers %s", resp.Status)}
	}
	if resp.StatusCode >= 500 {
		return &delegation.Error{Message: "failed: " + shown(p.FailureMessage), Cause: problem{p.FailureCode}}
	}
	return &delegation.Error{Refused: true, Message: "refused: " + shown(p.FailureMessage), Cause: problem{p.FailureCode}}
}
