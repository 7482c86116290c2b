package suite_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

func TestRunsAgain(t *testing.T) {
	sha := func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "b776998" }
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{"postflight.dev/idempotency-key": k} }
	}
	stopping := func(s *v1alpha1.Suite) { s.Status.SupersededBy = "newer" }
	newer := []*v1alpha1.Suite{aSuite("newer", 3)}
	ended := func(c metav1.Condition) *v1alpha1.Suite { return aSuite("run", 1, sha, in(c)) }
	const reject, unsuccessful = v1alpha1.DuplicatesReject, v1alpha1.DuplicatesRerunUnsuccessful
	for name, tc := range map[string]struct {
		existing *v1alpha1.Suite
		key      string // of the notification
		stream   []*v1alpha1.Suite
		policy   v1alpha1.DuplicatePolicy
		want     bool
	}{
		"a run that goes on is the run":              {existing: aSuite("run", 1, sha), policy: reject},
		"also where its Trigger repeats what failed": {existing: aSuite("run", 1, sha), policy: unsuccessful},
		"passed": {existing: ended(v1alpha1.Passed("")), policy: reject},
		"passed before something newer was deployed": {existing: ended(v1alpha1.Passed("")), stream: newer, policy: unsuccessful},
		"failed":                               {existing: ended(v1alpha1.Failed("")), policy: reject},
		"timed out":                            {existing: ended(v1alpha1.TimedOut("")), policy: reject},
		"failed, and the Trigger repeats that": {existing: ended(v1alpha1.Failed("")), policy: unsuccessful, want: true},
		"superseded":                           {existing: ended(v1alpha1.Superseded("")), policy: reject, want: true},
		"canceled":                             {existing: ended(v1alpha1.Canceled("")), policy: reject, want: true},
		"could not be run":                     {existing: ended(v1alpha1.Error("")), policy: reject, want: true},
		"about to be superseded":               {existing: aSuite("run", 1, sha), stream: newer, policy: reject, want: true},
		"being superseded, by a run that is not seen": {existing: aSuite("run", 1, sha, stopping), policy: reject, want: true},
		"being canceled":                          {existing: aSuite("run", 1, sha, canceled), policy: reject, want: true},
		"being deleted":                           {existing: aSuite("run", 1, sha, deleted), policy: reject, want: true},
		"superseded, and sent again":              {existing: aSuite("run", 1, key("k"), in(v1alpha1.Superseded(""))), key: "k", stream: newer, policy: reject},
		"superseded, and sent again with its SHA": {existing: aSuite("run", 1, sha, key("k"), in(v1alpha1.Superseded(""))), key: "k", policy: reject},
		"about to be superseded, and sent again":  {existing: aSuite("run", 1, sha, key("k")), key: "k", stream: newer, policy: reject},
		"superseded, and notified anew":           {existing: aSuite("run", 1, sha, key("k"), in(v1alpha1.Superseded(""))), key: "l", policy: reject, want: true},
		"canceled, and sent again":                {existing: aSuite("run", 1, key("k"), in(v1alpha1.Canceled(""))), key: "k", policy: reject, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := suite.RunsAgain(tc.existing, aSuite("next", 5, key(tc.key)), tc.stream, tc.policy); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestNotifyAgain(t *testing.T) {
	key := func(k string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Annotations = map[string]string{"postflight.dev/idempotency-key": k} }
	}
	again := func(seconds int) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			s.Status.NotifiedAgainAt = new(metav1.NewMicroTime(t0.Add(time.Duration(seconds) * time.Second)))
		}
	}
	for name, tc := range map[string]struct {
		reason   string
		existing *v1alpha1.Suite
		key      string // of the notification, which is received at 5
		want     bool
	}{
		"running":            {"It is the newest deployment again.", aSuite("run", 1), "", true},
		"with another key":   {"Another notification has another key.", aSuite("run", 1, key("k")), "l", true},
		"with the same key":  {"The client repeats a notification that it had no answer to.", aSuite("run", 1, key("k")), "k", false},
		"noted before":       {"A third notification counts as the second did.", aSuite("run", 1, again(3)), "", true},
		"noted later":        {"The two overlapped, and the later one counts.", aSuite("run", 1, again(6)), "", false},
		"received later":     {"The existing run is of a later notification.", aSuite("run", 6), "", false},
		"ended":              {"The end of a run never changes, and nothing supersedes it.", aSuite("run", 1, in(v1alpha1.Passed(""))), "", false},
		"without a stream":   {"Nothing supersedes it.", aSuite("run", 1, withPolicy(v1alpha1.SupersedeNone)), "", false},
		"in an Environment":  {"Others may supersede it.", aSuite("run", 1, withPolicy(v1alpha1.SupersedeEnvironment)), "", true},
		"about to be queued": {"It is as good as running.", aSuite("run", 1, in(v1alpha1.Queued(""))), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			desired := aSuite("run", 5, key(tc.key))
			desired.CreationTimestamp = metav1.Time{}
			newer := aSuite("newer", 4)
			if got := suite.NotifyAgain(tc.existing, desired); got != tc.want {
				t.Fatalf("%s got %t", tc.reason, got)
			}
			if tc.want && suite.Compare(tc.existing, newer) <= 0 {
				t.Errorf("a run of an older notification counts as newer")
			}
		})
	}
}
