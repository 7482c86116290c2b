package handon_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/spoke"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/test/apitest"
)

// hub is the API of a hub in front of clusters, each of which is a whole API with an API server of its own.
type hub struct {
	*apitest.World
	clusters map[string]*apitest.World
	servers  map[string]*httptest.Server
}

// startHub starts a hub whose Team has prod-eu in eu, prod-us in us, and staging itself.
func startHub(t *testing.T, objects ...client.Object) *hub {
	t.Helper()
	h := &hub{clusters: map[string]*apitest.World{}, servers: map[string]*httptest.Server{}}
	for _, name := range []string{"eu", "us"} {
		trigger := apitest.Trigger("e2e")
		trigger.Spec.Environment = "prod-" + name
		undeclared := apitest.Trigger("undeclared")
		world := apitest.Start(t, apitest.Setup{
			Objects: apitest.Acme(environment("prod-"+name, ""), trigger, undeclared),
			Ways:    []auth.Way{apitest.Granting{"hub": {Actions: grant.Actions}}},
		})
		h.clusters[name], h.servers[name] = world, httptest.NewServer(world)
		t.Cleanup(h.servers[name].Close)
	}
	clients := spoke.New(spoke.Config{
		Cluster: func(_ context.Context, name string) (*v1alpha1.Cluster, error) {
			if h.servers[name] == nil {
				return nil, nil
			}
			return &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{URL: h.servers[name].URL, Teams: []string{"acme"}}}, nil
		},
		Token: func(context.Context, string) (string, error) { return "token-hub", nil },
		Hub:   "hub", HTTP: func(*x509.CertPool) *http.Client { return outbound.Streaming(nil) },
	})
	h.World = apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(append(objects, environment("prod-eu", "eu"), environment("prod-us", "us"))...),
		Ways: []auth.Way{apitest.Granting{
			"wait": {Actions: []grant.Action{grant.Outcome}, Runs: []string{"first"}},
			"prod": {Actions: []grant.Action{grant.Act}, Acts: grant.Bounds{Environments: []string{"staging"}}},
		}},
		Dispatch: func(c *dispatch.Config) { c.Clusters = clients },
		Config:   func(c *api.Config) { c.Clusters = clients },
	})
	return h
}

func environment(name, cluster string) *v1alpha1.Environment {
	return &v1alpha1.Environment{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: name}, Spec: v1alpha1.EnvironmentSpec{Cluster: cluster},
	}
}

func (h *hub) notify(t *testing.T) httpapi.NotificationResult {
	t.Helper()
	w := h.Exchange(apitest.Post(apitest.WithSHA))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return apitest.Decode[httpapi.NotificationResult](t, w)
}

func (h *hub) ask(t *testing.T, method, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := apitest.Keyed(method, path, "")
	for _, c := range change {
		c(r)
	}
	return h.Exchange(r)
}

// TestRunsOfClusters: each cluster starts the run of its own Environment, and answers for it through the hub as it does itself.
func TestRunsOfClusters(t *testing.T) {
	h := startHub(t)
	answer := h.notify(t)
	if len(answer.Results) != 2 || answer.Results[0].CreatedSuiteID == "" || len(h.Suites()) != 0 {
		t.Fatalf("got %+v, and %d Suites at the hub", answer.Results, len(h.Suites()))
	}
	for i, name := range []string{"eu", "us"} {
		world, id := h.clusters[name], answer.Results[i].CreatedSuiteID
		if all := world.Suites(); len(all) != 1 || all[0].Name != id || all[0].Spec.Environment != "prod-"+name {
			t.Fatalf("%s has %+v, want only %s: the Environment of the Trigger undeclared is not of the hub", name, all, id)
		}
		for _, path := range []string{"/api/v0/runs/" + id, "/api/v0/ci-greenlight/" + id, "/api/v0/runs/" + id + "/results",
			"/api/v0/environments/prod-" + name, "/api/v0/verdict?sha=" + apitest.SHA + "&environment=prod-" + name,
			"/api/v0/runs/" + id + "/logs", "/api/v0/runs/none", "/api/v0/runs?environment=prod-" + name} {
			direct := world.Exchange(apitest.Keyed(http.MethodGet, path, ""))
			handed := h.ask(t, http.MethodGet, path)
			if handed.Code != direct.Code || without(handed) != without(direct) {
				t.Errorf("%s: the hub answers %d %s, and the cluster %d %s", path, handed.Code, handed.Body, direct.Code, direct.Body)
			}
		}
	}
	again := h.notify(t)
	if again.Results[0].DuplicateSuiteID != answer.Results[0].CreatedSuiteID {
		t.Errorf("sent again, it is answered with %+v", again.Results)
	}
}

// without drops what differs from request to request.
func without(w *httptest.ResponseRecorder) string {
	var problem httpapi.Problem
	if json.Unmarshal(w.Body.Bytes(), &problem) == nil && problem.EventID != "" {
		return problem.FailureCode + problem.Detail
	}
	return w.Body.String()
}

