package api_test

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
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/seal"
	"github.com/postflight-dev/postflight/test/apitest"
)

// TestEachActionNeedsItsRight asks every route with every right, so that a new route cannot forget its own.
func TestEachActionNeedsItsRight(t *testing.T) {
	grants := apitest.Granting{}
	for _, action := range grant.Actions {
		grants[string(action)] = grant.Grant{Actions: []grant.Action{action}}
	}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("smoke-1", 0, v1alpha1.Passed(""))), Ways: []auth.Way{grants}})
	for _, route := range h.Routes() {
		if route.Action == api.Anonymous {
			continue
		}
		for _, has := range grant.Actions {
			target := strings.NewReplacer("{id}", "smoke-1", "{name}", "staging").Replace(route.Path)
			w := h.Exchange(apitest.Post(`{}`, apitest.Method(route.Method), apitest.Path(target), apitest.Bearer("token-"+string(has))))
			allowed := route.Action == api.Anything || has == route.Action || has == grant.Read && route.Action == grant.Outcome
			if refused := w.Code == http.StatusForbidden; refused == allowed {
				t.Errorf("%s %s with the right to %s: %d %s", route.Method, route.Path, has, w.Code, w.Body)
			}
		}
	}
}

// TestTwoTeams: of two headers, readers differ in which one they take, so every route refuses them, also if they are the same.
func TestTwoTeams(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Ways: []auth.Way{apitest.Granting{"all": {Actions: grant.Actions}}}})
	for _, route := range h.Routes() {
		if route.Action == api.Anonymous {
			continue
		}
		for _, credential := range []string{apitest.GoodKey, "token-all", "pf_unknown"} {
			for _, second := range []string{"other", apitest.Namespace, ""} {
				target := strings.NewReplacer("{id}", "smoke-1", "{name}", "staging").Replace(route.Path)
				w := h.Exchange(apitest.Post(`{}`, apitest.Method(route.Method), apitest.Path(target), apitest.Bearer(credential),
					apitest.Header("Postflight-Team", apitest.Namespace)), func(r *http.Request) {
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
	grants := apitest.Granting{"bound": {
		Actions: []grant.Action{grant.Notify, grant.Act}, DeploymentTypes: []string{"staging", "pr-*"}, Environments: []string{"staging"},
		Commit: sha,
		Acts:   grant.Bounds{Environments: []string{"staging"}},
	}}
	onProduction := func(t *v1alpha1.Trigger) {
		t.Spec.Environment, t.Spec.Match.Branches = "production", []string{"release"}
	}
	cases := map[string]struct {
		request *http.Request
		want    int
		says    string
	}{
		"allowed":             {apitest.Post(`{"deployment_type": "staging", "sha": "` + sha + `"}`), 200, ""},
		"another type":        {apitest.Post(`{"deployment_type": "production", "sha": "` + sha + `"}`), 403, "deployment types staging, pr-*"},
		"no type":             {apitest.Post(`{"sha": "` + sha + `"}`), 403, `this notification has \"\"`},
		"another commit":      {apitest.Post(`{"deployment_type": "pr-7", "sha": "` + strings.Repeat("a", 40) + `"}`), 403, "another one"},
		"another Environment": {apitest.Post(`{"deployment_type": "staging", "branch": "release"}`), 403, "reaches the Environment production"},
		"in a dry run, too": {apitest.Post(`{"deployment_type": "staging", "branch": "release"}`, apitest.Query("dryRun=true")), 403,
			"reaches the Environment production"},
		"termination": {apitest.Post(`{"deploymentUrl": "https://pr-7.example.com"}`,
			apitest.Path("/api/webhooks/environment_terminated")), 403, "reaches the Environment production"},
		"cancel": {apitest.Post(``, apitest.Path("/api/v0/runs/p-1/cancel")), 403, "reaches the Environment production"},
		"rerun":  {apitest.Post(``, apitest.Path("/api/v0/runs/p-1/rerun")), 403, "reaches the Environment production"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := apitest.ARun("p-1", 0)
			production := apitest.EnvironmentNamed("production")
			ephemeral := suite.EphemeralEnvironment(production, "https://pr-7.example.com", apitest.Noon.Add(time.Hour))
			run.Spec.Environment = ephemeral.Name
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("release", onProduction),
				production, ephemeral, run), Ways: []auth.Way{grants}})
			apitest.Bearer("token-bound")(tc.request)
			w := h.Exchange(tc.request)
			if w.Code != tc.want || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tc.want, tc.says)
			}
			if runs := len(h.Suites()); tc.want == 403 && runs != 1 {
				t.Errorf("%d runs, want the one of before", runs)
			}
		})
	}
}

