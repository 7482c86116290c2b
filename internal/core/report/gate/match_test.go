package gate_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
)

func TestMatching(t *testing.T) {
	named := func(name, source string, environments, repositories []string) v1alpha1.DeploymentGate {
		return v1alpha1.DeploymentGate{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DeploymentGateSpec{
			Source: source, Environments: environments, Repositories: repositories,
		}}
	}
	all := []v1alpha1.DeploymentGate{
		named("z-all", "hub", []string{"*"}, nil),
		named("production", "hub", []string{"production"}, []string{"acme/*"}),
		named("eu", "hub", []string{"prod-eu*"}, nil),
		named("lab", "lab", []string{"production"}, nil),
		named("gone", "hub", []string{"*"}, nil),
	}
	all[4].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, tc := range map[string]struct {
		reason string
		at     gate.Place
		want   []string
	}{
		"its name":              {"by name, all of them", gate.Place{Source: "hub", Host: v1alpha1.GitHub, Repository: "acme/shop", Environment: "production"}, []string{"production", "z-all"}},
		"in another spelling":   {"GitHub has one environment for all", gate.Place{Source: "hub", Host: v1alpha1.GitHub, Repository: "Acme/Shop", Environment: "Production"}, []string{"production", "z-all"}},
		"a beginning":           {"the pattern is open", gate.Place{Source: "hub", Host: v1alpha1.GitHub, Repository: "acme/shop", Environment: "prod-eu-1"}, []string{"eu", "z-all"}},
		"another repository":    {"the gate does not list it", gate.Place{Source: "hub", Host: v1alpha1.GitHub, Repository: "other/shop", Environment: "production"}, []string{"z-all"}},
		"another source":        {"a gate is for one", gate.Place{Source: "lab", Host: v1alpha1.GitLab, Repository: "acme/shop", Environment: "production"}, []string{"lab"}},
		"GitLab tells case":     {"these are two environments", gate.Place{Source: "lab", Host: v1alpha1.GitLab, Repository: "acme/shop", Environment: "Production"}, nil},
		"a source without gate": {"none is for it", gate.Place{Source: "x", Host: v1alpha1.GitHub, Repository: "acme/shop", Environment: "production"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, g := range gate.Matching(all, tc.at) {
				got = append(got, g.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: got %q", tc.reason, got)
			}
		})
	}
}

func TestDeciding(t *testing.T) {
	claim := func(namespace string, repositories ...string) gate.Claim {
		return gate.Claim{Namespace: namespace, Team: &v1alpha1.Team{Spec: v1alpha1.TeamSpec{Repositories: repositories}}}
	}
	for name, tc := range map[string]struct {
		reason    string
		claims    []gate.Claim
		want      []string
		contested bool
	}{
		"one team":                {"it alone has a gate", []gate.Claim{claim("a", "acme/*")}, []string{"a"}, false},
		"one names it":            {"the name goes first", []gate.Claim{claim("a", "acme/*"), claim("b", "acme/shop")}, []string{"b"}, false},
		"one names it with host":  {"that is the same", []gate.Claim{claim("a", "acme/*"), claim("b", "github.com/acme/shop")}, []string{"b"}, false},
		"both name it":            {"neither goes first", []gate.Claim{claim("a", "acme/shop"), claim("b", "acme/shop")}, []string{"a", "b"}, true},
		"neither names it":        {"neither goes first", []gate.Claim{claim("a", "acme/*"), claim("b", "acme/*")}, []string{"a", "b"}, true},
		"both, and a third":       {"the third is not asked", []gate.Claim{claim("a", "acme/shop"), claim("b", "acme/shop"), claim("c", "acme/*")}, []string{"a", "b"}, true},
		"no team":                 {"none has a gate", nil, nil, false},
		"on another host by name": {"the entry is for others", []gate.Claim{claim("a", "acme/*", "git.example.com/acme/shop"), claim("b", "acme/shop")}, []string{"b"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, contested := gate.Deciding(report.Target{Host: v1alpha1.GitHub, Repository: repository}, "github.com", tc.claims)
			if !slices.Equal(got, tc.want) || contested != tc.contested {
				t.Errorf("%s: got %q, %t", tc.reason, got, contested)
			}
		})
	}
}

// TestName: a question has one name, and no two have the same.
func TestName(t *testing.T) {
	r := event.Review{Environment: "production", RunID: 7, DeploymentID: 9}
	name := gate.Name("uid", v1alpha1.GitHub, repository, r, "delivery")
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		t.Error(name, problems)
	}
	again := r
	again.SHA, again.By, again.Ref = "other", "other", "other"
	if gate.Name("uid", v1alpha1.GitHub, "ACME/Shop", again, "another delivery") != name {
		t.Error("a delivery that comes again has another name")
	}
	seen := map[string]string{name: "the first"}
	differ := func(what string, name string) {
		t.Helper()
		if other, known := seen[name]; known {
			t.Errorf("%s has the name of %s", what, other)
		}
		seen[name] = what
	}
	change := func(change func(*event.Review)) event.Review { other := r; change(&other); return other }
	differ("another source", gate.Name("other", v1alpha1.GitHub, repository, r, ""))
	differ("another host", gate.Name("uid", v1alpha1.GitLab, repository, r, ""))
	differ("another repository", gate.Name("uid", v1alpha1.GitHub, "acme/docs", r, ""))
	differ("another run", gate.Name("uid", v1alpha1.GitHub, repository, change(func(r *event.Review) { r.RunID = 8 }), ""))
	differ("another deployment", gate.Name("uid", v1alpha1.GitHub, repository, change(func(r *event.Review) { r.DeploymentID = 8 }), ""))
	differ("another environment", gate.Name("uid", v1alpha1.GitHub, repository, change(func(r *event.Review) { r.Environment = "x" }), ""))
	unnumbered := change(func(r *event.Review) { r.DeploymentID = 0 })
	differ("no deployment", gate.Name("uid", v1alpha1.GitHub, repository, unnumbered, "delivery"))
	differ("another delivery", gate.Name("uid", v1alpha1.GitHub, repository, unnumbered, "other"))
}

