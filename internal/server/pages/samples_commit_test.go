package pages_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

var withdrawnCommit = "/environments/shop/staging/commits/" + commit("5a7ed0c4")

// sampleCommit is a commit that passed, was approved, and then failed at night, and one whose result is too old.
func sampleCommit() []client.Object {
	sha := commit("5a7ed0c4")
	tested := func(s *v1alpha1.Suite) {
		s.Spec.Deployment.CommitMessage, s.Spec.Deployment.CommitAuthor = "Pay with a saved card in one step", "Anna Lee"
		s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{{
			Repository: "acme/shop", Kind: "Deployment", Namespace: team, Name: "shop",
			Start: &v1alpha1.WorkloadVersion{UID: "shop", SHA: sha, Digests: []v1alpha1.ImageDigest{
				{Container: "shop", Digest: "sha256:" + sha + sha[:24]}, {Container: "assets", Digest: "sha256:" + commit("77c0ffee") + sha[:24]}}}}}}
	}
	at := func(id, trigger string, ago time.Duration, condition metav1.Condition, results *v1alpha1.TestResults, more ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		return run{id: id, trigger: trigger, environment: "staging", branch: "main", sha: sha, ago: ago,
			waited: 6 * time.Second, took: 4 * minute, condition: condition, results: results, change: func(s *v1alpha1.Suite) {
				tested(s)
				for _, change := range more {
					change(s)
				}
			}}.suite()
	}
	atNight := func(s *v1alpha1.Suite) { s.Spec.Origin = v1alpha1.OriginSchedule }
	oneFailed := &v1alpha1.TestResults{Tests: 48, Passed: 47, Failed: 1, NewFailures: 1, Failures: []v1alpha1.TestFailure{
		{Name: "checkout › pays with a saved card", File: "checkout.spec.ts", Line: 31, History: v1alpha1.FailureNew,
			Message: "Error: expect(locator).toBeVisible() failed"}}}
	quarantined := &v1alpha1.TestResults{Tests: 32, Passed: 31, Failed: 1, Quarantined: 1, Failures: []v1alpha1.TestFailure{
		{Name: "visual › footer", Quarantine: "footer"}}}
	stale := run{id: "smoke-5sta", trigger: "smoke", environment: "production", branch: "main", sha: commit("57a1e0ff"), ago: 30 * time.Hour,
		waited: 6 * time.Second, took: 4 * minute, condition: v1alpha1.Passed("All 120 tests passed."), results: passed(120),
		change: func(s *v1alpha1.Suite) {
			s.Spec.Deployment.Repository = "acme/docs"
		}}.suite()
	return []client.Object{
		at("checkout-2k8d1m", "checkout", 7*time.Hour, v1alpha1.Passed("All 48 tests passed."), passed(48)),
		at("checkout-9a41c0", "checkout", 5*time.Hour, v1alpha1.Failed("1 of 48 tests failed."), oneFailed, atNight),
		at("visual-77dx2p", "visual", 7*time.Hour, v1alpha1.Passed("31 of 32 tests passed, 1 is quarantined."), quarantined),
		at("load-4cq0vn", "load", 7*time.Hour, v1alpha1.Passed("The run passed in 4m00s (exit code only)."), nil), stale,
		&v1alpha1.DeploymentGate{ObjectMeta: metav1.ObjectMeta{Name: "production", Namespace: team},
			Spec: v1alpha1.DeploymentGateSpec{Source: "github", Requires: []v1alpha1.GateRequirement{{Environment: "staging"}}}},
		review("review-1", sha, 6*time.Hour, 812, v1alpha1.ReviewApproved, "All 3 required Triggers passed for 5a7ed0c4 on staging."),
		review("review-2", sha, 3*time.Hour, 815, v1alpha1.ReviewRejected,
			"1 of 3 required Triggers failed in a later run of 5a7ed0c4 on staging: checkout with 1 new failure (checkout › pays with a saved card)."),
		review("review-3", sha, 2*minute, 0, "", "Waiting until the runs on staging have ended."),
	}
}

func review(name, sha string, ago time.Duration, run int64, state v1alpha1.ReviewState, message string) *v1alpha1.DeploymentReview {
	at := metav1.NewTime(time.Now().Add(-ago))
	r := &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team, CreationTimestamp: at},
		Spec: v1alpha1.DeploymentReviewSpec{Gate: "production", HostingService: v1alpha1.GitHub, Repository: "acme/shop",
			Environment: "production", SHA: sha, RunID: run, DeploymentID: 41, RequestedBy: "anna-lee"}}
	if run == 0 {
		r.Spec.HostingService = v1alpha1.GitLab
	}
	if state == "" {
		r.Status.LastReport = message
	} else {
		r.Status.Decision = &v1alpha1.ReviewDecision{State: state, Message: message, Time: at}
	}
	return r
}
