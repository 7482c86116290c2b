package verdicts_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apitest"
)

// startMissing asks for what is missing.
func startMissing(t *testing.T, h *apitest.World, more ...string) httpapi.StartedVerdict {
	t.Helper()
	w := h.Exchange(apitest.Keyed(http.MethodPost, path+"?"+query(more...), "ignored"))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return apitest.Decode[httpapi.StartedVerdict](t, w)
}

// summary has the Triggers of what was started, and of problems.
func summary(v httpapi.StartedVerdict) string {
	var parts []string
	for _, s := range v.Started {
		parts = append(parts, s.Trigger)
	}
	for _, p := range v.Problems {
		parts = append(parts, "!"+p.Trigger)
	}
	slices.Sort(parts)
	return strings.TrimSpace(fmt.Sprint(v.State, " ", strings.Join(parts, " ")))
}

// TestStart: what is missing and what is stale starts once, however often it is asked; what has a result does not start.
func TestStart(t *testing.T) {
	classed := func(t *v1alpha1.Trigger) { t.Spec.TriggerClassName = "web" }
	for name, tc := range map[string]struct {
		reason string
		end    func(h *apitest.World, runs map[string]string)
		query  []string
		want   string // the first time
		then   string // each time afterwards
	}{
		"without a result": {"nothing is known", func(h *apitest.World, runs map[string]string) {
			h.Become(runs["smoke"], ended(h, v1alpha1.Inconclusive("It changed.")))
			h.Become(runs["load"], ended(h, v1alpha1.Passed("")))
		}, nil, "running smoke", "running"},
		"too old": {"a rule says so", func(h *apitest.World, runs map[string]string) {
			for _, id := range runs {
				h.Become(id, ended(h, v1alpha1.Passed("")))
			}
			h.Clock.Time = h.Clock.Time.Add(25 * time.Hour)
		}, []string{"maxAge", "24h"}, "running load smoke", "running"},
		"too old for another": {"it is not asked", func(h *apitest.World, runs map[string]string) {
			for _, id := range runs {
				h.Become(id, ended(h, v1alpha1.Passed("")))
			}
			h.Clock.Time = h.Clock.Time.Add(25 * time.Hour)
		}, nil, "passed", "passed"},
		"failed": {"a gate that repeats until tests pass proves nothing", func(h *apitest.World, runs map[string]string) {
			h.Become(runs["smoke"], ended(h, v1alpha1.Failed("Exit code 1.")))
			h.Become(runs["load"], ended(h, v1alpha1.Canceled("By ada.")))
		}, nil, "failed load", "failed"},
		"running": {"it has an answer to come", func(*apitest.World, map[string]string) {}, nil, "running", "running"},
		"of other variables": {"only a notification has them", func(h *apitest.World, runs map[string]string) {
			h.Become(runs["load"], ended(h, v1alpha1.Passed("")))
			h.Become(runs["smoke"], func(s *v1alpha1.Suite) {
				ended(h, v1alpha1.Passed(""))(s)
				s.Status.AnsweredOther = &v1alpha1.OtherDeployment{NotifiedAt: metav1.NewTime(h.Clock.Now()), Differs: []v1alpha1.Difference{v1alpha1.DifferentVariables}}
			})
		}, nil, "stale !smoke", "stale !smoke"},
	} {
		t.Run(name, func(t *testing.T) {
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("load", classed), class())})
			tc.end(h, notify(h))
			h.Clock.Time = h.Clock.Time.Add(time.Second)
			if got := summary(startMissing(t, h, tc.query...)); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
			runs := len(h.Suites())
			for range 3 {
				if got := summary(startMissing(t, h, tc.query...)); got != tc.then {
					t.Errorf("%s: again: %s, want %s", tc.reason, got, tc.then)
				}
			}
			if n := len(h.Suites()); n != runs {
				t.Errorf("%s: %d runs, want %d", tc.reason, n, runs)
			}
		})
	}
}

func class() *v1alpha1.TriggerClass {
	c := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	c.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "e2e"}}
	return c
}

// TestStartFirstRun: the run that could not be created starts when it can be, and makes the commit green.
func TestStartFirstRun(t *testing.T) {
	classed := func(t *v1alpha1.Trigger) { t.Spec.TriggerClassName = "web" }
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("load", classed))})
	runs := notify(h)
	h.Become(runs["smoke"], ended(h, v1alpha1.Passed("")))
	h.Clock.Time = h.Clock.Time.Add(time.Minute)
	got := startMissing(t, h)
	if summary(got) != "none !load" || !strings.Contains(got.Problems[0].Reason, `The TriggerClass "web"`) {
		t.Fatalf("%+v", got)
	}
	if err := h.Cluster.Create(t.Context(), class()); err != nil {
		t.Fatal(err)
	}
	got = startMissing(t, h)
	if summary(got) != "running load" || !strings.HasPrefix(got.Started[0].URL, "/runs/acme/load-") {
		t.Fatalf("%+v", got)
	}
	h.Become(got.Started[0].Run, ended(h, v1alpha1.Passed("")))
	if v := verdictOf(t, h); v.State != "passed" || len(v.Requirements) != 2 {
		t.Errorf("%+v", v)
	}
	if got := summary(startMissing(t, h)); got != "passed" || len(h.Suites()) != 2 {
		t.Errorf("%s, with %d runs", got, len(h.Suites()))
	}
}

// TestStartNamedTrigger: the rule of the Environment names a Trigger that no deployment matched.
func TestStartNamedTrigger(t *testing.T) {
	release := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release"} }
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("load", release))})
	e := h.Environments()["staging"]
	e.Spec.Gate = &v1alpha1.GateRule{Triggers: []string{"load", "visual"}}
	if err := h.Cluster.Update(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	notify(h)
	got := startMissing(t, h)
	if summary(got) != "running !visual load" || !strings.HasPrefix(got.Problems[0].Reason, "There is no such Trigger of this Environment. Create") {
		t.Errorf("%s: %+v", summary(got), got)
	}
}

// TestStartReplaced: another commit is there, and it would be tested.
func TestStartReplaced(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	h.Become(notify(h)["smoke"], ended(h, v1alpha1.Canceled("By ada.")))
	h.Clock.Time = h.Clock.Time.Add(time.Minute)
	h.Notify(`{"branch":"main","sha":"b000000"}`)
	w := h.Exchange(apitest.Keyed(http.MethodPost, path+"?"+query(), ""))
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "Nothing is started, because b000000 was deployed to staging after 5ca1ab1e.") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if n := len(h.Suites()); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

// TestStartNewest: of several attempts, the last one is repeated.
func TestStartNewest(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	h.Become(notify(h)["smoke"], ended(h, v1alpha1.Passed("")))
	h.Clock.Time = h.Clock.Time.Add(time.Hour)
	h.Become(notify(h, apitest.Query("rerun=true"))["smoke"], ended(h, v1alpha1.Canceled("By ada.")))
	h.Clock.Time = h.Clock.Time.Add(25 * time.Hour)
	if got := summary(startMissing(t, h, "maxAge", "24h")); got != "running smoke" {
		t.Errorf("%s", got)
	}
	if n := len(h.Suites()); n != 3 {
		t.Errorf("%d runs, want a third attempt", n)
	}
}
