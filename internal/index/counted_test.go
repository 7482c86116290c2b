package index_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/index"
)

// counted is a run that ended so many seconds after another time, with results.
func counted(name string, seconds int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, UID: types.UID(name)},
		Spec:       v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging"},
		Status: v1alpha1.SuiteStatus{
			Conditions:     []metav1.Condition{v1alpha1.Passed("")},
			CompletionTime: &metav1.Time{Time: time.Unix(int64(seconds), 0)},
			Results:        &v1alpha1.TestResults{},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestCounted(t *testing.T) {
	c := &index.Counted{}
	last := func() string {
		if s := c.Last("acme", "smoke", "staging"); s != nil {
			return s.Name
		}
		return ""
	}
	want := func(name, after string) {
		t.Helper()
		if got := last(); got != name {
			t.Errorf("after %s: %q, want %q", after, got, name)
		}
	}
	running := counted("b", 2, func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Running("")} })
	want("", "nothing")
	c.Observe(nil, counted("a", 1))
	c.Observe(nil, running)
	want("a", "a run that goes on")
	c.Observe(running, counted("b", 2))
	want("b", "its end")
	c.Observe(counted("b", 2), counted("b", 2))
	c.Observe(nil, counted("c", 1))
	want("b", "a run that ended earlier and was seen later")
	c.Observe(nil, counted("d", 3, func(s *v1alpha1.Suite) { s.Status.Results = nil }))
	c.Observe(nil, counted("e", 3, func(s *v1alpha1.Suite) { s.Spec.Environment = "production" }))
	c.Observe(nil, counted("f", 3, func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "visual" }))
	c.Observe(nil, counted("g", 3, func(s *v1alpha1.Suite) { s.Namespace = "other" }))
	want("b", "runs without results, or of something else")
	c.Observe(counted("b", 2), nil)
	want("c", "the deletion of the last")
	c.Observe(counted("b", 2), nil)
	c.Observe(counted("c", 1), nil)
	want("a", "a deletion that is reported twice, and another")
	c.Observe(counted("a", 1), nil)
	want("", "all deletions")
}

// BenchmarkCounted is what a run costs that ends beside 10,000 others.
func BenchmarkCounted(b *testing.B) {
	c := &index.Counted{}
	for i := range 10000 {
		c.Observe(nil, counted(fmt.Sprint("run-", i), i))
	}
	s := counted("another", 5000)
	for b.Loop() {
		c.Observe(nil, s)
		c.Last("acme", "smoke", "staging")
		c.Observe(s, nil)
	}
}
