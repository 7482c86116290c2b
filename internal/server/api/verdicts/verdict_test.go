package verdicts_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/poll"
)

const path = "/api/v0/verdict"

// ask asks for the verdict of the commit in staging.
func ask(more ...string) *http.Request {
	return apitest.Get(path + "?" + query(more...))
}

func query(more ...string) string {
	q := url.Values{"sha": {apitest.SHA}, "environment": {"staging"}}
	for i := 0; i < len(more); i += 2 {
		q[more[i]] = []string{more[i+1]}
	}
	return q.Encode()
}

func verdictOf(t *testing.T, h *apitest.World, more ...string) httpapi.Verdict {
	t.Helper()
	w := h.Exchange(ask(more...))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return apitest.Decode[httpapi.Verdict](t, w)
}

// ended ends a run now.
func ended(h *apitest.World, c metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{c}, new(metav1.NewTime(h.Clock.Now()))
	}
}

// notify notifies the commit, and returns its runs by Trigger.
func notify(h *apitest.World, change ...func(*http.Request)) map[string]string {
	ids := map[string]string{}
	for _, r := range h.Notify(apitest.WithSHA, change...).Results {
		ids[r.TriggerID] = r.RunID()
	}
	return ids
}

// TestVerdict follows a commit from its deployment to its second run.
func TestVerdict(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("load"))})
	check := func(state, says string) {
		t.Helper()
		if got := verdictOf(t, h); got.State != state || got.Passed != (state == "passed") || !strings.Contains(got.Sentence, says) {
			t.Errorf("%s: %s; want %s: %s", got.State, got.Sentence, state, says)
		}
	}
	check("none", "No run of 5ca1ab1e on staging is known.")
	runs := notify(h)
	check("running", "2 of 2 required Triggers have not ended")
	h.Become(runs["smoke"], ended(h, v1alpha1.Passed("")))
	check("running", "load")
	h.Become(runs["load"], ended(h, v1alpha1.Passed("")))
	check("passed", "Both required Triggers have passed for 5ca1ab1e on staging")
	again := notify(h, apitest.Query("rerun=true"))
	check("running", "2 of 2")
	h.Clock.Time = h.Clock.Time.Add(time.Hour)
	h.Become(again["smoke"], ended(h, v1alpha1.Passed("")))
	h.Become(again["load"], ended(h, v1alpha1.Failed("Exit code 1.")))
	check("withdrawn", "load")
}

// TestSiblingWithoutRun: one Trigger passes, and the run of the other could not be created. The commit is not green.
func TestSiblingWithoutRun(t *testing.T) {
	refused := func(name string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.TriggerClassName = name }
	}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("load", refused("missing")))})
	runs := notify(h)
	if runs["smoke"] == "" || runs["load"] != "" {
		t.Fatalf("%v, want a run of smoke alone", runs)
	}
	h.Become(runs["smoke"], ended(h, v1alpha1.Passed("")))
	got := verdictOf(t, h)
	if got.State != "none" || got.Passed || len(got.Requirements) != 2 || got.Requirements[0].Trigger != "load" || got.Requirements[0].Run != "" {
		t.Errorf("%+v", got)
	}
}

