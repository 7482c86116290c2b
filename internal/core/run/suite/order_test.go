package suite_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// TestCompare: neither the clock of a replica nor a field that a person sets can make a later deployment the older one.
func TestCompare(t *testing.T) {
	at := func(name string, created, received time.Duration) *v1alpha1.Suite {
		return aSuite(name, 0, func(s *v1alpha1.Suite) {
			s.CreationTimestamp = metav1.NewTime(t0.Add(created).Truncate(time.Second)) // as it is stored
			said := metav1.NewMicroTime(t0.Add(received))
			s.Spec.ReceivedAt = &said
		})
	}
	byHand := func(name string, created time.Duration) *v1alpha1.Suite {
		s := at(name, created, 0)
		s.Spec.ReceivedAt = nil
		return s
	}
	restored := func(name string, received time.Duration) *v1alpha1.Suite {
		s := at(name, 0, received)
		s.Labels = map[string]string{v1alpha1.LabelRestoredByVelero: "nightly"}
		return s
	}
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		reason string
		order  []*v1alpha1.Suite // the oldest first
	}{
		"Honest":      {"What is received first is older, whatever is stored first.", []*v1alpha1.Suite{at("b", 9*time.Second, 0), at("a", 2*time.Second, time.Second)}},
		"SameSecond":  {"Parts of a second count.", []*v1alpha1.Suite{at("b", 0, 200*ms), at("a", 0, 300*ms)}},
		"Ahead":       {"A replica 20 minutes ahead does not beat the next second.", []*v1alpha1.Suite{at("z", 0, 20*time.Minute), at("a", time.Second, time.Second)}},
		"AheadTwice":  {"Two notifications of such a replica keep their order.", []*v1alpha1.Suite{at("z", 100*ms, 20*time.Minute+100*ms), at("a", 200*ms, 20*time.Minute+200*ms)}},
		"Future":      {"Nor does a Suite made by hand for the year 2031.", []*v1alpha1.Suite{at("z", 0, 5*8760*time.Hour), at("a", time.Second, time.Second)}},
		"Behind":      {"The clock of a replica that is an hour behind moves a run by one minute at most.", []*v1alpha1.Suite{at("b", 0, 0), at("a", 66*time.Second, 66*time.Second-time.Hour)}},
		"Held":        {"A notification that was held for the longest time keeps its position.", []*v1alpha1.Suite{at("b", 60*time.Second, 0), at("a", 10*time.Second, 5*time.Second)}},
		"ByHand":      {"Without a time it is the last of its second.", []*v1alpha1.Suite{at("z", 0, 900*ms), byHand("a", 0)}},
		"ByHandFirst": {"And older than all of the next.", []*v1alpha1.Suite{byHand("z", 0), at("a", time.Second, time.Second)}},
		"Restored":    {"What was restored is older than what lives.", []*v1alpha1.Suite{restored("z", -3*time.Minute), at("a", -2*time.Minute, -2*time.Minute)}},
		"AllRestored": {"And keeps its own order.", []*v1alpha1.Suite{restored("z", -4*time.Minute), restored("a", -3*time.Minute)}},
		"LabeledLate": {"Velero also labels a run that lives.", []*v1alpha1.Suite{at("z", -time.Minute, -time.Minute), restored("a", -time.Second)}},
		"SameTime":    {"The name decides at last.", []*v1alpha1.Suite{at("a", 0, 0), at("b", 0, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := slices.Clone(tc.order)
			slices.Reverse(got)
			slices.SortFunc(got, ledger.Compare)
			if !slices.Equal(got, tc.order) {
				t.Errorf("%s got %s before %s", tc.reason, got[0].Name, got[1].Name)
			}
		})
	}
}
