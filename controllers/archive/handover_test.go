package archive

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

func runWith(uid string, variables map[string]string) *v1alpha1.Suite {
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "run", UID: types.UID(uid)},
		Spec:       v1alpha1.SuiteSpec{Variables: variables},
	}
}

func TestHandoverIsTakenOnce(t *testing.T) {
	h := NewHandovers()
	variables := map[string]string{"REGION": "eu"}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "run-pod"},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "test", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		}},
	}
	h.Put(runWith("one", variables), []corev1.Pod{pod})
	if _, ok := h.take(runWith("another", nil)); ok {
		t.Error("a run of the same name got it")
	}
	got, ok := h.take(runWith("one", nil)) // as the cache has it after the end
	want := handover{variables: variables, sources: []record.Source{{Pod: "run-pod", Container: "test"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(handover{})); diff != "" || !ok {
		t.Errorf("taken=%t (-want +got):\n%s", ok, diff)
	}
	if _, ok := h.take(runWith("one", nil)); ok {
		t.Error("it was there a second time")
	}
}

func TestHandoversAreBounded(t *testing.T) {
	h := NewHandovers()
	for i := range 3 * maxHandovers {
		h.Put(runWith(fmt.Sprint(i), nil), nil)
	}
	if len(h.byRun) > maxHandovers {
		t.Errorf("there are %d, want at most %d", len(h.byRun), maxHandovers)
	}
	if _, ok := h.take(runWith(fmt.Sprint(3*maxHandovers-1), nil)); !ok {
		t.Error("the last one is not there")
	}
}
