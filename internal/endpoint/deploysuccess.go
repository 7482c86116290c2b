package endpoint

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/notification"
)

// deploySuccess answers a notification: a Suite for each Trigger that wants it.
func (a *API) deploySuccess(w http.ResponseWriter, r *Request) error {
	order, err := a.readOrder(w, r)
	if err != nil {
		return err
	}
	triggers, err := order.match(r.Context())
	if err != nil {
		return err
	}
	outcomes := order.carryOut(r.Context(), triggers)
	a.record(r, order, outcomes)
	reply, err := order.reply(outcomes)
	if err != nil {
		return err
	}
	if order.dryRun {
		return writeExplained(w, reply, order.explanations(r.Context(), triggers))
	}
	writeJSON(w, "application/json", http.StatusOK, reply)
	return nil
}

// readOrder reads what the request asks for. Headers and parameters come first: they are cheaper
// to refuse than a body.
func (a *API) readOrder(w http.ResponseWriter, r *Request) (*order, error) {
	dryRun, err := isDryRun(r.Request)
	if err != nil {
		return nil, err
	}
	idempotencyKey, err := idempotencyKey(r.Header)
	if err != nil {
		return nil, err
	}
	if err := a.admit(r, dryRun); err != nil {
		return nil, err
	}
	r.forget() // a thousand clients may take half a minute for their bodies
	body, err := a.readBody(w, r)
	if err != nil {
		return nil, err
	}
	n, err := notification.Decode(body)
	if err != nil {
		return nil, invalidBody(err)
	}
	return &order{
		api:            a,
		team:           r.team(),
		namespace:      r.Principal.Team.NamespaceName(),
		bounds:         boundsOf(r.Principal.Team),
		notification:   n,
		idempotencyKey: idempotencyKey,
		dryRun:         dryRun,
		receivedAt:     r.receivedAt,
		serverTime:     a.ServerTime(r.receivedAt),
		// Clients may give several requests one id, but only this request may find a Suite to be
		// its own.
		id: r.id + "." + rand.Text(),
	}, nil
}

// invalidBody is for the person who reads the CI log; the decoder's words are made for that.
func invalidBody(err error) error {
	f := &failure{code: "invalid_body", message: err.Error()}
	var invalid *notification.InvalidError
	if errors.As(err, &invalid) {
		f.field = invalid.Field
	}
	return f
}

// idempotencyKey is what takes the place of a SHA; empty where the client sent none.
func idempotencyKey(h http.Header) (string, error) {
	keys := h.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	if len(keys) > 1 || keys[0] == "" || len(keys[0]) > maxIdempotencyKey || !isPrintable(keys[0]) {
		return "", &failure{code: "invalid_idempotency_key",
			message: "Send one Idempotency-Key of 1 to 255 printable ASCII characters, or none."}
	}
	return keys[0], nil
}

func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// isDryRun reports whether nothing may be created. What it does not understand is an error, since the
// client may believe that nothing will happen; so is a query that cannot be read.
func isDryRun(r *http.Request) (bool, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return false, &failure{code: "invalid_request", message: "The query of the URL cannot be read. Send it percent-encoded, or none."}
	}
	values := slices.Clone(r.Header.Values("X-Dry-Run"))
	for name := range query {
		if strings.EqualFold(name, "dryRun") {
			values = append(values, query[name]...)
		}
	}
	dryRun := false
	for _, value := range values {
		if value != "true" && value != "false" {
			return false, &failure{code: "invalid_request", message: "Send dryRun (or the header X-Dry-Run) as true or false."}
		}
		dryRun = dryRun || value == "true"
	}
	return dryRun, nil
}
