package client

import (
	"maps"
	"net/url"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// waits are the wait tokens of notifications, by the runs that each reads. They outlive the token of the sender.
type waits struct {
	mu    sync.Mutex
	byRun map[string]waitToken // by the id as paths have it
}

type waitToken struct {
	token   string
	expires time.Time
}

// take moves the wait token out of an answer, so that nothing that prints the answer prints a credential.
func (w *waits) take(answer *httpapi.NotificationResult, now time.Time) {
	token := waitToken{token: answer.WaitToken}
	if answer.WaitTokenExpiresAt != nil {
		token.expires = *answer.WaitTokenExpiresAt
	}
	answer.WaitToken, answer.WaitTokenExpiresAt = "", nil
	if token.token == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.byRun, func(_ string, t waitToken) bool { return !t.works(now) })
	if w.byRun == nil {
		w.byRun = map[string]waitToken{}
	}
	for _, r := range answer.Results {
		if id := r.RunID(); id != "" {
			w.byRun[url.PathEscape(id)] = token
		}
	}
}

// follow lets the token of a run read those that count in its place, too.
func (w *waits) follow(run string, others ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	token, ok := w.byRun[url.PathEscape(run)]
	for _, other := range others {
		if ok && other != "" {
			w.byRun[url.PathEscape(other)] = token
		}
	}
}

func (w *waits) tokenOf(run string, now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if token := w.byRun[run]; token.works(now) {
		return token.token
	}
	return ""
}

// forget drops a token that the server refused.
func (w *waits) forget(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.byRun, func(_ string, t waitToken) bool { return t.token == token })
}

// works is only a guess if the clocks differ. A refused token is replaced by the sender's own.
func (t waitToken) works(now time.Time) bool {
	return t.token != "" && (t.expires.IsZero() || now.Before(t.expires))
}
