package queue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

func deployedSince(e *v1alpha1.Environment, seconds ...int) *v1alpha1.Environment {
	for _, s := range seconds {
		e.Status.Deployed = append(e.Status.Deployed, v1alpha1.Deployed{Since: new(metav1.NewTime(after(s)))})
	}
	return e
}

func TestBurstOf(t *testing.T) {
	aMinute := func() *v1alpha1.Environment { return settleIn(time.Minute, 0) }
	type all = []*v1alpha1.Suite
	for name, tc := range map[string]struct {
		reason      string
		environment *v1alpha1.Environment
		suites      all
		want        queue.Burst
	}{
		"without settle":    {"Nothing is waited for.", anEnvironment(), all{aSuite("a", 0)}, queue.Burst{}},
		"nothing":           {"Nothing was deployed.", aMinute(), nil, queue.Burst{}},
		"one":               {"It is a burst of one.", aMinute(), all{aSuite("a", 7)}, burst(7, 7)},
		"several":           {"Each came within quiet of the one before.", aMinute(), all{aSuite("b", 50), aSuite("a", 0), aSuite("c", 100)}, burst(0, 100)},
		"a pause":           {"After quiet, another burst begins.", aMinute(), all{aSuite("a", 0), aSuite("b", 60), aSuite("c", 100)}, burst(60, 100)},
		"almost a pause":    {"A second is missing.", aMinute(), all{aSuite("a", 0), aSuite("b", 59)}, burst(0, 59)},
		"ended runs":        {"A run that was superseded or has passed was a deployment.", aMinute(), all{aSuite("a", 0, inState(v1alpha1.Superseded(""))), aSuite("b", 50, inState(v1alpha1.Passed("")))}, burst(0, 50)},
		"notified again":    {"The commit was deployed once more.", aMinute(), all{aSuite("a", 0, notifiedAgain(30))}, burst(0, 30)},
		"much later again":  {"That is another burst.", aMinute(), all{aSuite("a", 0, notifiedAgain(300))}, burst(300, 300)},
		"started again":     {"A person who starts a run again deploys nothing.", aMinute(), all{aSuite("a", 0), aSuite("b", 30, rerunBy)}, burst(0, 0)},
		"repeated":          {"A run that repeats an Inconclusive one is no deployment.", aMinute(), all{aSuite("a", 0), aSuite("b", 30, isSuccessor)}, burst(0, 0)},
		"restored":          {"It was deployed before the backup.", aMinute(), all{aSuite("a", 0, func(s *v1alpha1.Suite) { s.CreationTimestamp = metav1.NewTime(t0.Add(48 * time.Hour)) })}, burst(0, 0)},
		"a rollout":         {"Workloads have another commit, and no run tests it.", deployedSince(aMinute(), 20), all{aSuite("a", 0)}, burst(0, 20)},
		"several of them":   {"They are of several repositories.", deployedSince(aMinute(), 20, 65), nil, burst(20, 65)},
		"a rollout earlier": {"It began the burst.", deployedSince(aMinute(), 0), all{aSuite("a", 50)}, burst(0, 50)},
		"the one before": {"The status has the commit before, too.", func() *v1alpha1.Environment {
			e := deployedSince(aMinute(), 90)
			e.Status.Deployed[0].Previous = &v1alpha1.PreviousDeployment{Since: new(metav1.NewTime(after(40)))}
			return e
		}(), nil, burst(40, 90)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, queue.BurstOf(tc.environment, tc.suites)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	for name, tc := range map[string]struct {
		environment *v1alpha1.Environment
		burst       queue.Burst
		at, latest  time.Time
	}{
		"without settle":     {anEnvironment(), burst(0, 0), time.Time{}, time.Time{}},
		"nothing deployed":   {settleIn(time.Minute, 0), queue.Burst{}, time.Time{}, time.Time{}},
		"one":                {settleIn(time.Minute, 0), burst(10, 10), after(70), after(310)},
		"several":            {settleIn(time.Minute, 2*time.Minute), burst(0, 50), after(110), after(120)},
		"too many":           {settleIn(time.Minute, 2*time.Minute), burst(0, 100), after(120), after(120)},
		"endless":            {settleIn(time.Minute, 2*time.Minute), burst(0, 1000), after(120), after(120)},
		"atMost like quiet":  {settleIn(time.Minute, time.Minute), burst(0, 30), after(60), after(60)},
		"atMost of 5 quiets": {settleIn(time.Minute, 0), burst(0, 290), after(300), after(300)},
	} {
		t.Run(name, func(t *testing.T) {
			if at, latest := tc.burst.Settled(tc.environment); !at.Equal(tc.at) || !latest.Equal(tc.latest) {
				t.Errorf("%s, at the latest %s; want %s and %s", at, latest, tc.at, tc.latest)
			}
		})
	}
}

// TestQueueOfABurst: each deployment prolongs the wait, and changes nothing in the queue. After it, the queue continues in its order.
func TestQueueOfABurst(t *testing.T) {
	q := queue.New()
	q.SetTeamLimit(1)
	q.EndWaits(t0)
	q.SetSettle(settleIn(time.Minute, 2*time.Minute), func() []*v1alpha1.Suite { return nil })
	starts := func(seconds int, names ...string) {
		t.Helper()
		q.EndWaits(after(seconds))
		start, _ := q.Next()
		var got []string
		for _, s := range start {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("after %d seconds (-want +got):\n%s", seconds, diff)
		}
	}
	q.Set(aSuite("elsewhere", 5, inEnvironment("production"), keyed("elsewhere")))
	q.Set(aSuite("a", 0, keyed("a")))
	starts(0, "elsewhere")
	q.Delete("elsewhere")
	q.Set(aSuite("b", 50, keyed("b"), inState(v1alpha1.Superseded(""))))
	starts(60)
	q.Set(aSuite("c", 100, keyed("c")))
	starts(119)
	starts(120, "a")
	q.Claim("a")
	q.Set(aSuite("d", 150, keyed("d")))
	q.Set(aSuite("a", 0, keyed("a"), inState(v1alpha1.Passed(""))))
	starts(150, "c")
	q.Claim("c")
	if want := burst(0, 150); q.Burst("staging") != want {
		t.Errorf("%+v, want %+v", q.Burst("staging"), want)
	}
	q.Set(aSuite("c", 100, keyed("c"), inState(v1alpha1.Passed(""))))
	q.Set(aSuite("e", 210, keyed("e")))
	starts(210)
	q.SetSettle(anEnvironment(), nil)
	starts(211, "d")
}

// TestQueueOfANewLeader: it lists the runs that have ended, and waits as long as the leader before.
func TestQueueOfANewLeader(t *testing.T) {
	q := queue.New()
	for _, s := range []*v1alpha1.Suite{aSuite("a", 0), aSuite("b", 40, inState(v1alpha1.Superseded("")))} {
		q.Set(s)
	}
	q.SetSettle(settleIn(time.Minute, 0), func() []*v1alpha1.Suite {
		return []*v1alpha1.Suite{aSuite("a", 0), aSuite("b", 40, inState(v1alpha1.Superseded("")))}
	})
	if q.EndWaits(after(99)) || !q.Waits("staging") {
		t.Error("it does not wait")
	}
	if !q.EndWaits(after(100)) || q.Waits("staging") {
		t.Error("it waits for longer")
	}
}

func noHold(*v1alpha1.Suite) bool { return false }

// TestQueueAfterAHold: the queue continues in its order.
func TestQueueAfterAHold(t *testing.T) {
	for name, end := range map[string]func(*queue.Queue) bool{
		"released": func(q *queue.Queue) bool { q.SetHold("staging", time.Time{}); return true },
		"over":     func(q *queue.Queue) bool { return q.EndWaits(t0.Add(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			q := queue.New()
			q.SetTeamLimit(2)
			q.SetHold("staging", t0.Add(time.Hour))
			for i, run := range []string{"a", "b", "c"} {
				q.Set(aSuite(run, i, keyed(run)))
			}
			if start, _ := q.Next(); len(start) > 0 || q.EndWaits(t0.Add(time.Hour-1)) || q.MayStart("a") {
				t.Fatalf("%s may start during the hold", start[0].Name)
			}
			if !end(q) {
				t.Fatal("the hold has not ended")
			}
			start, _ := q.Next()
			var names []string
			for _, s := range start {
				names = append(names, s.Name)
			}
			if !slices.Equal(names, []string{"a", "b"}) {
				t.Errorf("%v may start, want a and b", names)
			}
			if p, _ := q.Position("c"); p.Number != 1 {
				t.Errorf("c is at position %d, want 1", p.Number)
			}
		})
	}
}
