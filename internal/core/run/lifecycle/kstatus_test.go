package lifecycle_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
)

// TestKstatus reads Suites as Argo CD, Flux and kubectl wait do.
func TestKstatus(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		condition metav1.Condition
		want      status.Status
	}{
		"New":        {"A Suite that was not reconciled yet is not healthy.", metav1.Condition{}, status.InProgressStatus},
		"Queued":     {"It waits.", v1alpha1.Queued("Waiting."), status.InProgressStatus},
		"Running":    {"It runs.", v1alpha1.Running("Busy."), status.InProgressStatus},
		"Passed":     {"It is done, and well.", v1alpha1.Passed("Good."), status.CurrentStatus},
		"Failed":     {"It is done, and not well.", v1alpha1.Failed("Bad."), status.FailedStatus},
		"Error":      {"It could not be carried out.", v1alpha1.Error("Broken."), status.FailedStatus},
		"Superseded": {"It never looks green.", v1alpha1.Superseded("Over."), status.FailedStatus},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSuite("self", 1)
			s.Generation = 1
			s.Status.ObservedGeneration = -1 // what the API server fills in
			if tc.condition.Type != "" {
				lifecycle.SetStatus(s, lifecycle.Observation{Suite: s}, lifecycle.Decision{Condition: v1alpha1.Running("Before.")}, t0)
				lifecycle.SetStatus(s, lifecycle.Observation{Suite: s}, lifecycle.Decision{Condition: tc.condition}, t0.Add(time.Second))
			}
			got, err := status.Compute(asUnstructured(t, s))
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tc.want {
				t.Errorf("%s\nkstatus reads %s (%s), want %s", tc.reason, got.Status, got.Message, tc.want)
			}
		})
	}
}

func asUnstructured(t *testing.T, s *v1alpha1.Suite) *unstructured.Unstructured {
	t.Helper()
	s.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite"}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}
