package github_test

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/test/codehost"
)

// extreme is a run whose fields all have the longest value that the schema allows.
func extreme(condition metav1.Condition, text func(n int) string) *v1alpha1.Suite {
	label, most := strings.Repeat("a", 63), int32(math.MaxInt32)
	start := metav1.NewTime(time.Unix(0, 0))
	condition.LastTransitionTime = start
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: label, Name: strings.Repeat("s", 63)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: label}, Environment: label, Attempt: most,
			Deployment: v1alpha1.Deployment{SHA: strings.Repeat("a", 64), Branch: text(1024), URL: "https://" + text(2000)},
		},
		Status: v1alpha1.SuiteStatus{
			Conditions: []metav1.Condition{condition}, StartTime: &start, CompletionTime: new(metav1.NewTime(time.Unix(1<<31, 0))),
			Results: &v1alpha1.TestResults{Tests: most, Passed: most, Failed: most, NewFailures: most, Skipped: most, Flaky: most,
				ComparedWith: label},
		},
	}
	for i := range 20 {
		s.Status.Results.Failures = append(s.Status.Results.Failures, v1alpha1.TestFailure{
			Name: text(512 - 16*i), File: text(512), Line: most, Message: text(1024), History: v1alpha1.FailureNew,
		})
	}
	return s
}

// TestExtremesFit: no run is too long for a check. The fakes refuse what is beyond a limit.
func TestExtremesFit(t *testing.T) {
	ends := []metav1.Condition{v1alpha1.Passed("p"), v1alpha1.Failed("f"), v1alpha1.Error(strings.Repeat("@", 1024)), v1alpha1.Running("r")}
	for name, letter := range map[string]string{"ASCII": "n", "two bytes": "é", "four bytes": "🚀", "backticks": "`"} {
		t.Run(name, func(t *testing.T) {
			hub, lab := codehost.GitHub(t), codehost.GitLab(t)
			text := func(n int) string { return strings.Repeat(letter, n/len(letter)) }
			for _, end := range ends {
				s := extreme(end, text)
				s.UID = types.UID(end.Reason)
				check := report.Of(s, report.Options{PublicURL: "https://ci.example.com", ClusterName: strings.Repeat("c", 63)})
				target := report.Target{Host: v1alpha1.GitHub, Repository: "acme/shop", SHA: s.Spec.Deployment.SHA, Branch: s.Spec.Deployment.Branch}
				for _, c := range []report.Credentials{app(), token(hub)} {
					request := report.Request{Target: target, Credentials: c, Check: check}
					if _, err := github.New(hub.URL, outbound.New()).Post(t.Context(), request); err != nil {
						t.Errorf("GitHub: %v", err)
					}
				}
				target.Host = v1alpha1.GitLab
				r := report.Request{Target: target, Credentials: token(lab), Check: check}
				if _, err := gitlab.New(lab.URL, outbound.New()).Post(t.Context(), r); err != nil {
					t.Errorf("GitLab: %v", err)
				}
			}
			if hubs, labs := len(hub.Writes()), len(lab.Writes()); hubs != 2*len(ends) || labs != len(ends) {
				t.Errorf("%d and %d checks were written", hubs, labs)
			}
		})
	}
}
