package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/seal"
)

// granting is a way whose tokens have a grant by their name.
type granting map[string]grant.Grant

func (g granting) Claims(token string) bool { return strings.HasPrefix(token, "token-") }

func (g granting) Authenticate(_ context.Context, token string, asked auth.Asked) (auth.Principal, error) {
	granted, known := g[strings.TrimPrefix(token, "token-")]
	if !known || asked.Team != "" && asked.Team != namespace {
		return auth.Principal{}, auth.Refused("no such token", "")
	}
	acme := team(namespace)
	acme.UID = "uid-acme"
	return auth.Principal{Team: acme, Sender: auth.Sender{Kind: auth.KindToken, Name: "acme/ci", Text: "a token"}, Grant: granted}, nil
}

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

// TestEachActionNeedsItsRight asks every route with every right, so that a new route cannot forget its own.
func TestEachActionNeedsItsRight(t *testing.T) {
	grants := granting{}
	for _, action := range grant.Actions {
		grants[string(action)] = grant.Grant{Actions: []grant.Action{action}}
	}
	h := start(t, setup{objects: acme(aRun("smoke-1", 0, v1alpha1.Passed(""))), ways: []auth.Way{grants}})
	for _, route := range h.routes() {
		if route.Action == anonymous {
			continue
		}
		for _, has := range grant.Actions {
			target := strings.NewReplacer("{id}", "smoke-1", "{name}", "staging").Replace(route.Path)
			w := h.exchange(post(`{}`, method(route.Method), path(target), bearer("token-"+string(has))))
			allowed := route.Action == anything || has == route.Action || has == grant.Read && route.Action == grant.Outcome
			if refused := w.Code == http.StatusForbidden; refused == allowed {
				t.Errorf("%s %s with the right to %s: %d %s", route.Method, route.Path, has, w.Code, w.Body)
			}
		}
	}
}

// TestTwoTeams: of two headers, readers differ in which one they take, so every route refuses them, also if they are the same.
func TestTwoTeams(t *testing.T) {
	h := start(t, setup{objects: acme(), ways: []auth.Way{granting{"all": {Actions: grant.Actions}}}})
	for _, route := range h.routes() {
		if route.Action == anonymous {
			continue
		}
		for _, credential := range []string{goodKey, "token-all", "pf_unknown"} {
			for _, second := range []string{"other", namespace, ""} {
				target := strings.NewReplacer("{id}", "smoke-1", "{name}", "staging").Replace(route.Path)
				w := h.exchange(post(`{}`, method(route.Method), path(target), bearer(credential), header("Postflight-Team", namespace)), func(r *http.Request) {
					r.Header.Add("Postflight-Team", second)
				})
				if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "several headers") {
					t.Errorf("%s %s with %s and a second header %q: %d %s", route.Method, route.Path, credential, second, w.Code, w.Body)
				}
			}
		}
	}
}

func TestBoundsOfNotifications(t *testing.T) {
	const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	grants := granting{"bound": {
		Actions: []grant.Action{grant.Notify, grant.Act}, DeploymentTypes: []string{"staging", "pr-*"}, Environments: []string{"staging"}, Commit: sha,
		Acts: grant.Bounds{Environments: []string{"staging"}},
	}}
	onProduction := func(t *v1alpha1.Trigger) {
		t.Spec.Environment, t.Spec.Match.Branches = "production", []string{"release"}
	}
	cases := map[string]struct {
		request *http.Request
		want    int
		says    string
	}{
		"allowed":             {post(`{"deployment_type": "staging", "sha": "` + sha + `"}`), 200, ""},
		"another type":        {post(`{"deployment_type": "production", "sha": "` + sha + `"}`), 403, "deployment types staging, pr-*"},
		"no type":             {post(`{"sha": "` + sha + `"}`), 403, `this notification has \"\"`},
		"another commit":      {post(`{"deployment_type": "pr-7", "sha": "` + strings.Repeat("a", 40) + `"}`), 403, "another one"},
		"another Environment": {post(`{"deployment_type": "staging", "branch": "release"}`), 403, "reaches the Environment production"},
		"in a dry run, too":   {post(`{"deployment_type": "staging", "branch": "release"}`, query("dryRun=true")), 403, "reaches the Environment production"},
		"termination":         {post(`{"deploymentUrl": "https://pr-7.example.com"}`, path("/api/webhooks/environment_terminated")), 403, "reaches the Environment production"},
		"cancel":              {post(``, path("/api/v0/runs/p-1/cancel")), 403, "reaches the Environment production"},
		"rerun":               {post(``, path("/api/v0/runs/p-1/rerun")), 403, "reaches the Environment production"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := aRun("p-1", 0)
			production := environmentNamed("production")
			ephemeral := suite.EphemeralEnvironment(production, "https://pr-7.example.com", noon.Add(time.Hour))
			run.Spec.Environment = ephemeral.Name
			h := start(t, setup{objects: acme(trigger("smoke"), trigger("release", onProduction), production, ephemeral, run), ways: []auth.Way{grants}})
			bearer("token-bound")(tc.request)
			w := h.exchange(tc.request)
			if w.Code != tc.want || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tc.want, tc.says)
			}
			if runs := len(h.suites()); tc.want == 403 && runs != 1 {
				t.Errorf("%d runs, want the one of before", runs)
			}
		})
	}
}

