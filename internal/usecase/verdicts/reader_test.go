package verdicts_test

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
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
