package verdicts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

// TestEnvironmentOfAnotherCluster: runs of the time when it was here say nothing about it, so that no gate and no badge is green for them.
func TestEnvironmentOfAnotherCluster(t *testing.T) {
	const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"}}
	run := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "old"}}
	run.Spec.Environment, run.Spec.Trigger.Name, run.Spec.Deployment.SHA = "prod", "smoke", sha
	run.Status.Conditions = []metav1.Condition{v1alpha1.Passed("")}
	for cluster, missing := range map[string]bool{"": false, "eu": true} {
		here := e.DeepCopy()
		here.Spec.Cluster = cluster
		r := &verdicts.Reader{Cache: fakeclient.New(t, here, run.DeepCopy()), Now: time.Now}
		v, err := r.Verdict(t.Context(), verdicts.Query{Namespace: "acme", Environment: "prod", Commit: commit.New("", "", sha)})
		if errors.Is(err, verdicts.ErrNotFound) != missing || missing && len(v.Requirements) > 0 {
			t.Errorf("in the cluster %q: %+v, %v", cluster, v, err)
		}
	}
}

// TestLiveVerdictOfMany: thousands of runs without their label are not asked for one by one.
func TestLiveVerdictOfMany(t *testing.T) {
	objects := []client.Object{build.In("acme", build.Environment("staging"))}
	for i := range 101 {
		objects = append(objects, build.In("acme", build.Suite(fmt.Sprintf("smoke-%d", i), i)))
	}
	r := &verdicts.Reader{Cache: fakeclient.New(t, objects...), Live: fakeclient.New(t), Now: time.Now}
	_, err := r.Verdict(t.Context(), verdicts.Query{Namespace: "acme", Environment: "staging", Commit: commit.New("", "", "5ca1ab1e"), Live: true})
	if err == nil || !strings.Contains(err.Error(), "101 runs of 5ca1ab1e lack the label") {
		t.Errorf("got %v", err)
	}
}

// TestLiveVerdict: the cache is behind, and a person has removed the label by which the API server finds the runs of a commit.
func TestLiveVerdict(t *testing.T) {
	const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"}}
	run := func(change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		return build.With(build.In("acme", build.Suite("smoke-1", 0, build.InEnvironment("prod"), build.OfTrigger("smoke"), func(s *v1alpha1.Suite) {
			s.Spec.Deployment.SHA, s.Labels = sha, map[string]string{v1alpha1.LabelShortSHA: sha[:12]}
			s.Status.Conditions = []metav1.Condition{v1alpha1.Running("")}
		})), change...)
	}
	passed := func(s *v1alpha1.Suite) {
		s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Passed("")}, new(metav1.Now())
	}
	unlabeled := func(s *v1alpha1.Suite) { s.Labels = nil }
	another := func(s *v1alpha1.Suite) { s.UID = "another" }
	for name, tc := range map[string]struct {
		reason       string
		cached, live []client.Object
		want         bool
	}{
		"the same":           {"it passed", []client.Object{run(passed)}, []client.Object{run(passed)}, true},
		"it has ended":       {"the cache is behind", []client.Object{run()}, []client.Object{run(passed)}, true},
		"it is new":          {"the cache lacks it", nil, []client.Object{run(passed)}, true},
		"without a label":    {"it is asked for by its name", []client.Object{run(unlabeled)}, []client.Object{run(unlabeled, passed)}, true},
		"deleted":            {"it is no evidence any more", []client.Object{run(passed)}, nil, false},
		"deleted, unlabeled": {"the cache may have no labels", []client.Object{run(passed, unlabeled)}, nil, false},
		"made again":         {"another run has its name", []client.Object{run(passed, unlabeled)}, []client.Object{run(another, unlabeled)}, false},
	} {
		r := &verdicts.Reader{Cache: fakeclient.New(t, append(tc.cached, e.DeepCopy(), build.In("acme", build.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Environment = "prod" })))...),
			Live: fakeclient.New(t, tc.live...), Now: time.Now}
		v, err := r.Verdict(t.Context(), verdicts.Query{Namespace: "acme", Environment: "prod", Commit: commit.New("", "", sha), Live: true})
		if err != nil || (v.State == verdict.Passed) != tc.want {
			t.Errorf("%s: %s: %+v, %v", name, tc.reason, v, err)
		}
	}
}