// TestCommitOfTheToken: a job that says nothing of its commit, or nothing with null or "", starts runs of the commit that its token proves,
// and it starts none for another commit, branch or repository.
func TestCommitOfTheToken(t *testing.T) {
	const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	grants := granting{"job": {Actions: []grant.Action{grant.Notify}, Commit: sha, Branches: []string{"main"}, Repositories: []string{"acme/shop"}}}
	for body, want := range map[string]int{
		`{"branch": "main"}`:              200,
		`{"branch": "main", "sha": ""}`:   200,
		`{"branch": "main", "sha": null}`: 200,
		`{"branch": "main", "sha": " "}`:  200,
		`{"branch": "main", "sha": "` + strings.ToUpper(sha) + `", "repository": "Acme/shop"}`:               200,
		`{"branch": "refs/heads/main", "repository": {"owner": "acme", "name": "shop"}}`:                     200,
		`{"branch": "main", "sha": "bad0000000000000000000000000000000000000"}`:                              403,
		`{"branch": "main", "sha": "5ca1ab1e"}`:                                                              403,
		`{"branch": "release"}`:                                                                              403,
		`{"branch": "main", "repository": {"owner": "acme", "name": "other"}}`:                               403,
		`{"branch": "main", "sha": "` + sha + `", "repository": {"namespace": "evil/acme", "name": "shop"}}`: 403,
	} {
		t.Run(body, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke")), ways: []auth.Way{grants}})
			w := h.exchange(post(body, bearer("token-job")))
			if w.Code != want {
				t.Fatalf("%d %s, want %d", w.Code, w.Body, want)
			}
			runs := h.suites()
			if (len(runs) == 1) != (want == 200) {
				t.Fatalf("%d runs", len(runs))
			}
			if want == 200 && runs[0].Spec.Deployment.SHA != sha {
				t.Errorf("the run is of the commit %q", runs[0].Spec.Deployment.SHA)
			}
		})
	}
}

