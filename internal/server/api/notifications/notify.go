package notifications

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// Format is how a notification is written.
type Format struct {
	MediaType string // of the Content-Type
	// Decode returns an error that is a sentence for the sender, and may be a *notification.InvalidError.
	Decode func(body []byte) (*notification.Notification, error)
}

// DeploySuccess takes a notification in the format of the HTTP contract.
func (a *API) DeploySuccess(w http.ResponseWriter, r *exchange.Request) error {
	return a.Notify(w, r, Format{"application/json", notification.Decode})
}

// Notify takes a notification in any format.
func (a *API) Notify(w http.ResponseWriter, r *exchange.Request, f Format) error {
	a.StartSpan(r)
	request, err := a.readNotification(w, r, f)
	if err != nil {
		return err
	}
	answer, result, err := a.dispatch(r, request)
	if err != nil {
		return err
	}
	if request.Mode == dispatch.DryRun {
		return writeExplained(w, answer, result.Explanations)
	}
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func (a *API) dispatch(r *exchange.Request, q dispatch.Request) (*httpapi.NotificationResult, dispatch.Result, error) {
	if problem, err := a.judge(r, q); problem != "" || err != nil {
		return &httpapi.NotificationResult{Results: []httpapi.Result{}, Hint: problem}, dispatch.Result{}, err
	}
	result, err := a.Dispatcher.Dispatch(r.Context(), q)
	if err == nil || len(result.Triggers) > 0 {
		a.Record(r, q, result)
	}
	if err != nil {
		return nil, result, exchange.DispatchFailure(err, result)
	}
	a.remember(r, result)
	answer := exchange.NewReply(result)
	answer.Hint = hint(q, result)
	if q.Mode != dispatch.DryRun {
		a.addWaitToken(r, answer)
	}
	return answer, result, nil
}

// judge returns why an event that a hub received starts nothing here, or "". The hub does not know the runs of this cluster.
func (a *API) judge(r *exchange.Request, q dispatch.Request) (problem string, err error) {
	d := r.Delegation
	if d == nil || !d.Event || q.Mode == dispatch.DryRun || a.Judge == nil {
		return "", nil
	}
	problem, err = a.Judge(r.Context(), q.Team.NamespaceName(), event.Event{Notification: q.Notification, At: d.DeployedAt, Post: d.Post})
	if problem != "" {
		r.AddToAudit("ignored", problem)
	}
	return problem, err
}

// remember spares the first question about a run the search for it.
func (a *API) remember(r *exchange.Request, result dispatch.Result) {
	clusters := map[string]bool{}
	for _, t := range result.Triggers {
		if t.Cluster != "" {
			clusters[t.Cluster] = true
		}
		if t.Cluster != "" && t.SuiteID != "" {
			a.Remember(r.Principal.Team.NamespaceName(), t.SuiteID, t.Cluster)
		}
	}
	if len(clusters) > 0 {
		r.AddToAudit("clusters", slices.Sorted(maps.Keys(clusters)))
	}
}

// hint helps those who see only the answer, such as the log of curl in a pipeline.
func hint(q dispatch.Request, r dispatch.Result) string {
	text := q.Notification.Hint()
	if len(r.Triggers) == 0 && len(r.Withheld) > 0 {
		text += fmt.Sprintf(" The deployment type %q is not handed on to %s, which other clusters have: see spec.deploymentTypes of the "+
			"Environment.", q.Notification.DeploymentType, strings.Join(r.Withheld[:min(len(r.Withheld), 5)], ", "))
	}
	if len(r.Triggers) == 0 && q.Mode != dispatch.DryRun {
		text += " No Trigger matches this deployment, so no run was started. The same request with ?dryRun=true says why."
	}
	return strings.TrimSpace(text)
}

// readNotification checks headers and parameters first, which are cheaper to refuse than a body.
func (a *API) readNotification(w http.ResponseWriter, r *exchange.Request, f Format) (dispatch.Request, error) {
	o, err := optionsOf(r.Request)
	if err != nil {
		return dispatch.Request{}, err
	}
	idempotencyKey, err := idempotencyKey(r.Header)
	if err != nil {
		return dispatch.Request{}, err
	}
	body, err := a.readBody(w, r, f.MediaType, o.mode)
	if err != nil {
		return dispatch.Request{}, err
	}
	n, err := f.Decode(body)
	if err != nil {
		return dispatch.Request{}, exchange.InvalidBody(err)
	}
	q, err := granted(r, n)
	q.Mode, q.Rerun, q.IdempotencyKey = o.mode, o.rerun, idempotencyKey
	return q, err
}

func (a *API) readBody(w http.ResponseWriter, r *exchange.Request, mediaType string, mode dispatch.Mode) ([]byte, error) {
	if err := a.Admit(r, mediaType, mode); err != nil {
		return nil, err
	}
	r.Forget() // a thousand clients may take half a minute for their bodies
	return a.ReadBody(w, r, a.Limits.BodyBytes)
}

// granted returns the request of a notification that its sender may send.
func granted(r *exchange.Request, n *notification.Notification) (dispatch.Request, error) {
	if problem := r.Principal.Grant.NotificationProblem(n); problem != "" {
		return dispatch.Request{}, exchange.Forbidden("%s", problem)
	}
	r.Principal.Grant.Complete(n)
	q := dispatch.Request{
		Team: r.Principal.Team, Grant: r.Principal.Grant, By: r.Principal.Sender.Text, Notification: n, RequestID: r.ID,
		ReceivedAt: r.ReceivedAt,
	}
	if r.Delegation != nil {
		q = q.FromHub(r.Delegation)
	}
	return q, nil
}

func idempotencyKey(h http.Header) (string, error) {
	keys := h.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if len(keys) > 1 || keys[0] == "" || len(keys[0]) > limits.MaxIdempotencyKey || strings.ContainsFunc(keys[0], unprintable) {
		return "", &exchange.Failure{Code: "invalid_idempotency_key",
			Message: "Send one Idempotency-Key of 1 to 255 printable ASCII characters, or none."}
	}
	return keys[0], nil
}

type options struct {
	mode  dispatch.Mode
	rerun bool
}

// optionsOf refuses what it does not understand, because the client may believe that nothing will be created.
func optionsOf(r *http.Request) (o options, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return o, &exchange.Failure{Code: "invalid_request", Message: "The query of the URL cannot be read. Send it percent-encoded, or none."}
	}
	values := map[string][]string{"dryrun": r.Header.Values("X-Dry-Run")}
	for name, sent := range query {
		name = strings.ToLower(name)
		values[name] = slices.Concat(values[name], sent)
	}
	dryRun, ok := exchange.Flag(values["dryrun"])
	if !ok {
		return o, &exchange.Failure{Code: "invalid_request", Message: "Send dryRun (or the header X-Dry-Run) as true or false."}
	}
	if dryRun {
		o.mode = dispatch.DryRun
	}
	if o.rerun, ok = exchange.Flag(values["rerun"]); !ok {
		return o, &exchange.Failure{Code: "invalid_request", Message: "Send rerun as true or false."}
	}
	return o, nil
}

// addWaitToken is for senders whose token may end before the runs do. A sender without one can send the notification again.
func (a *API) addWaitToken(r *exchange.Request, answer *httpapi.NotificationResult) {
	var runs []string
	for _, result := range answer.Results {
		if id := result.RunID(); id != "" {
			runs = append(runs, id)
		}
	}
	if a.WaitTokens == nil || r.Principal.Sender.Kind == auth.KindKey || r.Delegation != nil || len(runs) == 0 {
		return
	}
	token, expires, err := a.WaitTokens.Issue(r.Context(), r.Principal, runs)
	if err != nil {
		logr.FromContextOrDiscard(r.Context()).Info("a notification was answered without a wait token", "cause", err.Error())
		return
	}
	answer.WaitToken, answer.WaitTokenExpiresAt = token, &expires
}
