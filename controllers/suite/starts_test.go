package suite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestStartsAreOfOneRun(t *testing.T) {
	m := newStarts()
	m.note(runOf("one"))
	if !m.noted(runOf("one")) || m.noted(runOf("another")) {
		t.Error("want the run that was noted, and no other of its name")
	}
	m.forget(types.NamespacedName{Namespace: "shop", Name: "run"})
	if m.noted(runOf("one")) {
		t.Error("it was forgotten")
	}
}

func runOf(uid types.UID) *v1alpha1.Suite {
	return &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "run", UID: uid}}
}