// TestDryRunWithinBounds explains only the Triggers that the sender may reach.
func TestDryRunWithinBounds(t *testing.T) {
	secret := func(t *v1alpha1.Trigger) {
		t.Spec.Environment, t.Spec.Match.Branches = "production", []string{"codename/*"}
	}
	h := start(t, setup{objects: acme(trigger("smoke"), trigger("release", secret)), ways: []auth.Way{granting{
		"bound": {Actions: []grant.Action{grant.Notify}, Environments: []string{"staging"}},
	}}})
	w := h.exchange(post(`{"branch": "main"}`, query("dryRun=true"), bearer("token-bound")))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"smoke"`) || strings.Contains(w.Body.String(), "codename") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestBoundsOfTypes: a sender that can only report previews ends, cancels and repeats nothing else.
func TestBoundsOfTypes(t *testing.T) {
	types := []string{"preview"}
	grants := granting{"bound": {
		Actions: []grant.Action{grant.Notify, grant.Act}, DeploymentTypes: types, Acts: grant.Bounds{DeploymentTypes: types},
	}}
	for name, tc := range map[string]struct {
		runs   []string // deployment types
		target string
		want   int
		says   string
	}{
		"termination":                  {[]string{"preview", "preview"}, "/api/webhooks/environment_terminated", 200, "terminated"},
		"termination of another type":  {[]string{"preview", "qa"}, "/api/webhooks/environment_terminated", 403, `has a run of \"qa\"`},
		"termination without runs":     {nil, "/api/webhooks/environment_terminated", 403, "no run says of which type"},
		"cancel":                       {[]string{"preview"}, "/api/v0/runs/p-0/cancel", 409, "has ended already"},
		"cancel a run of another type": {[]string{"qa"}, "/api/v0/runs/p-0/cancel", 403, `this run has \"qa\"`},
		"rerun":                        {[]string{"preview"}, "/api/v0/runs/p-0/rerun", 201, ""},
		"rerun a run of another type":  {[]string{"qa"}, "/api/v0/runs/p-0/rerun", 403, `this run has \"qa\"`},
	} {
		t.Run(name, func(t *testing.T) {
			production := environmentNamed("production")
			ephemeral := suite.EphemeralEnvironment(production, "https://pr-7.example.com", noon.Add(time.Hour))
			objects := acme(trigger("smoke"), production, ephemeral)
			for n, of := range tc.runs {
				run := aRun(fmt.Sprint("p-", n), n, v1alpha1.Passed(""))
				run.Spec.Environment, run.Spec.Deployment.Type = ephemeral.Name, of
				objects = append(objects, run)
			}
			h := start(t, setup{objects: objects, ways: []auth.Way{grants}})
			w := h.exchange(post(`{"deploymentUrl": "https://pr-7.example.com"}`, path(tc.target), bearer("token-bound")))
			if w.Code != tc.want || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tc.want, tc.says)
			}
		})
	}
}

func TestWhoAmI(t *testing.T) {
	h := start(t, setup{objects: acme(), ways: []auth.Way{granting{
		"little":  {Actions: []grant.Action{grant.Notify}, Environments: []string{"staging"}},
		"nothing": {},
	}}})
	for token, want := range map[string]string{
		goodKey:         "key acme/" + apiKey(goodKey).Name + " [notify upload outcome read act] []",
		"token-little":  "token acme/ci [notify] [staging]",
		"token-nothing": "token acme/ci [] []",
	} {
		w := h.exchange(get("/api/v0/whoami"), bearer(token))
		got := decode[httpapi.WhoAmI](t, w)
		if says := fmt.Sprint(got.Sender.Kind, " ", got.Sender.Name, " ", got.Actions, " ", got.Environments); says != want || got.Team != "acme" {
			t.Errorf("%s, want %s", w.Body, want)
		}
	}
	if w := h.exchange(get("/api/v0/whoami"), bearer("token-unknown")); w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestTokensUploadForTheirTeam: a file is the Team's that the token reaches, whatever its name says, and none without the right to upload.
func TestTokensUploadForTheirTeam(t *testing.T) {
	h := start(t, setup{
		objects: acme(), config: func(c *Config) { c.Uploads = &signer{} },
		ways: []auth.Way{granting{"uploads": {Actions: []grant.Action{grant.Upload}}, "notifies": {Actions: []grant.Action{grant.Notify}}}},
	})
	for _, file := range []string{"a.json", "other/a.json", "acme/a.json"} {
		target := teamStoragePath + "?file=" + file
		w := h.exchange(get(target), bearer("token-uploads"))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", file, w.Code, w.Body)
		}
		if got := decode[httpapi.SignedURL](t, w); !strings.HasPrefix(got.FileLocation, namespace+"/") {
			t.Errorf("%s is stored as %q", file, got.FileLocation)
		}
		if w := h.exchange(get(target), bearer("token-notifies")); w.Code != http.StatusForbidden {
			t.Errorf("%s, without the right: %d %s", file, w.Code, w.Body)
		}
		if w := h.exchange(get(target), bearer("token-uploads"), header("Postflight-Team", "other")); w.Code < 400 {
			t.Errorf("%s, of another team: %d %s", file, w.Code, w.Body)
		}
	}
}