// TestCommandsOfHubs: the cluster knows who asked, and the bounds of the sender at the hub hold there.
func TestCommandsOfHubs(t *testing.T) {
	h := startHub(t)
	id := h.notify(t).Results[0].CreatedSuiteID
	if w := h.ask(t, http.MethodPost, "/api/v0/runs/"+id+"/cancel", apitest.Bearer("token-prod")); w.Code != http.StatusForbidden ||
		!strings.Contains(w.Body.String(), "prod-eu") {
		t.Errorf("a sender that may act in staging only: %d %s", w.Code, w.Body)
	}
	if w := h.ask(t, http.MethodPost, "/api/v0/runs/"+id+"/cancel"); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	s := h.clusters["eu"].Suites()[0]
	if by := s.Annotations[v1alpha1.AnnotationCanceledBy]; !s.Spec.Cancel || !strings.Contains(by, "at the hub hub") {
		t.Errorf("canceled %v by %q", s.Spec.Cancel, by)
	}
	if audit := h.clusters["eu"].Audit.String(); !strings.Contains(audit, `"hub":"hub"`) || !strings.Contains(audit, `"onBehalfOf":"`) {
		t.Errorf("the audit log of the cluster: %s", audit)
	}
}

// TestDeadCluster: what the other one has is found; what may be in the dead one is not "not found".
func TestDeadCluster(t *testing.T) {
	h := startHub(t, apitest.ARun("here", 0))
	ids := h.notify(t).Results
	h.servers["us"].Close()
	for id, want := range map[string]int{
		ids[0].CreatedSuiteID: http.StatusOK, ids[1].CreatedSuiteID: http.StatusServiceUnavailable, "here": http.StatusOK,
		"unknown": http.StatusServiceUnavailable,
	} {
		if w := h.ask(t, http.MethodGet, "/api/v0/runs/"+id); w.Code != want {
			t.Errorf("%s: %d %s, want %d", id, w.Code, w.Body, want)
		}
	}
}

// TestRunOfTwoClusters: a cluster that says it has a run of another one is not believed.
func TestRunOfTwoClusters(t *testing.T) {
	h := startHub(t)
	for name, world := range h.clusters {
		s := apitest.ARun("both", 0, v1alpha1.Passed(""))
		s.Spec.Environment = "prod-" + name
		if err := world.Cluster.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second question is no other
		if w := h.ask(t, http.MethodGet, "/api/v0/ci-greenlight/both"); w.Code != http.StatusFailedDependency ||
			!strings.Contains(w.Body.String(), "neither is believed") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	eu := h.notify(t).Results[0].CreatedSuiteID
	h.Topics.HandOn.Remember(apitest.Namespace, eu, "us") // as if us had answered a notification with it
	if w := h.ask(t, http.MethodGet, "/api/v0/runs/"+eu); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "prod-eu") {
		t.Errorf("the run of eu: %d %s", w.Code, w.Body)
	}
}

// TestMovedEnvironment: a run of the time when the Environment was at the hub does not answer for a run that the cluster may have.
func TestMovedEnvironment(t *testing.T) {
	old := apitest.ARun("old", 0, v1alpha1.Passed(""))
	old.Spec.Environment = "prod-eu"
	h := startHub(t, old)
	if w := h.ask(t, http.MethodGet, "/api/v0/runs/old"); w.Code != http.StatusOK {
		t.Errorf("no cluster has it: %d %s", w.Code, w.Body)
	}
	h.servers["eu"].Close()
	if w := h.ask(t, http.MethodGet, "/api/v0/runs/old"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("the cluster may have another run of the id: %d %s", w.Code, w.Body)
	}
}

// TestHubToHub: a request that a hub sent is not passed on.
func TestHubToHub(t *testing.T) {
	h := startHub(t)
	id := h.notify(t).Results[0].CreatedSuiteID
	header := "eyJodWIiOiJ4IiwiZm9yIjoieSIsImVudmlyb25tZW50cyI6WyJwcm9kLWV1Il19" // of prod-eu
	for _, r := range []*http.Request{
		apitest.Keyed(http.MethodGet, "/api/v0/runs/"+id, ""), apitest.Post(apitest.WithSHA),
		apitest.Keyed(http.MethodGet, "/api/v0/environments/prod-eu", ""),
	} {
		r.Header.Set("Postflight-Delegation", header)
		if w := h.Exchange(r); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "loop") {
			t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		}
	}
}

