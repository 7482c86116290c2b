package judge_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/judge"
)

// TestPostsToGitLab: what Postflight makes by the API of GitLab comes back as an event, and starts nothing.
func TestPostsToGitLab(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const commit = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	passed := func(ago time.Duration, known int64, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		s := &v1alpha1.Suite{
			ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", CreationTimestamp: metav1.NewTime(at.Add(-ago - time.Minute))},
			Spec:       v1alpha1.SuiteSpec{Environment: "staging", Deployment: v1alpha1.Deployment{SHA: commit}},
		}
		s.Status.CompletionTime = new(metav1.NewTime(at.Add(-ago)))
		s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("All tests passed.")}
		s.Status.Report = &v1alpha1.SuiteReport{HostingService: v1alpha1.GitLab, Repository: "acme/web/shop"}
		if known != 0 {
			s.Status.Report.Deployment = &v1alpha1.DeploymentReport{ID: known}
		}
		for _, c := range change {
			c(s)
		}
		return s
	}
	running := func(s *v1alpha1.Suite) {
		s.Status.CompletionTime, s.Status.Conditions = nil, []metav1.Condition{v1alpha1.Running("The tests run.")}
	}
	failed := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("A test failed.")} }
	hour, unreported := time.Hour, func(s *v1alpha1.Suite) { s.Status.Report = nil }
	spelled := func(s *v1alpha1.Suite) { s.Status.Report.Repository = "Acme/Web/Shop" }
	elsewhere := func(s *v1alpha1.Suite) { s.Status.Report.Repository = "acme/other" }
	onGitHub := func(s *v1alpha1.Suite) { s.Status.Report.HostingService = v1alpha1.GitHub }
	ofAnother := func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "other" }
	for name, tc := range map[string]struct {
		post *event.Post
		run  *v1alpha1.Suite
		ours bool
	}{
		"the deployment of the run":           {&event.Post{Environment: "staging", Deployment: 15}, passed(hour, 15), true},
		"of the project in other letters":     {&event.Post{Environment: "staging", Deployment: 15}, passed(hour, 15, spelled), true},
		"while other runs go on":              {&event.Post{Environment: "staging", Deployment: 15}, passed(hour, 15, running), true},
		"before its id is stored":             {&event.Post{Environment: "staging", Deployment: 15}, passed(time.Second, 0), true},
		"an old GitLab":                       {&event.Post{Environment: "staging"}, passed(hour, 15), true},
		"another deployment of the commit":    {&event.Post{Environment: "staging", Deployment: 16}, passed(hour, 15), false},
		"deployed again, and nothing posted":  {&event.Post{Environment: "staging", Deployment: 16}, passed(hour, 0), false},
		"deployed before the run had passed":  {&event.Post{Environment: "staging", Deployment: 16}, passed(-time.Minute, 0), false},
		"another environment":                 {&event.Post{Environment: "production", Deployment: 15}, passed(hour, 15), false},
		"the run failed":                      {&event.Post{Environment: "staging", Deployment: 15}, passed(hour, 15, failed), false},
		"of another project":                  {&event.Post{Environment: "staging", Deployment: 15}, passed(hour, 15, elsewhere), false},
		"posted to GitHub":                    {&event.Post{Environment: "staging", Deployment: 15}, passed(hour, 15, onGitHub), false},
		"of another commit":                   {&event.Post{Environment: "staging", Deployment: 15}, passed(hour, 15, ofAnother), false},
		"nothing was posted for the run":      {&event.Post{Environment: "staging", Deployment: 15}, passed(time.Second, 0, unreported), false},
		"made by a job, which cannot be ours": {nil, passed(hour, 15), false},
	} {
		n := &notification.Notification{SHA: commit, Repository: "acme/web/shop", DeploymentType: "staging", HostingService: v1alpha1.GitLab}
		e := event.Event{Notification: n, At: at, Post: tc.post}
		problem := judge.Problem(e, []*v1alpha1.Suite{tc.run}, report.Options{PublicURL: "https://ci.example.com"}, at)
		if strings.Contains(problem, "posted this state itself") != tc.ours || !tc.ours && problem != "" {
			t.Errorf("%s: got %q", name, problem)
		}
	}
}