func TestReports(t *testing.T) {
	review := func(change func(*v1alpha1.DeploymentReview)) *v1alpha1.DeploymentReview {
		r := observed().Review
		change(r)
		return r
	}
	for name, tc := range map[string]struct {
		review *v1alpha1.DeploymentReview
		want   bool
	}{
		"the first":       {review(func(*v1alpha1.DeploymentReview) {}), true},
		"the same":        {review(func(r *v1alpha1.DeploymentReview) { r.Status.LastReport = "It waits." }), false},
		"another":         {review(func(r *v1alpha1.DeploymentReview) { r.Status.LastReport, r.Status.Reports = "It waited.", 7 }), true},
		"too many":        {review(func(r *v1alpha1.DeploymentReview) { r.Status.Reports = 8 }), false},
		"after all":       {review(func(r *v1alpha1.DeploymentReview) { r.Status.Decision = &v1alpha1.ReviewDecision{} }), false},
		"GitLab has none": {review(func(r *v1alpha1.DeploymentReview) { r.Spec.HostingService = v1alpha1.GitLab }), false},
	} {
		if got := gate.Reports(tc.review, "It waits."); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for name, tc := range map[string]struct {
		failure  report.Error
		failures int
		want     time.Duration
	}{
		"the first":       {report.Error{Kind: report.Unavailable}, 1, 2 * time.Second},
		"the third":       {report.Error{Kind: report.Unavailable}, 3, 8 * time.Second},
		"of an outage":    {report.Error{Kind: report.Unavailable}, 1000, 5 * time.Minute},
		"of a refusal":    {report.Error{Kind: report.Rejected}, 1000, 30 * time.Minute},
		"as it was asked": {report.Error{Kind: report.Limited, RetryAfter: time.Hour}, 1, time.Hour},
	} {
		if got := gate.RetryAfter(&tc.failure, tc.failures); got != tc.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestAskedAgain: the next attempt of a workflow run has its number, and another deployment.
func TestAskedAgain(t *testing.T) {
	question := func(name string, minute int, change func(*v1alpha1.DeploymentReviewSpec)) v1alpha1.DeploymentReview {
		r := v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(asked.Add(time.Duration(minute) * time.Minute))}}
		r.Spec = v1alpha1.DeploymentReviewSpec{
			HostingService: v1alpha1.GitHub, Source: "hub", Repository: repository, Environment: "production", RunID: 7, DeploymentID: 101,
		}
		change(&r.Spec)
		return r
	}
	own := question("own", 0, func(*v1alpha1.DeploymentReviewSpec) {})
	for name, tc := range map[string]struct {
		minute int
		change func(*v1alpha1.DeploymentReviewSpec)
		want   bool
	}{
		"the next attempt":                       {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID = 102 }, true},
		"in another spelling":                    {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID, s.Environment = 102, "Production" }, true},
		"an earlier attempt that is heard later": {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID = 100 }, false},
		"later, without a deployment":            {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID = 0 }, true},
		"earlier, without a deployment":          {-1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID = 0 }, false},
		"another run":                            {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID, s.RunID = 102, 8 }, false},
		"another environment":                    {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID, s.Environment = 102, "staging" }, false},
		"another repository":                     {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID, s.Repository = 102, "acme/pay" }, false},
		"another source":                         {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID, s.Source = 102, "lab" }, false},
		"of GitLab, which decides by deployment": {1, func(s *v1alpha1.DeploymentReviewSpec) { s.DeploymentID, s.HostingService = 102, v1alpha1.GitLab }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := gate.AskedAgain(&own, []v1alpha1.DeploymentReview{own, question("other", tc.minute, tc.change)}); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
