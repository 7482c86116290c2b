package ui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestRunIndex: whatever happens in whatever order, the index has the runs that exist, newest first.
func TestRunIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	x, exist := newRunIndex(), map[string]*v1alpha1.Suite{}
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for step := range 5000 {
		name := fmt.Sprintf("run-%d", random.IntN(60))
		was, is := exist[name], (*v1alpha1.Suite)(nil)
		switch random.IntN(4) {
		case 0: // deleted
		case 1: // deleted and created again, of which the watch saw only the result
			is = &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", CreationTimestamp: metav1.NewTime(start.Add(time.Duration(random.IntN(40)) * time.Second))}}
		default: // created, or changed
			if is = was.DeepCopy(); was == nil {
				is = &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", CreationTimestamp: metav1.NewTime(start.Add(time.Duration(random.IntN(40)) * time.Second))}}
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
	slices.SortFunc(want, newestFirst)
	if diff := cmp.Diff(want, x.of("shop")); diff != "" || len(want) == 0 {
		t.Errorf("%d runs exist: %s", len(want), diff)
	}
	for _, s := range want {
		x.observe(s, nil)
	}
	if len(x.byNamespace) != 0 {
		t.Errorf("without runs, the index keeps %v", x.byNamespace)
	}
}

// TestVersionsAreShared: readers of one page share what is rendered after a change, and nobody gets an older one.
func TestVersionsAreShared(t *testing.T) {
	v, rendered := newVersions(), 0
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	get := func(key string, change uint64, at time.Duration) uint64 {
		t.Helper()
		got, err := v.of(key, change, now.Add(at), func() (version, error) {
			rendered++
			return version{sum: uint64(rendered)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got.sum
	}
	steps := []struct {
		reason string
		key    string
		change uint64
		at     time.Duration
		want   uint64
	}{
		{"It is the first.", "a", 1, 0, 1},
		{"Nothing has changed.", "a", 1, time.Second, 1},
		{"Another page is another.", "b", 1, time.Second, 2},
		{"A run has changed.", "a", 2, time.Second, 3},
		{"Something else may have changed.", "a", 2, 4 * time.Second, 4},
	}
	for _, s := range steps {
		if got := get(s.key, s.change, s.at); got != s.want {
			t.Errorf("%s got version %d, want %d", s.reason, got, s.want)
		}
	}
	for i := range 10 * maxVersions {
		get(fmt.Sprint(i), 1, 0)
	}
	if len(v.byKey) > maxVersions {
		t.Errorf("%d versions are kept", len(v.byKey))
	}
}
