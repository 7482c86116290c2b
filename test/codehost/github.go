package codehost

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed" // the description of the API
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed github.yaml
var gitHubAPI []byte

// The App that the fake knows, and its only installation.
const (
	AppID          = 12
	InstallationID = 34

	appToken = "ghs_0f_the_installation"
)

// AppKey is the private key of the App.
var AppKey = sync.OnceValue(func() []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
})

// maxStatuses is how many statuses GitHub keeps of a commit and a context.
const maxStatuses = 1000

// GitHub starts a fake. It accepts one token, for commit statuses, and one App, for check runs and decisions about deployments.
func GitHub(t testing.TB) *Host {
	t.Helper()
	var h *Host
	h = start(t, gitHubAPI, map[string]http.HandlerFunc{
		"GET /repos/{owner}/{repo}/installation":             func(w http.ResponseWriter, r *http.Request) { h.installation(w, r) },
		"GET /app/hook/deliveries":                           func(w http.ResponseWriter, r *http.Request) { h.listDeliveries(w, r) },
		"POST /app/installations/{id}/access_tokens":         func(w http.ResponseWriter, r *http.Request) { h.accessToken(w, r) },
		"POST /repos/{owner}/{repo}/check-runs":              func(w http.ResponseWriter, r *http.Request) { h.createCheckRun(w, r) },
		"PATCH /repos/{owner}/{repo}/check-runs/{id}":        func(w http.ResponseWriter, r *http.Request) { h.updateCheckRun(w, r) },
		"GET /repos/{owner}/{repo}/commits/{sha}/check-runs": func(w http.ResponseWriter, r *http.Request) { h.listCheckRuns(w, r) },
		"POST /repos/{owner}/{repo}/statuses/{sha}":          func(w http.ResponseWriter, r *http.Request) { h.createStatus(w, r) },
		"GET /repos/{owner}/{repo}/commits/{sha}/statuses":   func(w http.ResponseWriter, r *http.Request) { h.listStatuses(w, r) },
	}, gitHubDeployments, gitHubComments, gitHubApprovals, gitHubCommands)
	return h
}

// CheckRuns counts the check runs of a commit by their status.
func (h *Host) CheckRuns(sha string) map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[string]int{}
	for _, c := range h.checks {
		if c.headSHA == sha {
			counts[c.status]++
		}
	}
	return counts
}

func repository(r *http.Request) string { return r.PathValue("owner") + "/" + r.PathValue("repo") }

func credential(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token
}

// permitted answers requests without the credentials that an operation needs. The lock is held.
func (h *Host) permitted(w http.ResponseWriter, r *http.Request, app bool) bool {
	switch credential(r) {
	case appToken:
		return true
	case h.token:
		if !app {
			return true
		}
		refuse(w, http.StatusForbidden, "You must authenticate via a GitHub App.")
	default:
		refuse(w, http.StatusUnauthorized, "Bad credentials")
	}
	return false
}

// installation and accessToken need a JWT, which has three parts.
func (h *Host) installation(w http.ResponseWriter, r *http.Request) {
	if strings.Count(credential(r), ".") != 2 {
		refuse(w, http.StatusUnauthorized, "A JSON web token could not be decoded")
		return
	}
	answer(w, http.StatusOK, installationView())
}

// listDeliveries has none: tests deliver events themselves.
func (h *Host) listDeliveries(w http.ResponseWriter, r *http.Request) {
	if strings.Count(credential(r), ".") != 2 {
		refuse(w, http.StatusUnauthorized, "A JSON web token could not be decoded")
		return
	}
	answer(w, http.StatusOK, []any{})
}

