package report_test

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// noon is when the Suites of these tests are created.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

var sha = strings.Repeat("5ca1ab1e", 5)

func after(d time.Duration) time.Time { return noon.Add(d) }

func aSuite(change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke-1", UID: "u1", CreationTimestamp: metav1.NewTime(noon)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", Attempt: 1,
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: sha, URL: "https://staging.example.com"},
		},
	}, change...)
}

func aTrigger(change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	return build.With(&v1alpha1.Trigger{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke"},
		Spec:       v1alpha1.TriggerSpec{Repository: &v1alpha1.Repository{HostingService: v1alpha1.GitHub, Name: "acme/shop"}},
	}, change...)
}

// in sets the state of a run; one that ended ran from 30 s to 120 s after noon.
func in(c metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		c.LastTransitionTime = metav1.NewTime(noon)
		meta.SetStatusCondition(&s.Status.Conditions, c)
		if c.Status != metav1.ConditionUnknown {
			s.Status.StartTime = new(metav1.NewTime(after(30 * time.Second)))
			s.Status.CompletionTime = new(metav1.NewTime(after(120 * time.Second)))
		}
	}
}

func posted(phase v1alpha1.ReportPhase) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Report = &v1alpha1.SuiteReport{HostingService: v1alpha1.GitHub, Repository: "acme/shop", Phase: phase, CheckID: 7}
	}
}

func failed(tests, failures int32) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Results = &v1alpha1.TestResults{
			Tests: tests, Passed: tests - failures, Failed: failures, NewFailures: 1, ComparedWith: "smoke-0",
			Failures: []v1alpha1.TestFailure{
				{Name: "cart › pay", File: "e2e/cart.spec.ts", Line: 12, Message: "expected 200, got 503", History: v1alpha1.FailureNew},
				{Name: "login", Message: "time-out", History: v1alpha1.FailureKnown},
			},
		}
	}
}
