package apitest

import (
	"net/http/httptest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// Become changes a run, and publishes the change as the watch does.
func (h *World) Become(name string, change func(*v1alpha1.Suite)) {
	h.T.Helper()
	s := &v1alpha1.Suite{}
	if err := h.Cluster.Get(h.T.Context(), client.ObjectKey{Namespace: Namespace, Name: name}, s); err != nil {
		h.T.Fatal(err)
	}
	was := s.DeepCopy()
	change(s)
	if err := h.Cluster.Status().Update(h.T.Context(), s); err != nil {
		h.T.Fatal(err)
	}
	h.SuiteChanged(was, s)
}

// To sets a condition of a run.
func To(condition metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{condition} }
}

// Wait sends a request in the background, and returns once it waits.
func (h *World) Wait(id string) <-chan *httptest.ResponseRecorder {
	h.T.Helper()
	before := h.Topics.Runs.Waiting.InUse()
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, Ask(id, "?wait=50"))
		answer <- w
	}()
	poll.True(h.T, "the request waits", func() bool { return h.Topics.Runs.Waiting.InUse() > before })
	return answer
}
