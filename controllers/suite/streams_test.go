package suite

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestStreamsRememberTheNewest: whatever happens to runs, and whenever somebody asks, the answer is what a list of all says, except for
// those that a schedule started.
func TestStreamsRememberTheNewest(t *testing.T) {
	tier.PinRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		x, exist := newStreams(), map[string]*v1alpha1.Suite{}
		in := func(key string) (runs []*v1alpha1.Suite) {
			for _, s := range exist {
				if s.Spec.SupersedeKey == key {
					runs = append(runs, s)
				}
			}
			return runs
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				name := fmt.Sprintf("run-%d", rapid.IntRange(0, 7).Draw(t, "name"))
				received := metav1.NewMicroTime(time.Unix(int64(rapid.IntRange(0, 20).Draw(t, "received")), 0))
				s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.Unix(30, 0)}}
				s.Spec.ReceivedAt = &received
				s.Spec.SupersedeKey = rapid.SampledFrom([]string{"main", "feature"}).Draw(t, "stream")
				if rapid.Bool().Draw(t, "scheduled") {
					s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T03:00:00Z"}
				}
				was := exist[name]
				exist[name] = s
				x.change(was, s)
			},
			"delete": func(t *rapid.T) {
				if len(exist) == 0 {
					t.Skip("nothing is left")
				}
				name := rapid.SampledFrom(slices.Sorted(maps.Keys(exist))).Draw(t, "name")
				was := exist[name]
				delete(exist, name)
				x.change(was, nil)
			},
			"ask": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"main", "feature"}).Draw(t, "stream")
				id := streamIDOf(&v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: v1alpha1.SuiteSpec{SupersedeKey: key}})
				got, err := x.newestOf(id, func() ([]*v1alpha1.Suite, error) { return in(key), nil })
				var want *v1alpha1.Suite
				if runs := slices.DeleteFunc(in(key), func(s *v1alpha1.Suite) bool { return !ledger.IsDeployment(s) }); len(runs) > 0 {
					want = slices.MaxFunc(runs, ledger.Compare)
				}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("of %s: %v (-want +got):\n%s", key, err, diff)
				}
			},
		})
	})
}