// TestWaitTokenOfANotification: who notifies with a token of five minutes reads the outcome half an hour later with the answer's, and
// nothing else.
func TestWaitTokenOfANotification(t *testing.T) {
	waits := &auth.WaitTokens{Sealer: &seal.Sealer{Secret: func(context.Context) ([]byte, error) { return make([]byte, 32), nil }}}
	h := start(t, setup{
		objects: acme(trigger("smoke"), aRun("other", -5)),
		ways:    []auth.Way{waits, granting{"five-minutes": {Actions: []grant.Action{grant.Notify}}}},
		config:  func(c *Config) { c.WaitTokens = waits },
	})
	waits.Reader, waits.Clock = h.cluster, h.clock

	if byKey := h.notify(`{"branch": "main"}`); byKey.WaitToken != "" {
		t.Error("who has a key needs no wait token")
	}
	answer := h.notify(`{"branch": "main", "sha": "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"}`, bearer("token-five-minutes"))
	if answer.WaitToken == "" || answer.WaitTokenExpiresAt == nil {
		t.Fatalf("%+v has no wait token", answer)
	}
	id := answer.Results[0].RunID()
	_ = h.clock.Sleep(t.Context(), 30*time.Minute)
	for target, want := range map[string]int{
		greenlightPath + id: 200, "/api/v0/runs/" + id: 200, "/api/v0/whoami": 200,
		greenlightPath + "other": 404, "/api/v0/runs/other": 404,
		"/api/v0/runs": 403, "/api/v0/runs/" + id + "/logs": 403, "/api/v0/runs/" + id + "/artifacts": 403, "/api/v0/environments": 403,
	} {
		if w := h.exchange(get(target), bearer(answer.WaitToken)); w.Code != want {
			t.Errorf("%s: %d %s, want %d", target, w.Code, w.Body, want)
		}
	}
	for _, target := range []string{deploySuccessPath, "/api/v0/runs/" + id + "/cancel"} {
		if w := h.exchange(post(`{}`, path(target), bearer(answer.WaitToken))); w.Code != 403 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	_ = h.clock.Sleep(t.Context(), auth.WaitFor)
	if w := h.exchange(get(greenlightPath+id), bearer(answer.WaitToken)); w.Code != 401 || !strings.Contains(w.Body.String(), "Send the notification again") {
		t.Errorf("after its end: %d %s", w.Code, w.Body)
	}
}

// TestWaitTokenWhileRunsAreUnknown: a run that cannot be looked up is not one that does not exist, which would end the wait.
func TestWaitTokenWhileRunsAreUnknown(t *testing.T) {
	broken := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if key.Name == "old" {
			return apierrors.NewServiceUnavailable("starting")
		}
		return c.Get(ctx, key, o, opts...)
	}}
	waits := granting{"wait": {Actions: []grant.Action{grant.Outcome}, Runs: []string{"old"}}}
	h := start(t, setup{objects: acme(aRun("new", 1, v1alpha1.Passed(""))), ways: []auth.Way{waits}, faults: broken})
	if w := h.exchange(ask("new", ""), bearer("token-wait")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", w.Code, w.Body)
	}
}

// TestWaitTokenFollowsItsRun: what counts in place of the run can be read, too.
func TestWaitTokenFollowsItsRun(t *testing.T) {
	old, waits := aRun("old", 0), granting{"wait": {Actions: []grant.Action{grant.Outcome}, Runs: []string{"old"}}}
	supersededBy("new")(old)
	h := start(t, setup{objects: acme(old, aRun("new", 1, v1alpha1.Passed("")), aRun("before", -1, v1alpha1.Passed(""))), ways: []auth.Way{waits}})
	for id, want := range map[string]int{"old": 200, "new": 200, "before": 404, "unknown": 404, "..": 404} {
		if w := h.exchange(ask(id, ""), bearer("token-wait")); w.Code != want {
			t.Errorf("%s: %d %s, want %d", id, w.Code, w.Body, want)
		}
	}
}
