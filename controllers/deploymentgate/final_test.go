package deploymentgate_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/world"
)

// TestDecisionsAreFinal: the API server refuses what would make two decisions of one.
func TestDecisionsAreFinal(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	decision := func(state v1alpha1.ReviewState) *v1alpha1.ReviewDecision {
		return &v1alpha1.ReviewDecision{State: state, Message: "So it is.", Time: metav1.NewTime(time.Unix(1e9, 0))}
	}
	approval, rejection := decision(v1alpha1.ReviewApproved), decision(v1alpha1.ReviewRejected)
	at := func(seconds int64) *metav1.Time { return new(metav1.NewTime(time.Unix(1e9+seconds, 0))) }
	for name, tc := range map[string]struct {
		before, after v1alpha1.DeploymentReviewStatus
		ok            bool
	}{
		"a rejection becomes an approval": {v1alpha1.DeploymentReviewStatus{Decision: rejection}, v1alpha1.DeploymentReviewStatus{Decision: approval}, false},
		"an approval becomes a rejection": {v1alpha1.DeploymentReviewStatus{Decision: approval}, v1alpha1.DeploymentReviewStatus{Decision: rejection}, true},
		"a decision is removed":           {v1alpha1.DeploymentReviewStatus{Decision: approval}, v1alpha1.DeploymentReviewStatus{}, false},
		"it is delivered again":           {v1alpha1.DeploymentReviewStatus{DeliveredTime: at(1)}, v1alpha1.DeploymentReviewStatus{DeliveredTime: at(2)}, false},
		"it begins again":                 {v1alpha1.DeploymentReviewStatus{DeliveredTime: at(1)}, v1alpha1.DeploymentReviewStatus{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, GenerateName: "review-"}}
			r.Spec = v1alpha1.DeploymentReviewSpec{
				Gate: "production", Source: "github", HostingService: v1alpha1.GitHub, Repository: repository, Environment: "production", RunID: 7,
			}
			w.Must(w.Client.Create(t.Context(), r))
			r.Status = tc.before
			w.Must(w.Client.Status().Update(t.Context(), r))
			r.Status = tc.after
			if err := w.Client.Status().Update(t.Context(), r); (err == nil) != tc.ok || err != nil && !apierrors.IsInvalid(err) {
				t.Errorf("got %v", err)
			}
			again := r.DeepCopy()
			w.Must(w.Client.Get(t.Context(), w.Key(r.Name), again))
			again.Spec.SHA = "x"
			if err := w.Client.Update(t.Context(), again); !apierrors.IsInvalid(err) {
				t.Errorf("a changed question: %v", err)
			}
		})
	}
}