func TestMaxAge(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	h.Become(notify(h)["smoke"], ended(h, v1alpha1.Passed("")))
	h.Clock.Time = h.Clock.Time.Add(25 * time.Hour)
	for maxAge, want := range map[string]string{"24h": "stale", "26h": "passed", "1560m": "passed", "8760h": "passed"} {
		if got := verdictOf(t, h, "maxAge", maxAge); got.State != want {
			t.Errorf("%s: %s, want %s", maxAge, got.State, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Trigger("smoke")),
		Ways: []auth.Way{apitest.Granting{
			"wait": {Actions: []grant.Action{grant.Outcome}, Runs: []string{"smoke-1"}}, "outcome": {Actions: []grant.Action{grant.Outcome}},
			"elsewhere": {Actions: []grant.Action{grant.Read, grant.Act}, Acts: grant.Bounds{Environments: []string{"production"}}},
		}},
	})
	h.Become(notify(h)["smoke"], ended(h, v1alpha1.Canceled("By ada.")))
	h.Validate = false // the document forbids most of these
	long := strings.Repeat("x", 300)
	for name, tc := range map[string]struct {
		method, query, token string
		status               int
		says                 string
	}{
		"good":                  {"GET", query(), "", 200, `"state":"none"`},
		"in upper case":         {"GET", query("sha", strings.ToUpper(apitest.SHA)), "", 200, `"sha":"` + apitest.SHA},
		"no sha":                {"GET", "environment=staging", "", 400, "Send sha"},
		"no environment":        {"GET", "sha=" + apitest.SHA, "", 400, "Send environment"},
		"an empty sha":          {"GET", query("sha", ""), "", 400, "Send sha once and not empty"},
		"white space":           {"GET", query("sha", " "), "", 400, "Send sha: the whole commit"},
		"a long sha":            {"GET", query("sha", long), "", 400, "at most 128"},
		"a long repository":     {"GET", query("repository", long), "", 400, "at most 128, 256"},
		"a control character":   {"GET", query("service", "a\x07"), "", 400, "printable text"},
		"an unknown parameter":  {"GET", query("ref", "main"), "", 400, "does not exist"},
		"an age without a unit": {"GET", query("maxAge", "24"), "", 400, "Send maxAge as a duration"},
		"an age of nothing":     {"GET", query("maxAge", "0s"), "", 400, "from 1m"},
		"an age of years":       {"GET", query("maxAge", "9000h"), "", 400, "to 8760h"},
		"a long wait":           {"GET", query("wait", "56"), "", 400, "from 0 to 55"},
		"a wait of POST":        {"POST", query("wait", "5"), "", 400, "does not exist"},
		"another Environment":   {"GET", query("environment", "production"), "", 404, "environment_not_found"},
		"a wait token":          {"GET", query(), "token-wait", 403, "certain runs only"},
		"a token of outcomes":   {"GET", query(), "token-outcome", 200, `"state":"none"`},
		"that starts":           {"POST", query(), "token-outcome", 403, "right to cancel and repeat runs"},
		"that starts elsewhere": {"POST", query(), "token-elsewhere", 403, "reaches the Environment staging"},
		"unknown, to start":     {"POST", query("sha", "b000000"), "", 409, "No run of b000000 on staging is known."},
	} {
		t.Run(name, func(t *testing.T) {
			r := apitest.Keyed(tc.method, path+"?"+tc.query, "")
			if tc.token != "" {
				apitest.Bearer(tc.token)(r)
			}
			w := h.Exchange(r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("status %d: %s; want %d: %s", w.Code, w.Body, tc.status, tc.says)
			}
		})
	}
	if n := len(h.Suites()); n != 1 {
		t.Errorf("%d runs, want the one of before", n)
	}
}

// wait asks in the background, and returns once the request waits.
func wait(h *apitest.World, more ...string) <-chan *httptest.ResponseRecorder {
	h.T.Helper()
	before := h.Topics.Runs.Waiting.InUse()
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, ask(append(more, "wait", "50")...))
		answer <- w
	}()
	poll.True(h.T, "the request waits", func() bool { return h.Topics.Runs.Waiting.InUse() > before && h.Runs.Changes.InUse() > 0 })
	return answer
}

func receive(t *testing.T, answer <-chan *httptest.ResponseRecorder) httpapi.Verdict {
	t.Helper()
	select {
	case w := <-answer:
		return apitest.Decode[httpapi.Verdict](t, w)
	case <-time.After(poll.Limit):
		t.Fatal("no answer after the change")
		return httpapi.Verdict{}
	}
}

