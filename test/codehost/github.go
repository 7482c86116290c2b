package codehost

import (
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

// checkRun is what GitHub keeps of one.
type checkRun struct {
	ID         int64          `json:"id"`
	Name       string         `json:"name"`
	HeadSHA    string         `json:"head_sha"`
	ExternalID string         `json:"external_id"`
	Status     string         `json:"status"`
	Conclusion *string        `json:"conclusion"`
	DetailsURL string         `json:"details_url"`
	Output     map[string]any `json:"output"`

	repository string
}

// status is what both hosts keep of a commit status.
type status struct {
	ID          int64  `json:"id"`
	State       string `json:"state"`  // GitHub
	Status      string `json:"status"` // GitLab
	Context     string `json:"context"`
	Name        string `json:"name"`
	Ref         string `json:"ref"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`

	repository, sha string
}

// GitHub starts a fake. It accepts one token, for commit statuses, and one App, for check runs.
func GitHub(t testing.TB) *Host {
	t.Helper()
	var h *Host
	h = start(t, gitHubAPI, map[string]http.HandlerFunc{
		"GET /repos/{owner}/{repo}/installation":             func(w http.ResponseWriter, r *http.Request) { h.installation(w, r) },
		"POST /app/installations/{id}/access_tokens":         func(w http.ResponseWriter, r *http.Request) { h.accessToken(w, r) },
		"POST /repos/{owner}/{repo}/check-runs":              func(w http.ResponseWriter, r *http.Request) { h.createCheckRun(w, r) },
		"PATCH /repos/{owner}/{repo}/check-runs/{id}":        func(w http.ResponseWriter, r *http.Request) { h.updateCheckRun(w, r) },
		"GET /repos/{owner}/{repo}/commits/{sha}/check-runs": func(w http.ResponseWriter, r *http.Request) { h.listCheckRuns(w, r) },
		"POST /repos/{owner}/{repo}/statuses/{sha}":          func(w http.ResponseWriter, r *http.Request) { h.createStatus(w, r) },
		"GET /repos/{owner}/{repo}/commits/{sha}/statuses":   func(w http.ResponseWriter, r *http.Request) { h.listStatuses(w, r) },
	}, gitHubDeployments, gitHubComments)
	return h
}

// CheckRuns counts the check runs of a commit by their status.
func (h *Host) CheckRuns(sha string) map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[string]int{}
	for _, c := range h.checks {
		if c.HeadSHA == sha {
			counts[c.Status]++
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
	answer(w, http.StatusOK, map[string]any{"id": InstallationID, "app_id": AppID})
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
	c := &checkRun{ID: h.id(), Name: text(body, "name"), HeadSHA: text(body, "head_sha"), ExternalID: text(body, "external_id"), repository: repository(r)}
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
		return strconv.FormatInt(c.ID, 10) == r.PathValue("id") && c.repository == repository(r)
	})
	if i < 0 {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	h.change(w, http.StatusOK, h.checks[i], read(r))
}

// change also checks what the schema cannot: a conclusion completes a check run, and a completed one has one.
func (h *Host) change(w http.ResponseWriter, code int, c *checkRun, body map[string]any) {
	state := text(body, "status")
	conclusion, concluded := body["conclusion"].(string)
	if concluded != (state == "completed") {
		h.t.Errorf("status %q with the conclusion %q", state, conclusion)
	}
	if c.Status == "completed" && state != "completed" {
		h.t.Errorf("a completed check run became %s", state)
	}
	c.Status, c.DetailsURL = state, text(body, "details_url")
	if concluded {
		c.Conclusion, state = &conclusion, conclusion
	}
	c.Output, _ = body["output"].(map[string]any)
	h.add(Write{Repository: c.repository, SHA: c.HeadSHA, Name: c.Name, State: state, Description: text(c.Output, "title"), URL: c.DetailsURL, Body: body, id: c.ID})
	answer(w, code, c)
}

func (h *Host) listCheckRuns(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	found := []*checkRun{}
	for _, c := range h.checks {
		if c.repository == repository(r) && c.HeadSHA == r.PathValue("sha") && c.Name == r.URL.Query().Get("check_name") {
			found = append(found, c)
		}
	}
	answer(w, http.StatusOK, map[string]any{"total_count": len(found), "check_runs": found})
}

func (h *Host) createStatus(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) || h.limited(w) {
		return
	}
	body := read(r)
	s := &status{
		ID: h.id(), State: text(body, "state"), Context: text(body, "context"), Description: text(body, "description"), TargetURL: text(body, "target_url"),
		repository: repository(r), sha: r.PathValue("sha"),
	}
	h.statuses = append(h.statuses, s)
	h.add(Write{Repository: s.repository, SHA: s.sha, Name: s.Context, State: s.State, Description: s.Description, URL: s.TargetURL, Body: body, id: s.ID})
	answer(w, http.StatusCreated, s)
}

func (h *Host) listStatuses(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permitted(w, r, false) {
		return
	}
	found := []*status{}
	for _, s := range slices.Backward(h.statuses) {
		if s.repository == repository(r) && s.sha == r.PathValue("sha") {
			found = append(found, s)
		}
	}
	answer(w, http.StatusOK, found)
}

// Secret is that of the App, as a Trigger names it.
func Secret() map[string][]byte {
	return map[string][]byte{"githubAppID": fmt.Append(nil, AppID), "githubAppPrivateKey": AppKey()}
}
