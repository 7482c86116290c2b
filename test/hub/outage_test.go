package hub

import (
	"net/http"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestOutageOfTheCluster: the hub holds notifications while the cluster does not answer, and says in the end that it did not. Sent
// again later, they start one run.
func TestOutageOfTheCluster(t *testing.T) {
	w := newWorld(t, options{hub: []string{"--hold-budget=2s"}})
	tm := w.newTeam(t, "smoke")
	t.Run("longer than the budget", func(t *testing.T) { tm.in(t).outlastsBudget() })
	t.Run("answers are lost for longer", func(t *testing.T) { tm.in(t).losesAllAnswers() })
	t.Run("questions", func(t *testing.T) { tm.in(t).asksMeanwhile() })
	t.Run("a rerun is one", func(t *testing.T) { tm.in(t).losesRerun() })
	t.Run("another Trigger is here", func(t *testing.T) { tm.in(t).startsOthers() })
	t.Run("within the budget", func(t *testing.T) {
		w.hub.manager.Args = append(w.hub.manager.Args, "--hold-budget=45s")
		w.hub.manager.Restart()
		tm.in(t).outlastsOutage()
	})
	t.Run("of the cluster's API server", func(t *testing.T) {
		tier.All(t, "it restarts an API server")
		tm.in(t).outlastsAPIServer()
	})
}

// outlastsBudget: each time the answer is 503, and nothing has happened.
func (tm *team) outlastsBudget() {
	const body = `{"branch":"main","sha":"outage"}`
	tm.awaitReady(tm.t, east, "True", "Answering")
	before := len(tm.suites(tm.cluster))
	tm.between.closed.Store(true)
	for range 2 {
		p := decode[httpapi.Problem](tm.t, tm.toHub.send(http.StatusServiceUnavailable, http.MethodPost, notifyPath, body))
		if p.FailureCode != "unavailable" || !strings.Contains(p.FailureMessage, "The cluster east does not answer") ||
			!strings.Contains(p.FailureMessage, "Send the notification again") {
			tm.t.Errorf("%+v", p)
		}
	}
	tm.awaitReady(tm.t, east, "False", "NotAnswering")
	tm.between.closed.Store(false)
	tm.awaitReady(tm.t, east, "True", "Answering")
	if n := len(tm.suites(tm.cluster)); n != before {
		tm.t.Errorf("%d runs, %d before", n, before)
	}
	tm.isOnce(body, "outage", "")
}

// losesAllAnswers: the cluster did what it was asked, and the hub does not know it.
func (tm *team) losesAllAnswers() {
	const body = `{"branch":"main","sha":"unheard"}`
	tm.between.loses.Store(1)
	p := decode[httpapi.Problem](tm.t, tm.toHub.send(http.StatusServiceUnavailable, http.MethodPost, notifyPath, body))
	tm.between.loses.Store(0)
	if !strings.Contains(p.FailureMessage, "it is not known whether a run was created") {
		tm.t.Errorf("%+v", p)
	}
	tm.isOnce(body, "unheard", tm.runOf("unheard"))
}

// losesRerun: however often the hub asks for a rerun, it is one.
func (tm *team) losesRerun() {
	run := tm.toHub.run("rerun")
	tm.direct.send(http.StatusOK, http.MethodPost, "/api/v0/runs/"+run+"/cancel", "")
	tm.awaitState(run, v1alpha1.ReasonCanceled)
	asked, runs := tm.between.passed.Load(), len(tm.suites(tm.cluster))
	tm.between.loses.Store(1)
	tm.toHub.send(http.StatusServiceUnavailable, http.MethodPost, notifyPath+"?rerun=true", `{"branch":"main","sha":"rerun"}`)
	tm.between.loses.Store(0)
	asked, runs = tm.between.passed.Load()-asked, len(tm.suites(tm.cluster))-runs
	if asked < 2 || runs != 1 {
		tm.t.Errorf("the hub asked %d times for a rerun, which started %d runs; want more than once, and one run", asked, runs)
	}
}

// asksMeanwhile: a question is answered at once, with what to do.
func (tm *team) asksMeanwhile() {
	run := tm.toHub.run("asked")
	tm.between.closed.Store(true)
	defer tm.between.closed.Store(false)
	for _, path := range []string{"/api/v0/ci-greenlight/" + run, "/api/v0/ci-greenlight/" + run + "?wait=5", "/api/v0/runs/" + run + "/logs",
		"/api/v0/runs/unknown", "/api/v0/verdict?environment=staging&sha=asked"} {
		p := decode[httpapi.Problem](tm.t, tm.toHub.send(http.StatusServiceUnavailable, http.MethodGet, path, ""))
		if p.FailureCode != "cluster_unavailable" || !strings.Contains(p.FailureMessage, east) {
			tm.t.Errorf("%s: %+v", path, p)
		}
	}
}

// startsOthers: a notification that starts a run at the hub says that it is not known whether there is one in the cluster.
func (tm *team) startsOthers() {
	const body = `{"branch":"main","sha":"both"}`
	tm.hub.create(tm.t, tm.environment("local", v1alpha1.EnvironmentSpec{URL: "https://local.example.com"}))
	here := tm.trigger("here", "local")
	tm.hub.create(tm.t, here)
	defer func() { _ = tm.hub.Client.Delete(cleanup(), here) }()
	poll.Until(tm.t, "the hub knows the Trigger", func() string {
		if a := tm.toHub.try(http.MethodPost, notifyPath+"?dryRun=true", body); len(a.explanations()) != 2 {
			return a.String()
		}
		return ""
	})
	tm.between.closed.Store(true)
	answer := tm.toHub.notify(body)
	tm.between.closed.Store(false)
	if len(answer.Results) != 2 || answer.Results[0].CreatedSuiteID == "" ||
		!strings.Contains(answer.Results[1].FailureReason, "The cluster east does not answer, so it is not known whether a run was created") {
		tm.t.Fatalf("%+v", answer)
	}
	again := tm.toHub.notify(body)
	if len(again.Results) != 2 || again.Results[0].DuplicateSuiteID != answer.Results[0].CreatedSuiteID || again.Results[1].CreatedSuiteID == "" {
		tm.t.Errorf("sent again: %+v", again)
	}
}

// outlastsOutage: the notification is held, and delivered.
func (tm *team) outlastsOutage() {
	const body = `{"branch":"main","sha":"held"}`
	before := tm.between.refused.Load()
	tm.between.closed.Store(true)
	answers := make(chan answer, 1)
	go func() { answers <- tm.toHub.try(http.MethodPost, notifyPath, body) }()
	poll.True(tm.t, "the hub has asked again", func() bool { return tm.between.refused.Load() > before+1 })
	select {
	case a := <-answers:
		tm.t.Errorf("answered during the outage: %v", a)
		return
	default:
	}
	tm.between.closed.Store(false)
	a := <-answers
	results := decode[httpapi.NotificationResult](tm.t, a).Results
	if a.status != http.StatusOK || len(results) != 1 || results[0].CreatedSuiteID == "" {
		tm.t.Fatalf("%v", a)
	}
	tm.isOnce(body, "held", results[0].CreatedSuiteID)
}

// outlastsAPIServer: the cluster's manager holds what the hub hands on, and the hub holds it for longer.
func (tm *team) outlastsAPIServer() {
	const body = `{"branch":"main","sha":"api-server"}`
	answers := make(chan answer, 1)
	tm.cluster.Outage(tm.t, func() {
		before := tm.between.passed.Load() + tm.between.lost.Load()
		go func() { answers <- tm.toHub.try(http.MethodPost, notifyPath, body) }()
		poll.True(tm.t, "the cluster holds the notification", func() bool {
			return tm.cluster.metric(tm.t, "postflight_http_requests_held") > 0 || tm.between.passed.Load()+tm.between.lost.Load() > before
		})
	})
	a := <-answers
	results := decode[httpapi.NotificationResult](tm.t, a).Results
	if a.status != http.StatusOK || len(results) != 1 || results[0].RunID() == "" {
		tm.t.Fatalf("%v", a)
	}
	tm.isOnce(body, "api-server", results[0].RunID())
}

// isOnce sends a notification again, to both sides, and compares the run with that which is known; "": there is none yet.
func (tm *team) isOnce(body, sha, known string) {
	tm.t.Helper()
	for i, s := range []sender{tm.toHub, tm.toHub, tm.direct} {
		answer := s.notify(body)
		if len(answer.Results) != 1 || answer.Results[0].RunID() == "" || known != "" && answer.Results[0].DuplicateSuiteID != known {
			tm.t.Errorf("%s, the time %d: want a duplicate of %q, got %+v", sha, i, known, answer)
			return
		}
		known = answer.Results[0].RunID()
	}
	if run := tm.runOf(sha); run != known {
		tm.t.Errorf("%s: the run is %s, and the answers name %s", sha, run, known)
	}
}

// runOf is the only run of a commit.
func (tm *team) runOf(sha string) string {
	tm.t.Helper()
	var names []string
	for _, s := range tm.suites(tm.cluster) {
		if s.Spec.Deployment.SHA == sha {
			names = append(names, s.Name)
		}
	}
	if len(names) != 1 {
		tm.t.Fatalf("%s has the runs %q, want one", sha, names)
	}
	return names[0]
}
