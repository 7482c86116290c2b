package suite_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// settleIn is an Environment with spec.settle; without atMost if that is 0.
func settleIn(quiet, atMost time.Duration) *v1alpha1.Environment {
	e := anEnvironment()
	e.Spec.Settle = &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: quiet}}
	if atMost > 0 {
		e.Spec.Settle.AtMost = &metav1.Duration{Duration: atMost}
	}
	return e
}

func deployedSince(e *v1alpha1.Environment, seconds ...int) *v1alpha1.Environment {
	for _, s := range seconds {
		e.Status.Deployed = append(e.Status.Deployed, v1alpha1.Deployed{Since: new(metav1.NewTime(after(s)))})
	}
	return e
}

func after(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

func burst(first, last int) suite.Burst { return suite.Burst{First: after(first), Last: after(last)} }

func rerunBy(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
}

func TestBurstOf(t *testing.T) {
	aMinute := func() *v1alpha1.Environment { return settleIn(time.Minute, 0) }
	type all = []*v1alpha1.Suite
	for name, tc := range map[string]struct {
		reason      string
		environment *v1alpha1.Environment
		suites      all
		want        suite.Burst
	}{
		"without settle":    {"Nothing is waited for.", anEnvironment(), all{aSuite("a", 0)}, suite.Burst{}},
		"nothing":           {"Nothing was deployed.", aMinute(), nil, suite.Burst{}},
		"one":               {"It is a burst of one.", aMinute(), all{aSuite("a", 7)}, burst(7, 7)},
		"several":           {"Each came within quiet of the one before.", aMinute(), all{aSuite("b", 50), aSuite("a", 0), aSuite("c", 100)}, burst(0, 100)},
		"a pause":           {"After quiet, another burst begins.", aMinute(), all{aSuite("a", 0), aSuite("b", 60), aSuite("c", 100)}, burst(60, 100)},
		"almost a pause":    {"A second is missing.", aMinute(), all{aSuite("a", 0), aSuite("b", 59)}, burst(0, 59)},
		"ended runs":        {"A run that was superseded or has passed was a deployment.", aMinute(), all{aSuite("a", 0, in(v1alpha1.Superseded(""))), aSuite("b", 50, in(v1alpha1.Passed("")))}, burst(0, 50)},
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
			if diff := cmp.Diff(tc.want, suite.BurstOf(tc.environment, tc.suites)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	for name, tc := range map[string]struct {
		environment *v1alpha1.Environment
		burst       suite.Burst
		at, latest  time.Time
	}{
		"without settle":     {anEnvironment(), burst(0, 0), time.Time{}, time.Time{}},
		"nothing deployed":   {settleIn(time.Minute, 0), suite.Burst{}, time.Time{}, time.Time{}},
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

func TestDecideSettling(t *testing.T) {
	settling := suite.Decision{
		Condition: v1alpha1.Queued("Waiting until staging has settled: the last deployment was at 18:00:10 UTC; " +
			"runs start at 18:02:10 UTC unless another follows, at 18:10:00 UTC at the latest."),
		RequeueAfter: 2 * time.Minute, OnHold: true, Waiting: true,
	}
	onHold := suite.Decision{Condition: v1alpha1.Queued("Waiting: staging is on hold until 18:05 UTC."), RequeueAfter: 5*time.Minute - 10*time.Second, OnHold: true, Waiting: true}
	self := aSuite("self", 2)
	for name, tc := range map[string]struct {
		reason string
		change func(*suite.Observation)
		at     int
		want   suite.Decision
	}{
		"a deployment":   {reason: "The message says until when, and a timer ends the wait.", at: 10, want: settling},
		"almost settled": {reason: "Only the rest is waited for, and nothing is written.", at: 129, want: suite.Decision{Condition: settling.Condition, RequeueAfter: time.Second, OnHold: true, Waiting: true}},
		"settled":        {reason: "Nobody has to do anything.", at: 130, want: suite.Decision{Action: suite.CreateJob}},
		"endless deployments": {
			reason: "It starts atMost after the first of them.", at: 601,
			change: func(o *suite.Observation) { o.Burst = burst(0, 600) }, want: suite.Decision{Action: suite.CreateJob},
		},
		"removed": {
			reason: "It starts at once.", at: 10,
			change: func(o *suite.Observation) { o.Environment.Spec.Settle = nil }, want: suite.Decision{Action: suite.CreateJob},
		},
		"lowered": {
			reason: "The new value counts.", at: 20,
			change: func(o *suite.Observation) { o.Environment.Spec.Settle.Quiet.Duration = 10 * time.Second }, want: suite.Decision{Action: suite.CreateJob},
		},
		"a longer hold": {
			reason: "Of both, the message names the one that ends later.", at: 10,
			change: func(o *suite.Observation) { o.Environment.Spec.Hold = heldUntil(after(300), "", "").Spec.Hold }, want: onHold,
		},
		"a shorter hold": {
			reason: "The run starts only once the Environment has settled.", at: 10,
			change: func(o *suite.Observation) { o.Environment.Spec.Hold = heldUntil(after(60), "", "").Spec.Hold }, want: settling,
		},
		"behind an older run": {
			reason: "Other reasons to wait come after it.", at: 10,
			change: func(o *suite.Observation) { o.Stream = []*v1alpha1.Suite{aSuite("older", 1, withJob), self} }, want: settling,
		},
		"superseded": {
			reason: "Of a burst, the newest deployment is tested.", at: 10,
			change: func(o *suite.Observation) { o.Stream = []*v1alpha1.Suite{self, aSuite("newer", 10)} },
			want:   suite.Decision{Condition: v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."), SupersededBy: "newer"},
		},
		"canceled": {
			reason: "It ends at once.", at: 10,
			change: func(o *suite.Observation) { o.Suite = aSuite("self", 2, canceled) },
			want:   suite.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"started again by a person": {
			reason: "It tests what was deployed, which has to settle like for any run.", at: 10,
			change: func(o *suite.Observation) { o.Suite = aSuite("self", 9, rerunBy) }, want: settling,
		},
		"started": {
			reason: "A run that has started continues.", at: 10,
			change: func(o *suite.Observation) { o.Job, o.State.Condition = aJob("self"), v1alpha1.Running("Busy.") },
			want:   suite.Decision{Condition: v1alpha1.Running("Busy.")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := suite.Observation{Suite: self, Definition: defined(aTrigger(), settleIn(2*time.Minute, 10*time.Minute)), Waiting: suite.Waiting{Burst: burst(0, 10)}}
			if tc.change != nil {
				tc.change(&o)
			}
			if diff := cmp.Diff(tc.want, decide(o, after(tc.at))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettlingMessage(t *testing.T) {
	const waiting = "Waiting until staging has settled: the last deployment was at "
	for name, tc := range map[string]struct {
		atMost time.Duration
		burst  suite.Burst
		want   string
	}{
		"one deployment":   {10 * time.Minute, burst(0, 0), waiting + "18:00:00 UTC; runs start at 18:02:00 UTC unless another follows, at 18:10:00 UTC at the latest."},
		"the latest":       {10 * time.Minute, burst(0, 480), waiting + "18:08:00 UTC; runs start at 18:10:00 UTC, also if another follows."},
		"the next morning": {24 * time.Hour, burst(0, 0), waiting + "18:00:00 UTC; runs start at 18:02:00 UTC unless another follows, at 18:00:00 UTC on 21 November 2026 at the latest."},
	} {
		t.Run(name, func(t *testing.T) {
			o := suite.Observation{Suite: aSuite("self", 2), Definition: defined(aTrigger(), settleIn(2*time.Minute, tc.atMost)), Waiting: suite.Waiting{Burst: tc.burst}}
			if got := decide(o, tc.burst.Last).Condition.Message; got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestSettlingIsRecorded: a run that waits for its Environment to settle is no stuck queue, and the metrics count from then on.
func TestSettlingIsRecorded(t *testing.T) {
	s := aSuite("self", 0)
	at := func(seconds int) *metav1.Condition {
		o := suite.Observation{Suite: s, Definition: defined(aTrigger(), settleIn(time.Minute, 0)), Waiting: suite.Waiting{Position: &suite.Position{Number: 1}, Burst: burst(0, 0)}}
		o.Team.Spec.MaxConcurrentSuites = 1
		suite.SetStatus(s, o, decide(o, after(seconds)), after(seconds))
		return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionOnHold)
	}
	if at(1); !s.OnHold() {
		t.Error("it is not recorded")
	}
	for _, seconds := range []int{60, 90} {
		if c := at(seconds); s.OnHold() || !c.LastTransitionTime.Time.Equal(after(60)) {
			t.Errorf("once it has settled: %+v, want it to have ended at %s", c, after(60))
		}
	}
}

// TestQueueOfABurst: each deployment prolongs the wait, and changes nothing in the queue. After it, the queue continues in its order.
func TestQueueOfABurst(t *testing.T) {
	q := suite.NewQueue()
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
	q.Set(aSuite("elsewhere", 5, at("production"), keyed("elsewhere")))
	q.Set(aSuite("a", 0, keyed("a")))
	starts(0, "elsewhere")
	q.Delete("elsewhere")
	q.Set(aSuite("b", 50, keyed("b"), in(v1alpha1.Superseded(""))))
	starts(60)
	q.Set(aSuite("c", 100, keyed("c")))
	starts(119)
	starts(120, "a")
	q.Claim("a")
	q.Set(aSuite("d", 150, keyed("d")))
	q.Set(aSuite("a", 0, keyed("a"), in(v1alpha1.Passed(""))))
	starts(150, "c")
	q.Claim("c")
	if want := burst(0, 150); q.Burst("staging") != want {
		t.Errorf("%+v, want %+v", q.Burst("staging"), want)
	}
	q.Set(aSuite("c", 100, keyed("c"), in(v1alpha1.Passed(""))))
	q.Set(aSuite("e", 210, keyed("e")))
	starts(210)
	q.SetSettle(anEnvironment(), nil)
	starts(211, "d")
}

// TestQueueOfANewLeader: it lists the runs that have ended, and waits as long as the leader before.
func TestQueueOfANewLeader(t *testing.T) {
	q := suite.NewQueue()
	for _, s := range []*v1alpha1.Suite{aSuite("a", 0), aSuite("b", 40, in(v1alpha1.Superseded("")))} {
		q.Set(s)
	}
	q.SetSettle(settleIn(time.Minute, 0), func() []*v1alpha1.Suite {
		return []*v1alpha1.Suite{aSuite("a", 0), aSuite("b", 40, in(v1alpha1.Superseded("")))}
	})
	if q.EndWaits(after(99)) || !q.Waits("staging") {
		t.Error("it does not wait")
	}
	if !q.EndWaits(after(100)) || q.Waits("staging") {
		t.Error("it waits for longer")
	}
}