// TestCommitOfTheToken: a job that says nothing of its commit, or nothing with null or "", starts runs of the commit that its token proves,
// and it starts none for another commit, branch or repository.
func TestCommitOfTheToken(t *testing.T) {
	const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	grants := apitest.Granting{"job": {Actions: []grant.Action{grant.Notify}, Commit: sha, Branches: []string{"main"},
		Repositories: []string{"acme/shop"}}}
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
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke")), Ways: []auth.Way{grants}})
			w := h.Exchange(apitest.Post(body, apitest.Bearer("token-job")))
			if w.Code != want {
				t.Fatalf("%d %s, want %d", w.Code, w.Body, want)
			}
			runs := h.Suites()
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
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("release", secret)),
		Ways: []auth.Way{apitest.Granting{
			"bound": {Actions: []grant.Action{grant.Notify}, Environments: []string{"staging"}},
		}}})
	w := h.Exchange(apitest.Post(`{"branch": "main"}`, apitest.Query("dryRun=true"), apitest.Bearer("token-bound")))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"smoke"`) || strings.Contains(w.Body.String(), "codename") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestBoundsOfTypes: a sender that can only report previews ends, cancels and repeats nothing else.
func TestBoundsOfTypes(t *testing.T) {
	types := []string{"preview"}
	grants := apitest.Granting{"bound": {
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
			production := apitest.EnvironmentNamed("production")
			ephemeral := suite.EphemeralEnvironment(production, "https://pr-7.example.com", apitest.Noon.Add(time.Hour))
			objects := apitest.Acme(apitest.Trigger("smoke"), production, ephemeral)
			for n, of := range tc.runs {
				run := apitest.ARun(fmt.Sprint("p-", n), n, v1alpha1.Passed(""))
				run.Spec.Environment, run.Spec.Deployment.Type = ephemeral.Name, of
				objects = append(objects, run)
			}
			h := apitest.Start(t, apitest.Setup{Objects: objects, Ways: []auth.Way{grants}})
			w := h.Exchange(apitest.Post(`{"deploymentUrl": "https://pr-7.example.com"}`, apitest.Path(tc.target), apitest.Bearer("token-bound")))
			if w.Code != tc.want || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tc.want, tc.says)
			}
		})
	}
}

func TestWhoAmI(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Ways: []auth.Way{apitest.Granting{
		"little":  {Actions: []grant.Action{grant.Notify}, Environments: []string{"staging"}},
		"nothing": {},
	}}})
	for token, want := range map[string]string{
		apitest.GoodKey: "key acme/" + apitest.APIKey(apitest.GoodKey).Name + " [notify upload outcome read act] []",
		"token-little":  "token acme/ci [notify] [staging]",
		"token-nothing": "token acme/ci [] []",
	} {
		w := h.Exchange(apitest.Get("/api/v0/whoami"), apitest.Bearer(token))
		got := apitest.Decode[httpapi.WhoAmI](t, w)
		if says := fmt.Sprint(got.Sender.Kind, " ", got.Sender.Name, " ", got.Actions, " ", got.Environments); says != want ||
			got.Team != "acme" {
			t.Errorf("%s, want %s", w.Body, want)
		}
	}
	if w := h.Exchange(apitest.Get("/api/v0/whoami"), apitest.Bearer("token-unknown")); w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestTokensUploadForTheirTeam: a file is the Team's that the token reaches, whatever its name says, and none without the right to upload.
func TestTokensUploadForTheirTeam(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(), Config: func(c *api.Config) { c.Uploads = &apitest.Signer{} },
		Ways: []auth.Way{apitest.Granting{"uploads": {Actions: []grant.Action{grant.Upload}},
			"notifies": {Actions: []grant.Action{grant.Notify}}}},
	})
	for _, file := range []string{"a.json", "other/a.json", "acme/a.json"} {
		target := apitest.TeamStoragePath + "?file=" + file
		w := h.Exchange(apitest.Get(target), apitest.Bearer("token-uploads"))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", file, w.Code, w.Body)
		}
		if got := apitest.Decode[httpapi.SignedURL](t, w); !strings.HasPrefix(got.FileLocation, apitest.Namespace+"/") {
			t.Errorf("%s is stored as %q", file, got.FileLocation)
		}
		if w := h.Exchange(apitest.Get(target), apitest.Bearer("token-notifies")); w.Code != http.StatusForbidden {
			t.Errorf("%s, without the right: %d %s", file, w.Code, w.Body)
		}
		if w := h.Exchange(apitest.Get(target), apitest.Bearer("token-uploads"), apitest.Header("Postflight-Team", "other")); w.Code < 400 {
			t.Errorf("%s, of another team: %d %s", file, w.Code, w.Body)
		}
	}
}

// TestWaitTokenOfANotification: who notifies with a token of five minutes reads the outcome half an hour later with the answer's, and
// nothing else.
func TestWaitTokenOfANotification(t *testing.T) {
	waits := &auth.WaitTokens{Sealer: &seal.Sealer{Secret: func(context.Context) ([]byte, error) { return make([]byte, 32), nil }}}
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.ARun("other", -5)),
		Ways:    []auth.Way{waits, apitest.Granting{"five-minutes": {Actions: []grant.Action{grant.Notify}}}},
		Config:  func(c *api.Config) { c.WaitTokens = waits },
	})
	waits.Reader, waits.Clock = h.Cluster, h.Clock

	if byKey := h.Notify(`{"branch": "main"}`); byKey.WaitToken != "" {
		t.Error("who has a key needs no wait token")
	}
	answer := h.Notify(`{"branch": "main", "sha": "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"}`, apitest.Bearer("token-five-minutes"))
	if answer.WaitToken == "" || answer.WaitTokenExpiresAt == nil {
		t.Fatalf("%+v has no wait token", answer)
	}
	id := answer.Results[0].RunID()
	_ = h.Clock.Sleep(t.Context(), 30*time.Minute)
	for target, want := range map[string]int{
		apitest.GreenlightPath + id: 200, "/api/v0/runs/" + id: 200, "/api/v0/whoami": 200, "/api/v0/runs/" + id + "/attestation": 404,
		apitest.GreenlightPath + "other": 404, "/api/v0/runs/other": 404,
		"/api/v0/runs": 403, "/api/v0/runs/" + id + "/logs": 403, "/api/v0/runs/" + id + "/artifacts": 403, "/api/v0/environments": 403,
	} {
		if w := h.Exchange(apitest.Get(target), apitest.Bearer(answer.WaitToken)); w.Code != want {
			t.Errorf("%s: %d %s, want %d", target, w.Code, w.Body, want)
		}
	}
	for _, target := range []string{apitest.DeploySuccessPath, "/api/v0/runs/" + id + "/cancel"} {
		if w := h.Exchange(apitest.Post(`{}`, apitest.Path(target), apitest.Bearer(answer.WaitToken))); w.Code != 403 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	_ = h.Clock.Sleep(t.Context(), auth.WaitFor)
	if w := h.Exchange(apitest.Get(apitest.GreenlightPath+id), apitest.Bearer(answer.WaitToken)); w.Code != 401 ||
		!strings.Contains(w.Body.String(), "Send the notification again") {
		t.Errorf("after its end: %d %s", w.Code, w.Body)
	}
}

// TestWaitTokenWhileRunsAreUnknown: a run that cannot be looked up is not one that does not exist, which would end the wait.
func TestWaitTokenWhileRunsAreUnknown(t *testing.T) {
	broken := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
		opts ...client.GetOption) error {
		if key.Name == "old" {
			return apierrors.NewServiceUnavailable("starting")
		}
		return c.Get(ctx, key, o, opts...)
	}}
	waits := apitest.Granting{"wait": {Actions: []grant.Action{grant.Outcome}, Runs: []string{"old"}}}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("new", 1, v1alpha1.Passed(""))), Ways: []auth.Way{waits},
		Faults: broken})
	if w := h.Exchange(apitest.Ask("new", ""), apitest.Bearer("token-wait")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", w.Code, w.Body)
	}
}

// TestWaitTokenFollowsItsRun: what counts in place of the run can be read, too.
func TestWaitTokenFollowsItsRun(t *testing.T) {
	old, waits := apitest.ARun("old", 0), apitest.Granting{"wait": {Actions: []grant.Action{grant.Outcome}, Runs: []string{"old"}}}
	apitest.SupersededBy("new")(old)
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(old, apitest.ARun("new", 1, v1alpha1.Passed("")),
		apitest.ARun("before", -1, v1alpha1.Passed(""))), Ways: []auth.Way{waits}})
	for id, want := range map[string]int{"old": 200, "new": 200, "before": 404, "unknown": 404, "..": 404} {
		if w := h.Exchange(apitest.Ask(id, ""), apitest.Bearer("token-wait")); w.Code != want {
			t.Errorf("%s: %d %s, want %d", id, w.Code, w.Body, want)
		}
	}
}
