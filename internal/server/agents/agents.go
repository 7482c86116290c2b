// Package agents answers agents that speak the Model Context Protocol over HTTP. A tool sends its requests to the handler of the HTTP API,
// in this process, with the credential of the agent: nothing is allowed that the API does not allow.
package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/mcp"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/origin"
)

// Config is what a Handler needs.
type Config struct {
	API       http.Handler
	PublicURL string   // that people use, or ""
	Hosts     []string // further names of this server
	Actions   bool     // offer tools that change something
	Limits    limits.Limits
}

// Handler answers the requests of agents. It keeps nothing between them.
type Handler struct {
	Config
	hosts    origin.Hosts
	tools    http.Handler
	answer   http.Handler // after the check of the origin
	inFlight *fairness.TeamLimiter
}

// New returns a Handler.
func New(c Config) (*Handler, error) {
	public, err := publicurl.Parse(c.PublicURL)
	if err != nil {
		return nil, err
	}
	// Pages take each name if none is configured. An agent in a page is rare enough to name its host.
	names := append([]string{"localhost", public.Host}, c.Hosts...)
	h := &Handler{Config: c, hosts: origin.HostsOf(names...), inFlight: fairness.NewTeamLimiter(c.Limits.Agents)}
	h.tools = mcp.New(h.connect, mcp.Options{Actions: c.Actions}).Handler()
	h.answer = origin.SameOnly(public.Origin, http.HandlerFunc(h.authenticated), refuse(http.StatusForbidden, "forbidden",
		"A page of another site sent this request. Connect the agent itself, which sends no header Origin."))
	return h, nil
}

// connect returns a client of the API in this process, with the sender of the request.
func (h *Handler) connect(sender http.Header) (*client.Client, error) {
	return client.New(mcp.Here, "", client.WithUserAgent(version.UserAgent("postflight-mcp")), client.WithRetryTimeout(0),
		client.WithHTTPClient(&http.Client{Transport: &inProcess{api: h.API, sender: sender}}))
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if fromBrowser(r.Header) && !h.hosts.Know(r.Host) {
		refuse(http.StatusMisdirectedRequest, "invalid_request", "This server does not answer to that name. Add it to --page-hosts.")(w, r)
		return
	}
	h.answer.ServeHTTP(w, r)
}

// fromBrowser reports whether a page may have sent the request. A foreign name that resolves to this server only deceives browsers, so
// agents may use any name, such as the name of the Service.
func fromBrowser(h http.Header) bool { return h.Get("Origin") != "" || h.Get("Sec-Fetch-Site") != "" }

// authenticated asks the API who sends the request, so that its refusal is the answer, before it reads the body.
func (h *Handler) authenticated(w http.ResponseWriter, r *http.Request) {
	team, known, err := h.whoIs(w, r)
	switch {
	case err != nil:
		refuse(http.StatusServiceUnavailable, "unavailable", "The sender cannot be checked at the moment. Try again in a minute.")(w, r)
		return
	case !known:
		return
	case !h.inFlight.TryAcquire(team):
		w.Header().Set("Retry-After", "10")
		refuse(http.StatusServiceUnavailable, "overloaded", "The server answers as many requests of agents as it can, or as many of this "+
			"team as leave room for others. Send the request again in a few seconds.")(w, r)
		return
	}
	defer h.inFlight.Release(team)
	if problem := bounded(w, r); problem != nil {
		problem(w, r)
		return
	}
	h.tools.ServeHTTP(w, r)
}

// whoIs returns the team of the sender. If the API refuses the sender, its answer is copied.
func (h *Handler) whoIs(w http.ResponseWriter, r *http.Request) (team string, known bool, err error) {
	question, err := http.NewRequestWithContext(r.Context(), http.MethodGet, mcp.Here+"/api/v0/whoami", nil)
	if err != nil {
		return "", false, err
	}
	resp, err := (&inProcess{api: h.API, sender: r.Header}).RoundTrip(question)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", false, err
	}
	if resp.StatusCode != http.StatusOK {
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body) // the client is gone
		return "", false, nil
	}
	var who httpapi.WhoAmI
	err = json.Unmarshal(body, &who)
	return who.Team, err == nil, err
}

// bounded reads the body, and returns a refusal if it is too large, or has several messages: these would be answered all at once.
func bounded(w http.ResponseWriter, r *http.Request) http.HandlerFunc {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limits.MaxAgentBody))
	switch {
	case err != nil && isTooLarge(err):
		return refuse(http.StatusRequestEntityTooLarge, "body_too_large", "Send at most 512 KiB.")
	case err != nil:
		return refuse(http.StatusBadRequest, "invalid_request", "The body did not arrive. Send the request again.")
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return refuse(http.StatusBadRequest, "invalid_request", "Send one message in each request, and no array: batches are not supported.")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// refuse answers as the API does.
func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(httpapi.Problem{ // the client is gone
			Type: "https://postflight.dev/problems/" + code, Title: http.StatusText(status), Status: status, Detail: message,
			FailureCode: code, FailureMessage: message,
		})
	}
}