func TestWait(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("load"))})
	answer := wait(h)
	ids := h.Notify(apitest.WithSHA)
	for _, s := range h.Suites() {
		h.SuiteChanged(nil, &s)
	}
	if got := receive(t, answer); got.State != "running" {
		t.Errorf("after the notification: %s", got.State)
	}
	for i, want := range []string{"running", "passed"} {
		answer := wait(h)
		h.Become(ids.Results[i].RunID(), apitest.To(v1alpha1.Running(""))) // no news
		h.Become(ids.Results[i].RunID(), ended(h, v1alpha1.Passed("")))
		if got := receive(t, answer); got.State != want {
			t.Errorf("after %d runs: %s, want %s", i+1, got.State, want)
		}
	}
	if got := verdictOf(t, h, "wait", "50"); got.State != "passed" {
		t.Errorf("a final verdict is answered at once with %s", got.State)
	}
	if h.Topics.Runs.Waiting.InUse() != 0 || h.Server.InFlight.InUse() != 0 || h.Runs.Changes.InUse() != 0 {
		t.Errorf("left behind: %d waiting, %d in flight, %d subscriptions", h.Topics.Runs.Waiting.InUse(), h.Server.InFlight.InUse(),
			h.Runs.Changes.InUse())
	}
}

// TestWaitEnds without news after the time, when minAge is over, when the Environment is deleted, and when the server stops.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
		began := time.Now()
		if got := verdictOf(t, h, "wait", "7"); got.State != "none" || time.Since(began) != 7*time.Second {
			t.Errorf("%s after %s, want none after 7s", got.State, time.Since(began))
		}
		e := h.Environments()["staging"]
		e.Spec.Gate = &v1alpha1.GateRule{MinAge: &metav1.Duration{Duration: time.Minute}}
		if err := h.Cluster.Update(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
		h.Become(notify(h)["smoke"], ended(h, v1alpha1.Passed("")))
		h.Clock.Time = h.Clock.Time.Truncate(time.Second).Add(50 * time.Second)
		began = time.Now()
		if got := verdictOf(t, h, "wait", "50"); got.OpensAt == nil || time.Since(began) != 10*time.Second {
			t.Errorf("%+v after %s, want an answer after 10s", got, time.Since(began))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
		answer := wait(h)
		h.Drain()
		if got := receive(t, answer); got.State != "none" {
			t.Errorf("%s", got.State)
		}
		began := time.Now()
		if got := verdictOf(t, h, "wait", "50"); got.State != "none" || time.Since(began) > 0 {
			t.Errorf("%s after %s, want an answer at once", got.State, time.Since(began))
		}
	})
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0))})
	answer := wait(h)
	e := h.Environments()["staging"]
	if err := h.Cluster.Delete(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	h.SuiteChanged(nil, apitest.ARun("a", 0))
	if w := <-answer; w.Code != http.StatusNotFound {
		t.Errorf("status %d, want 404", w.Code)
	}
}

func TestWaitIsBounded(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.ARun("a", 0)),
		Limits: func(l *limits.Limits) { l.Waiting, l.InFlight = 2, 1 }})
	first, second := wait(h), h.Wait("a")
	if w := h.Exchange(ask("wait", "50")); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("the third waits, or is answered %d: %s", w.Code, w.Body)
	}
	h.Validate = false
	if w := h.Exchange(ask("wait", "50", "repository", strings.Repeat("%", 250)+"/"+strings.Repeat("x", 5), "service", strings.Repeat("%", 128))); w.Code != http.StatusBadRequest {
		t.Errorf("a long URL is answered %d: %s", w.Code, w.Body)
	}
	h.Drain()
	receive(t, first)
	<-second
}

// TestUnavailable: an API server that does not answer is no verdict.
func TestUnavailable(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
	h.Topics.Verdicts.Reader.Cache = broken{h.Cluster}
	w := h.Exchange(ask())
	if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

type broken struct{ client.Reader }

func (broken) List(_ context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	return errors.New("secret")
}
