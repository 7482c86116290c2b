package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func suite(id, trigger, environment string, ago time.Duration, condition metav1.Condition) *v1alpha1.Suite {
	at := noon.Add(-ago)
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: id, Namespace: "acme", CreationTimestamp: metav1.NewTime(at)},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: trigger}, Environment: environment, Attempt: 1,
			Origin: v1alpha1.OriginNotification, ReceivedAt: new(metav1.NewMicroTime(at)),
			Deployment: v1alpha1.Deployment{SHA: strings.Repeat("5ca1ab1e", 5), Branch: "main"}},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{condition}, StartTime: new(metav1.NewTime(at)),
			CompletionTime: new(metav1.NewTime(at.Add(time.Minute))), Results: &v1alpha1.TestResults{Tests: 3, Passed: 2, Failed: 1,
				Failures: []v1alpha1.TestFailure{{Name: "pays", Message: strings.Repeat("x", 1000)}}}},
	}
}

// subject is a team with so many Triggers on so many Environments, and so many runs of each.
func subject(triggers, environments, runs int) hub.Subject {
	s := hub.Subject{Team: &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}, PublicURL: "https://staging.example.com"}
	for i := range triggers {
		s.Triggers = append(s.Triggers, &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("t%03d", i), Namespace: "acme"},
			Spec: v1alpha1.TriggerSpec{Environment: "e000"}})
	}
	for i := range environments {
		s.Environments = append(s.Environments, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("e%03d", i),
			Namespace: "acme"}})
	}
	for n := range runs {
		for t := range triggers {
			for e := range environments {
				s.Runs = append(s.Runs, suite(fmt.Sprintf("r-%d-%d-%d", t, e, n), s.Triggers[t].Name, s.Environments[e].Name,
					time.Duration(n)*time.Hour, v1alpha1.Failed("1 of 3 tests failed.")))
			}
		}
	}
	return s
}

func size(t *testing.T, o httpapi.Overview) int {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// TestOverviewIsBounded: the answer grows with Triggers and Environments up to a bound, and not with runs.
func TestOverviewIsBounded(t *testing.T) {
	few, many := hub.OverviewOf(subject(5, 4, 1), noon), hub.OverviewOf(subject(5, 4, 500), noon)
	if len(many.Board) != 20 || len(many.Environments) != 4 || len(many.Runs) != 20 || len(many.Newest) != 5 || many.Omitted != "" {
		t.Errorf("%d tiles, %d Environments, %d runs, %d newest, %q", len(many.Board), len(many.Environments), len(many.Runs), len(many.Newest),
			many.Omitted)
	}
	t.Logf("10,000 runs take %d bytes, 20 runs %d", size(t, many), size(t, few))
	if size(t, many) > 20<<10 {
		t.Errorf("10,000 runs take %d bytes", size(t, many))
	}
	full := hub.OverviewOf(subject(60, 50, 1), noon)
	if full.Omitted != "Left out, because the team has so many: 2920 tiles, 10 Environments, 30 Triggers, 1420 runs." ||
		size(t, full) > hub.MaxBytes/2 {
		t.Errorf("%q, %d bytes", full.Omitted, size(t, full))
	}
}

// TestBounded: a cluster that was taken over sends what takes neither memory nor room, and no text that a page cannot show.
func TestBounded(t *testing.T) {
	long := strings.Repeat("<script>\u202e\x1b[31m", 100_000)
	var o httpapi.Overview
	o.Team, o.Namespace, o.PageURL, o.NeedsLook, o.Omitted = long, long, long, long, long
	o.NotWorking, o.Failing, o.Queued = -1, 1<<62, -1<<62
	for range 10_000 {
		o.Newest = append(o.Newest, long)
		o.Board = append(o.Board, httpapi.BoardTile{Trigger: long, Environment: long, Service: long, Run: "a", Message: long, Streak: long,
			Trail: []string{"passed", "a b", long, "none", "failed"}, URL: long})
		o.Environments = append(o.Environments, httpapi.OverviewEnvironment{Runs: []string{long}, DeployedOmitted: -7, LastDeployment: long,
			Environment: httpapi.EnvironmentStatus{Name: long, Team: long, Namespace: long, URL: long, Message: long, PageURL: long,
				Hold: &httpapi.EnvironmentHold{Reason: long, HeldBy: long}, Deployed: make([]httpapi.Deployed, 9)}})
		o.Runs = append(o.Runs, httpapi.Run{ID: "a", State: long, Message: long, Branch: long, SHA: long, URL: long, Artifacts: &httpapi.Artifacts{},
			Results: &httpapi.TestResults{Tests: 1, Passed: 1 << 30, Failures: make([]httpapi.TestFailure, 9)}})
	}
	got := hub.Bounded(o)
	if n := size(t, got); n > hub.MaxBytes {
		t.Errorf("%d bytes", n)
	}
	if got.NotWorking != 0 || got.Failing != 1e6 || got.Queued != 0 || got.PageURL != "" || strings.ContainsAny(got.NeedsLook, "\u202e\x1b") {
		t.Errorf("%d, %d, %d, %q", got.NotWorking, got.Failing, got.Queued, got.NeedsLook)
	}
	if trail := strings.Join(got.Board[0].Trail, " "); trail != "passed failed" {
		t.Errorf("the trail %q", trail)
	}
	if r := got.Runs[0]; r.Results != nil || r.Artifacts != nil || r.URL != "" {
		t.Errorf("%+v", r)
	}
	if e := got.Environments[0]; e.DeployedOmitted != 0 || len(e.Environment.Deployed) != 3 {
		t.Errorf("%+v", e)
	}
}
