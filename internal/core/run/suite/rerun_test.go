package suite_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

func TestRerunIsTheNextAttempt(t *testing.T) {
	request := suite.Request{Trigger: aTrigger(), Environment: "staging", Notification: &notification.Notification{SHA: "abc", Branch: "main"}, ReceivedAt: t0}
	first := suite.New(request)
	first.Spec.Cancel = true
	request.Attempt = 2
	second := suite.New(request)

	got := suite.Rerun(first, "uid-smoke", 2, "by-hand")
	if got.Name != second.Name || !suite.SameRun(got, second) {
		t.Errorf("the second attempt is %s, want %s as a notification would make it", got.Name, second.Name)
	}
	if got.Spec.Cancel || got.Spec.ReceivedAt != nil || got.Spec.SupersedeKey != first.Spec.SupersedeKey || len(got.Status.Conditions) != 0 {
		t.Errorf("what must not be taken over was, or the reverse: %+v", got.Spec)
	}
}

func TestRerunOfWhatWasRestored(t *testing.T) {
	s := aSuite("smoke-1", 0, restored, func(s *v1alpha1.Suite) {
		s.Labels[v1alpha1.LabelRestored], s.Labels[v1alpha1.LabelTrigger] = "true", "smoke"
	})
	again := suite.Rerun(s, "uid-smoke", 2, "by-hand")
	again.CreationTimestamp = s.CreationTimestamp // as the API server sets it
	if again.Restored() || again.Labels[v1alpha1.LabelTrigger] != "smoke" {
		t.Errorf("the next attempt counts as restored, or lacks a label: %v", again.Labels)
	}
	if !s.Restored() {
		t.Error("the first attempt has lost its labels")
	}
}

func TestRerunWithoutSHA(t *testing.T) {
	s := aSuite("smoke-1", 0, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "" })
	a, b := suite.Rerun(s, "uid-smoke", 2, "one"), suite.Rerun(s, "uid-smoke", 2, "two")
	if a.Name == b.Name || a.Name == s.Name {
		t.Errorf("two reruns share the name %s", a.Name)
	}
}