func (h *Host) accessToken(w http.ResponseWriter, r *http.Request) {
	if strings.Count(credential(r), ".") != 2 || r.PathValue("id") != strconv.Itoa(InstallationID) {
		refuse(w, http.StatusUnauthorized, "A JSON web token could not be decoded")
		return
	}
	answer(w, http.StatusCreated, map[string]any{"token": appToken, "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
}

func (h *Host) createCheckRun(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, true) || h.limited(w) {
		return
	}
	body := read(r)
	c := &checkRun{id: h.id(), name: text(body, "name"), headSHA: text(body, "head_sha"), externalID: text(body, "external_id"),
		repository: repository(r)}
	h.checks = append(h.checks, c)
	h.change(w, http.StatusCreated, c, body)
}

func (h *Host) updateCheckRun(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, true) || h.limited(w) {
		return
	}
	i := slices.IndexFunc(h.checks, func(c *checkRun) bool {
		return strconv.FormatInt(c.id, 10) == r.PathValue("id") && c.repository == repository(r)
	})
	if i < 0 {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	h.change(w, http.StatusOK, h.checks[i], read(r))
}

// change also checks what the schema cannot: only a completed check run has a conclusion, and it stays completed.
func (h *Host) change(w http.ResponseWriter, code int, c *checkRun, body map[string]any) {
	state, conclusion := text(body, "status"), text(body, "conclusion")
	if (conclusion != "") != (state == "completed") {
		h.t.Errorf("status %q with the conclusion %q", state, conclusion)
	}
	if c.status == "completed" && state != "completed" {
		h.t.Errorf("a completed check run became %s", state)
	}
	c.status, c.conclusion, c.detailsURL = state, conclusion, text(body, "details_url")
	c.output, _ = body["output"].(map[string]any)
	c.startedAt, c.completedAt = cmp.Or(text(body, "started_at"), c.startedAt), text(body, "completed_at")
	annotations, _ := c.output["annotations"].([]any)
	c.annotations += len(annotations) // each request adds some
	h.add(Write{
		Repository: c.repository, SHA: c.headSHA, Name: c.name, State: cmp.Or(conclusion, state),
		Description: text(c.output, "title"), URL: c.detailsURL, Body: body, id: c.id,
	})
	answer(w, code, c.view())
}

func (h *Host) listCheckRuns(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	found := []map[string]any{}
	q := r.URL.Query()
	for _, c := range slices.Backward(h.checks) {
		if c.repository == repository(r) && c.headSHA == r.PathValue("sha") && (q.Get("check_name") == "" || c.name == q.Get("check_name")) {
			found = append(found, c.view())
		}
	}
	if q.Get("filter") != "all" && len(found) > 1 {
		h.t.Error("without filter=all, GitHub lists the newest check run of a name only")
	}
	answer(w, http.StatusOK, map[string]any{"total_count": len(found), "check_runs": page(r, found, 30)})
}

func (h *Host) createStatus(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) || h.limited(w) {
		return
	}
	body := read(r)
	s := &status{
		id: h.id(), state: text(body, "state"), name: text(body, "context"), description: text(body, "description"), targetURL: text(body,
			"target_url"),
		repository: repository(r), sha: r.PathValue("sha"), at: time.Now(),
	}
	kept := 0
	for _, other := range h.statuses {
		if other.repository == s.repository && other.sha == s.sha && strings.EqualFold(other.name, s.name) {
			kept++
		}
	}
	if kept >= maxStatuses {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed", "errors": []any{map[string]any{
			"resource": "Status", "code": "custom", "message": "This SHA and context has reached the maximum number of statuses.",
		}}})
		return
	}
	h.statuses = append(h.statuses, s)
	h.add(Write{Repository: s.repository, SHA: s.sha, Name: s.name, State: s.state, Description: s.description, URL: s.targetURL, Body: body,
		id: s.id})
	answer(w, http.StatusCreated, s.gitHubView())
}

func (h *Host) listStatuses(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	found := []map[string]any{}
	for _, s := range slices.Backward(h.statuses) {
		if s.repository == repository(r) && s.sha == r.PathValue("sha") {
			found = append(found, s.gitHubView())
		}
	}
	answer(w, http.StatusOK, page(r, found, 30))
}

// Secret is that of the App, as a Trigger names it.
func Secret() map[string][]byte {
	return map[string][]byte{"githubAppID": fmt.Append(nil, AppID), "githubAppPrivateKey": AppKey()}
}
