package replicas

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

const bound = 20

// beyond is how many notifications are sent at once.
func beyond() int {
	if tier.Gate() {
		return 3 * bound
	}
	return 10 * bound
}

// newBoundTeam has few Suites, none of which supersedes another.
func newBoundTeam(t *testing.T, s *apiserver.Server, stored, unfinished int32) *team {
	t.Helper()
	tm := newTeam(t, s)
	owner := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}}
	tm.update(owner, func() { owner.Spec.MaxSuites, owner.Spec.MaxUnfinishedSuites = &stored, &unfinished })
	smoke := tm.trigger("smoke")
	tm.update(smoke, func() { smoke.Spec.Supersede = v1alpha1.SupersedeNone })
	return tm
}

// TestBoundOfUnfinishedSuites sends a burst far beyond the bound. Notifications of existing runs are still duplicates,
// and once a run has ended, another one can be created.
func TestBoundOfUnfinishedSuites(t *testing.T) {
	s := apiserver.Alone(t)
	tm := newBoundTeam(t, s, 0, bound)
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)
	tm.awaitTeam(all)
	made := tm.burst(all, beyond(), "maxUnfinishedSuites")
	if len(made)+1 != bound {
		t.Errorf("%d runs were created beside the first, want %d in all", len(made), bound)
	}
	for sha, id := range made {
		a, err := notify(t.Context(), all[0].URL, tm.key, alone(sha))
		if err != nil || len(a.Results) != 1 || a.Results[0].Duplicate != id {
			t.Errorf("a run that exists, at the bound: %s, %v, want a duplicate of %s", a.Body, err, id)
		}
	}
	tm.endOne(made)
	tm.awaitCreated(all[0])
	if a := tm.notified(all[0], "one-more"); !strings.Contains(a.Results[0].Failure, "maxUnfinishedSuites") {
		t.Errorf("at the bound again: %s, want a failure_reason", a.Body)
	}
}

// TestBoundOfStoredSuites counts runs that have ended, too, until they are deleted.
func TestBoundOfStoredSuites(t *testing.T) {
	s := apiserver.Alone(t)
	tm := newBoundTeam(t, s, bound, 0)
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)
	tm.awaitTeam(all)
	made := tm.burst(all, beyond(), "maxSuites")
	if len(made)+1 != bound {
		t.Errorf("%d runs were created beside the first, want %d in all", len(made), bound)
	}
	ended := tm.endOne(made)
	if a := tm.notified(all[0], "after-an-end"); !strings.Contains(a.Results[0].Failure, "maxSuites") {
		t.Errorf("after one has ended: %s, want a failure_reason", a.Body)
	}
	tm.remove(ended)
	tm.awaitCreated(all[0])
}

// TestBoundOfReplicas: each replica counts for itself, so two of them may create a few more.
func TestBoundOfReplicas(t *testing.T) {
	s := apiserver.Alone(t)
	tm := newBoundTeam(t, s, 0, bound)
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 2)
	tm.awaitTeam(all)
	made := tm.burst(all, beyond(), "maxUnfinishedSuites")
	t.Logf("BOUND bound=%d replicas=2 burst=%d created=%d", bound, beyond(), len(made))
	if n := len(made) + len(all); n < bound || n > 2*bound {
		t.Errorf("there are %d runs, want from %d to %d", n, bound, 2*bound)
	}
	if a := tm.notified(all[1], "later"); a.Results[0].Failure == "" {
		t.Errorf("later: %s, want a failure_reason", a.Body)
	}
}

// burst sends notifications at once, and returns the runs that were created by their SHA. The others
// must name what bounds them.
func (tm *team) burst(all []*replica, n int, field string) map[string]string {
	tm.t.Helper()
	began := time.Now()
	var wait sync.WaitGroup
	answers := make([]answer, n)
	for i := range n {
		wait.Go(func() {
			a, err := notify(tm.t.Context(), all[i%len(all)].URL, tm.key, alone(fmt.Sprintf("burst-%d", i)))
			if err != nil || len(a.Results) != 1 {
				tm.t.Errorf("%+v, %v, want one result", a, err)
				return
			}
			answers[i] = a
		})
	}
	wait.Wait()
	tm.t.Logf("%d notifications in %s", n, time.Since(began).Round(time.Millisecond))
	made := map[string]string{}
	for i, a := range answers {
		if len(a.Results) != 1 {
			continue
		}
		switch r := a.Results[0]; {
		case r.Created != "":
			made[fmt.Sprintf("burst-%d", i)] = r.Created
		case !strings.Contains(r.Failure, field):
			tm.t.Errorf("%s, want a failure_reason that names %s", a.Body, field)
		}
	}
	if stored := len(tm.suites()); stored != len(made)+len(all) {
		tm.t.Errorf("%d Suites are stored, and %d were said to be created beside the first %d", stored, len(made), len(all))
	}
	return made
}

// endOne ends one of the runs, as its Job would.
func (tm *team) endOne(made map[string]string) *v1alpha1.Suite {
	tm.t.Helper()
	s := &tm.suites()[0]
	was := s.DeepCopy()
	passed := v1alpha1.Passed("All good.")
	passed.LastTransitionTime = metav1.Now()
	s.Status.Conditions = []metav1.Condition{passed}
	if err := tm.s.Client.Status().Patch(tm.t.Context(), s, k8sclient.MergeFrom(was)); err != nil {
		tm.t.Fatal(err)
	}
	return s
}

// awaitTeam waits until every replica knows the team, by letting each create a Suite. It does not delete these,
// because there is no way to wait until a replica has noticed the deletion.
func (tm *team) awaitTeam(all []*replica) {
	tm.t.Helper()
	for _, r := range all {
		poll.True(tm.t, "the team is known", func() bool {
			a, err := notify(tm.t.Context(), r.URL, tm.key, `{"sha":"first-of-`+r.URL+`"}`)
			return err == nil && len(a.Results) == 1
		})
	}
}

// awaitCreated waits until the replica knows that there is room for a run.
func (tm *team) awaitCreated(r *replica) {
	tm.t.Helper()
	poll.True(tm.t, "room for a run", func() bool {
		return tm.notified(r, "room-again").Results[0].Created != ""
	})
}
