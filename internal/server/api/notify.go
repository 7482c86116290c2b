package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

type format struct {
	mediaType string // of the Content-Type
	// decode returns an error that is a sentence for the sender, and may be a *notification.InvalidError.
	decode func(body []byte) (*notification.Notification, error)
}

func (a *API) deploySuccess(w http.ResponseWriter, r *Request) error {
	return a.notify(w, r, format{"application/json", notification.Decode})
}

func (a *API) notify(w http.ResponseWriter, r *Request, f format) error {
	a.startSpan(r)
	request, err := a.readNotification(w, r, f)
	if err != nil {
		return err
	}
	result, err := a.Dispatcher.Dispatch(r.Context(), request)
	if err == nil || len(result.Triggers) > 0 {
		a.record(r, request, result)
	}
	if err != nil {
		return dispatchFailure(err, result)
	}
	answer := newReply(result)
	answer.Hint = hint(request, result)
	if request.Mode == dispatch.DryRun {
		return writeExplained(w, answer, result.Explanations)
	}
	a.addWaitToken(r, answer)
	writeJSON(w, "application/json", http.StatusOK, answer)
	return nil
}

// hint helps those who see only the answer, such as the log of curl in a pipeline.
func hint(q dispatch.Request, r dispatch.Result) string {
	text := q.Notification.Hint()
	if len(r.Triggers) == 0 && q.Mode != dispatch.DryRun {
		text += " No Trigger matches this deployment, so no run was started. The same request with ?dryRun=true says why."
	}
	return strings.TrimSpace(text)
}

// readNotification checks headers and parameters first, which are cheaper to refuse than a body.
func (a *API) readNotification(w http.ResponseWriter, r *Request, f format) (dispatch.Request, error) {
	o, err := optionsOf(r.Request)
	if err != nil {
		return dispatch.Request{}, err
	}
	idempotencyKey, err := idempotencyKey(r.Header)
	if err != nil {
		return dispatch.Request{}, err
	}
	if err := a.admit(r, f.mediaType, o.mode); err != nil {
		return dispatch.Request{}, err
	}
	r.forget() // a thousand clients may take half a minute for their bodies
	body, err := a.readBody(w, r, a.Limits.BodyBytes)
	if err != nil {
		return dispatch.Request{}, err
	}
	n, err := f.decode(body)
	if err != nil {
		return dispatch.Request{}, invalidBody(err)
	}
	if problem := r.Principal.Grant.NotificationProblem(n); problem != "" {
		return dispatch.Request{}, forbidden("%s", problem)
	}
	r.Principal.Grant.Complete(n)
	return dispatch.Request{
		Team: r.Principal.Team, Grant: r.Principal.Grant, Notification: n, Mode: o.mode, Rerun: o.rerun,
		IdempotencyKey: idempotencyKey, RequestID: r.requestID, ReceivedAt: r.receivedAt,
	}, nil
}

func invalidBody(err error) error {
	f := &failure{code: "invalid_body", message: err.Error()}
	if invalid, ok := errors.AsType[*notification.InvalidError](err); ok {
		f.field = invalid.Field
	}
	return f
}

func idempotencyKey(h http.Header) (string, error) {
	keys := h.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if len(keys) > 1 || keys[0] == "" || len(keys[0]) > maxIdempotencyKey || strings.ContainsFunc(keys[0], unprintable) {
		return "", &failure{code: "invalid_idempotency_key", message: "Send one Idempotency-Key of 1 to 255 printable ASCII characters, or none."}
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
		return o, &failure{code: "invalid_request", message: "The query of the URL cannot be read. Send it percent-encoded, or none."}
	}
	values := map[string][]string{"dryrun": r.Header.Values("X-Dry-Run")}
	for name, sent := range query {
		name = strings.ToLower(name)
		values[name] = slices.Concat(values[name], sent)
	}
	dryRun, ok := flag(values["dryrun"])
	if !ok {
		return o, &failure{code: "invalid_request", message: "Send dryRun (or the header X-Dry-Run) as true or false."}
	}
	if dryRun {
		o.mode = dispatch.DryRun
	}
	if o.rerun, ok = flag(values["rerun"]); !ok {
		return o, &failure{code: "invalid_request", message: "Send rerun as true or false."}
	}
	return o, nil
}

// flag is true if any of the values is. All must be true or false.
func flag(values []string) (is, ok bool) {
	for _, value := range values {
		if value != "true" && value != "false" {
			return false, false
		}
		is = is || value == "true"
	}
	return is, true
}