// TestDelegatedRequests: Environments that the hub does not name do not exist for its requests.
func TestDelegatedRequests(t *testing.T) {
	world := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("smoke-1", 0))})
	for header, want := range map[string]int{
		"eyJlbnZpcm9ubWVudHMiOlsic3RhZ2luZyJdfQ": http.StatusOK,       // staging
		"eyJlbnZpcm9ubWVudHMiOlsib3RoZXIiXX0":    http.StatusNotFound, // other
		"eyJlbnZpcm9ubWVudHMiOltdfQ":             http.StatusBadRequest,
		"nonsense":                               http.StatusBadRequest,
	} {
		for _, path := range []string{"/api/v0/runs/smoke-1", "/api/v0/environments/staging", "/api/v0/ci-greenlight/smoke-1",
			"/api/v0/verdict?environment=staging&sha=" + apitest.SHA} {
			r := apitest.Keyed(http.MethodGet, path, "")
			r.Header.Set("Postflight-Delegation", header)
			if w := world.Exchange(r); w.Code != want {
				t.Errorf("%s with %s: %d %s, want %d", path, header, w.Code, w.Body, want)
			}
		}
	}
}

// TestWaitTokensOfHubs: a token for certain runs reads these and their successors, wherever they are.
func TestWaitTokensOfHubs(t *testing.T) {
	h := startHub(t)
	eu := h.clusters["eu"]
	for name, change := range map[string]func(*v1alpha1.Suite){
		"first": apitest.SupersededBy("second"), "second": func(*v1alpha1.Suite) {}, "third": func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = "x" },
	} {
		s := apitest.ARun(name, len(name))
		s.Spec.Environment = "prod-eu"
		change(s)
		status := s.Status
		if err := eu.Cluster.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		s.Status = status
		if err := eu.Cluster.Status().Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]int{"first": http.StatusOK, "second": http.StatusOK, "third": http.StatusNotFound} {
		if w := h.ask(t, http.MethodGet, "/api/v0/ci-greenlight/"+id, apitest.Bearer("token-wait")); w.Code != want {
			t.Errorf("%s: %d %s, want %d", id, w.Code, w.Body, want)
		}
	}
}

// TestUploadsOfHubs: a file is kept where the run is that gets it, so that has to be clear.
func TestUploadsOfHubs(t *testing.T) {
	h := startHub(t)
	const path = "/api/v0/run-inputs-executables-signed-urls?file=app.apk"
	if w := h.ask(t, http.MethodGet, path); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "environment=NAME") {
		t.Errorf("for which Environment? %d %s", w.Code, w.Body)
	}
	for name, code := range map[string]int{"prod-eu": http.StatusServiceUnavailable, "staging": http.StatusServiceUnavailable} {
		w := h.ask(t, http.MethodGet, path+"&environment="+name) // neither has a store
		if w.Code != code || strings.Contains(h.Audit.String(), fmt.Sprintf(`"cluster":%q`, "us")) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if audit := h.Audit.String(); strings.Count(audit, `"cluster":"eu"`) != 1 {
		t.Errorf("only the file for prod-eu is kept in eu: %s", audit)
	}
}

// TestOwnRunsAreOwn: a cluster that names a run of the hub in an answer does not answer for it.
func TestOwnRunsAreOwn(t *testing.T) {
	h := startHub(t, apitest.ARun("mine", 0))
	h.Topics.HandOn.Remember(apitest.Namespace, "mine", "us")
	if w := h.ask(t, http.MethodGet, "/api/v0/runs/mine"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"environment":"staging"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRerunOfMovedEnvironment: no run starts at the hub for an Environment that is in another cluster.
func TestRerunOfMovedEnvironment(t *testing.T) {
	old, trigger := apitest.ARun("old", 0, v1alpha1.Failed("")), apitest.Trigger("smoke")
	old.Spec.Environment, old.Spec.Trigger.UID = "prod-eu", "uid-smoke"
	h := startHub(t, old, trigger)
	w := h.ask(t, http.MethodPost, "/api/v0/runs/old/rerun")
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "is in the cluster eu now") || len(h.Suites()) != 1 {
		t.Errorf("%d %s, and %d runs", w.Code, w.Body, len(h.Suites()))
	}
	if w := h.ask(t, http.MethodGet, "/api/v0/verdict?environment=prod-eu&sha="+apitest.SHA); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), `"none"`) {
		t.Errorf("the verdict: %d %s", w.Code, w.Body)
	}
}

// TestOddAnswers: what is in the place of a cluster does not say whether it has a run.
func TestOddAnswers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"a page":            func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>maintenance</html>")) },
		"a missing page":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "404 page not found", http.StatusNotFound) },
		"another run":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":"other"}`)) },
		"an unknown status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(999) },
	} {
		t.Run(name, func(t *testing.T) {
			h := hubOf(t, nil, map[string]http.HandlerFunc{"eu": answer})
			if w := h.Exchange(apitest.Keyed(http.MethodGet, "/api/v0/runs/unknown", "")); w.Code != http.StatusServiceUnavailable {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if name != "an unknown status" {
				return
			}
			if w := h.Exchange(apitest.Keyed(http.MethodGet, ofEU, "")); w.Code != http.StatusServiceUnavailable {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}
