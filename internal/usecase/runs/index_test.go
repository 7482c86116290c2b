package runs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestIndex: whatever happens in whatever order, the index has the runs that exist, newest first.
func TestIndex(t *testing.T) {
	random := tier.Random(t)
	x, exist := newIndex(), map[string]*v1alpha1.Suite{}
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for step := range 5000 {
		name := fmt.Sprintf("run-%d", random.IntN(60))
		was, is := exist[name], (*v1alpha1.Suite)(nil)
		switch random.IntN(4) {
		case 0: // deleted
		case 1: // deleted and created again, of which the watch saw only the result
			is = &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(fmt.Sprint(step)), CreationTimestamp: metav1.NewTime(start.Add(time.Duration(random.IntN(40)) * time.Second))}}
		default: // created, or changed
			if is = was.DeepCopy(); was == nil {
				is = &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(fmt.Sprint(step)), CreationTimestamp: metav1.NewTime(start.Add(time.Duration(random.IntN(40)) * time.Second))}}
			}
			is.Status.JobName = fmt.Sprint(step)
		}
		x.observe(was, is)
		if exist[name] = is; is == nil {
			delete(exist, name)
		}
	}
	var want []*v1alpha1.Suite
	for _, s := range exist {
		want = append(want, s)
	}
	slices.SortFunc(want, func(a, b *v1alpha1.Suite) int { return Position(b).Compare(Position(a)) })
	if diff := cmp.Diff(want, x.newest("shop")); diff != "" || len(want) == 0 {
		t.Errorf("%d runs exist: %s", len(want), diff)
	}
	for _, s := range want {
		x.observe(s, nil)
	}
	if len(x.namespaces) != 0 {
		t.Errorf("without runs, the index keeps %v", x.namespaces)
	}
}

// TestLook: runs are counted as they are now, whatever was counted before.
func TestLook(t *testing.T) {
	of := func(name, uid string, condition metav1.Condition) *v1alpha1.Suite {
		s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid)}}
		s.Spec.Trigger.Name = name
		s.Status.Conditions = []metav1.Condition{condition}
		return s
	}
	failed, passed := v1alpha1.Failed("2 of 120 tests failed."), v1alpha1.Passed("All 64 tests passed.")
	x := newIndex()
	for _, step := range []struct {
		name       string
		was, is    *v1alpha1.Suite
		want, keep int
	}{
		{"a run of another team", nil, build.With(of("other", "o", failed), func(s *v1alpha1.Suite) { s.Namespace = "rival" }), 0, 0},
		{"a run fails", nil, of("a", "1", failed), 1, 1},
		{"another fails", nil, of("b", "2", failed), 2, 1},
		{"only its message changes", of("b", "2", failed), of("b", "2", v1alpha1.Failed("It failed.")), 2, 1},
		{"it passes after all", of("b", "2", failed), of("b", "2", passed), 1, 1},
		{"another one has its name", of("b", "2", passed), of("b", "3", failed), 2, 1},
		{"it is deleted", of("b", "3", failed), nil, 1, 1},
		{"all are deleted", of("a", "1", failed), nil, 0, 0},
	} {
		x.observe(step.was, step.is)
		for range 2 {
			if n := x.look("shop"); n != step.want || len(x.looks) != step.keep {
				t.Errorf("%s: %d runs need a look, want %d; it keeps %v", step.name, n, step.want, x.looks)
			}
		}
	}
}

// ended is a run that ended so many seconds after another time, with results.
func ended(name string, seconds int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, UID: types.UID(name)},
		Spec:       v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging"},
		Status: v1alpha1.SuiteStatus{
			Conditions:     []metav1.Condition{v1alpha1.Passed("")},
			CompletionTime: &metav1.Time{Time: time.Unix(int64(seconds), 0)},
			Results:        &v1alpha1.TestResults{},
		},
	}, change...)
}

func TestWithResults(t *testing.T) {
	c := newIndex()
	last := func() (names string) {
		for _, s := range c.withResults(ended("asks", 9)) {
			names += s.Name
		}
		return names
	}
	want := func(name, after string) {
		t.Helper()
		if got := last(); got != name {
			t.Errorf("after %s: %q, want %q", after, got, name)
		}
	}
	running := ended("b", 2, func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Running("")} })
	want("", "nothing")
	c.observe(nil, ended("a", 1))
	c.observe(nil, running)
	want("a", "a run that continues")
	c.observe(running, ended("b", 2))
	want("ba", "its end")
	c.observe(ended("b", 2), ended("b", 2))
	c.observe(nil, ended("c", 1))
	want("bca", "a run that ended at the same time as another")
	c.observe(nil, ended("d", 3, func(s *v1alpha1.Suite) { s.Status.Results = nil }))
	c.observe(nil, ended("e", 3, func(s *v1alpha1.Suite) { s.Spec.Environment = "production" }))
	c.observe(nil, ended("f", 3, func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "visual" }))
	c.observe(nil, ended("g", 3, func(s *v1alpha1.Suite) { s.Namespace = "other" }))
	c.observe(nil, ended("s", 3, func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = "cart" }))
	want("bca", "runs without results, or of something else")
	c.observe(ended("b", 2), nil)
	want("ca", "the deletion of the last")
	c.observe(ended("b", 2), nil)
	c.observe(ended("c", 1), nil)
	want("a", "a deletion that is reported twice, and another")
	c.observe(ended("a", 1), nil)
	want("", "all deletions")
	for i, name := range []string{"h", "i", "j", "k", "l", "m"} {
		c.observe(nil, ended(name, i))
	}
	want("mlkji", "more than a pod needs")
}

// BenchmarkWithResults is what a pod costs that asks for the results of the run before, beside 10,000 others.
func BenchmarkWithResults(b *testing.B) {
	c := newIndex()
	for i := range 10000 {
		c.observe(nil, ended(fmt.Sprint("run-", i), i))
	}
	for b.Loop() {
		c.withResults(ended("asks", 9))
	}
}
