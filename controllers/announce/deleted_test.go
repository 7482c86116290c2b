package announce

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// withoutTrigger is a cluster whose Trigger was deleted. Its Secret still exists.
type withoutTrigger struct {
	client.Client
	suite *v1alpha1.Suite
}

func (c withoutTrigger) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *v1alpha1.Suite:
		c.suite.DeepCopyInto(o)
	case *corev1.Secret:
		o.Data = map[string][]byte{"token": []byte("xoxb-token")}
	default:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

func (withoutTrigger) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}

// TestTriggerIsDeletedMeanwhile: a Trigger that is deleted after the step was planned gets no thread.
func TestTriggerIsDeletedMeanwhile(t *testing.T) {
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "smoke", Namespace: "acme", UID: "1"}}
	trigger.Spec.Notify = &v1alpha1.Notify{Slack: v1alpha1.SlackNotify{Channel: "C0123ABCD", When: []v1alpha1.NotifyWhen{v1alpha1.NotifyNewFailure}}}
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", Namespace: "acme", UID: "2"}}
	s.Spec.Trigger = v1alpha1.TriggerReference{Name: "smoke", UID: "1"}
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("1 of 1 test failed.")}
	s.Status.CompletionTime = new(metav1.Now())
	s.Status.Results = &v1alpha1.TestResults{
		Tests: 1, Failed: 1, OnlyTestsFailed: true, Failures: []v1alpha1.TestFailure{{Name: "login", History: v1alpha1.FailureNew}},
	}
	c := withoutTrigger{suite: s}
	r := &Reconciler{Client: c, Live: c, Clock: clock.RealClock{}}
	to := announce.Receivers(nil, trigger)[0]
	if (announce.Observation{Suite: s}).NextThread(to) == nil {
		t.Fatal("the run opens no thread")
	}
	result, err := r.act(t.Context(), s, announce.Step{Receiver: &to}, func(*report.Error) {})
	if err != nil || result.RequeueAfter != retry.Stale {
		t.Errorf("act() = %v, %v; want to look again in %s", result, err, retry.Stale)
	}
}
