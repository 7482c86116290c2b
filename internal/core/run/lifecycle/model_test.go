package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/test/tier"
)

// The model plays random histories against Decide, in this world:
//
//	notify, again, cancel             sync                    reconcile (of a leader)
//	        |                           |                             |
//	        v                           v                             v
//	  suites, the truth  -------->  a cache per leader  ---------> Decide(observation) <--- the Environment: hold, version,
//	        ^                       (lags behind)                     |                     deploy and rollout change it
//	        |                                                         | act, until it is Report
//	        | SetStatus, unless the Suite changed or it crashes       v
//	        +--------------------------------------------------- jobs and their pods <--- work: a Job ends, pods stop
//	                                                                  |              <--- meddle: a Job is deleted
//	                                                                  v
//	                                                             saved, by archive; deleted, by Decide
//
// Rapid draws the steps whose names are on the arrows. After each, check looks at all Suites; at last, settle runs the controllers until
// nothing changes, and checkAtRest looks again.

// TestModel plays with one stream of a Trigger, and with one leader or two.
func TestModel(t *testing.T) {
	play(t, (*world).notify)
}

// TestModelOfAnEnvironment plays with the stream of a whole Environment, in which a notification may have several Suites.
func TestModelOfAnEnvironment(t *testing.T) {
	play(t, (*world).notifySeveral)
}

func play(t *testing.T, notify func(*world, *rapid.T)) {
	tier.PinRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		leaders := rapid.IntRange(1, 2).Draw(t, "leaders")
		w := newWorld(leaders)
		w.onError = int32(rapid.IntRange(0, 2).Draw(t, "retry.onError"))
		t.Repeat(map[string]func(*rapid.T){
			"":          w.check,
			"notify":    func(t *rapid.T) { notify(w, t) },
			"again":     w.resend,
			"cancel":    w.cancel,
			"sync":      w.sync,
			"reconcile": w.reconcileOne,
			"work":      w.work,
			"meddle":    w.meddle,
			"archive":   w.archive,
			"hold":      w.hold,
			"rollout":   func(*rapid.T) { w.deployed++ },
			"version":   w.comesAndGoes,
			"deploy":    w.deploy,
		})
		w.last = rapid.SampledFrom([]metav1.Condition{v1alpha1.Passed("passed"), v1alpha1.Error("evicted")}).Draw(t, "last")
		w.settle(t)
		w.checkAtRest(t)
	})
}

// world is an API server with the Suites of one stream and their Jobs, and the caches of the leaders.
type world struct {
	suites  map[string]*v1alpha1.Suite
	jobs    map[string]*modelJob
	pods    map[string]bool // that stop, of a Job that was deleted before them
	known   map[string]bool // of these, the ones whose Job was recorded before it was deleted
	created map[string]int  // Jobs ever created, by Suite
	meddled map[string]bool
	ends    map[string]metav1.Condition
	tested  map[string]bool // a Job has passed
	saved   map[string]bool // in the archive
	deleted map[string]bool

	held    bool // the Environment is on hold
	settles bool // it has just been deployed to
	behind  bool // the Environment does not have what was notified

	onError int32            // how often the Trigger repeats runs that are interrupted
	last    metav1.Condition // how the tests end that nobody ended at random

	deployed int            // counts rollouts
	began    map[string]int // the rollout at the creation of the Job, and at its end
	stopped  map[string]int

	replaced map[string]bool // by another attempt, when their deployment was notified again
	caches   []map[string]*v1alpha1.Suite
	version  int
}

type modelJob struct {
	outcome  metav1.Condition
	stopping bool // its pods were stopped
	going    bool // it is being deleted
}

func newWorld(leaders int) *world {
	w := &world{
		suites: map[string]*v1alpha1.Suite{}, jobs: map[string]*modelJob{}, pods: map[string]bool{}, known: map[string]bool{}, created: map[string]int{},
		meddled: map[string]bool{}, ends: map[string]metav1.Condition{}, saved: map[string]bool{}, deleted: map[string]bool{},
		replaced: map[string]bool{}, tested: map[string]bool{}, began: map[string]int{}, stopped: map[string]int{},
	}
	for range leaders {
		w.caches = append(w.caches, map[string]*v1alpha1.Suite{})
	}
	return w
}

func (w *world) notify(t *rapid.T) {
	if len(w.suites) >= 5 {
		t.Skip("enough")
	}
	s := aSuite(fmt.Sprintf("s%d", len(w.suites)), rapid.IntRange(0, 3).Draw(t, "received"))
	if rapid.IntRange(0, 3).Draw(t, "scheduled") == 0 {
		scheduled(s)
	}
	w.store(s)
}

// notifySeveral creates one Suite of a notification that may have several. The replica may create the others later.
func (w *world) notifySeveral(t *rapid.T) {
	if len(w.suites) >= 5 {
		t.Skip("enough")
	}
	request := rapid.SampledFrom([]string{"", "first", "second", "third"}).Draw(t, "request")
	trigger := rapid.SampledFrom([]string{"smoke", "checkout"}).Draw(t, "trigger")
	for _, other := range w.suites {
		if request != "" && other.Annotations[v1alpha1.AnnotationRequestID] == request && other.Spec.Trigger.Name == trigger {
			t.Skip("a notification has one Suite of a Trigger")
		}
	}
	// The Suites of a notification were received at once, so that no other lies between them.
	received := map[string]int{"first": 0, "second": 2, "third": 4, "": 2*rapid.IntRange(0, 2).Draw(t, "received") + 1}
	w.store(aSuite(fmt.Sprintf("s%d", len(w.suites)), received[request],
		withPolicy(v1alpha1.SupersedeEnvironment), notifiedBy(request), ofTrigger(trigger)))
}

// resend sends a notification again, to a replica whose cache lags behind. If its run is to have another attempt, that is left to a later
// notify.
func (w *world) resend(t *rapid.T) {
	first := w.any(t)
	duplicate := aSuite("duplicate", rapid.IntRange(0, 5).Draw(t, "received again"))
	duplicate.CreationTimestamp = metav1.Time{}
	stream := slices.Collect(maps.Values(w.caches[rapid.IntRange(0, len(w.caches)-1).Draw(t, "replica")]))
	for _, name := range slices.Sorted(maps.Keys(w.suites)) {
		switch is := w.suites[name].DeepCopy(); {
		case !together(is, first):
		case rerun.StartsAttempt(is, duplicate, rerun.Duplicate{Origin: v1alpha1.OriginNotification, Stream: stream, Ledger: aLedger(stream...)}):
			w.replaced[name] = true
			if rerun.NoteSuperseded(is, stream) {
				w.store(is)
			}
		case is.Finished() && (is.Status.CompletionTime == nil || is.State() != v1alpha1.ReasonPassed && is.State() != v1alpha1.ReasonFailed):
			t.Fatalf("%s, which is %s, answers a notification as if it were the result of its commit", name, is.State())
		case rerun.NoteDuplicate(is, duplicate, rerun.Duplicate{Ledger: aLedger(stream...)}):
			w.store(is)
		}
	}
}

// together reports whether two Suites answer one notification.
func together(a, b *v1alpha1.Suite) bool {
	request := a.Annotations[v1alpha1.AnnotationRequestID]
	return a.Name == b.Name || (request != "" && request == b.Annotations[v1alpha1.AnnotationRequestID])
}

func (w *world) store(s *v1alpha1.Suite) {
	s.Spec.TTLAfterFinished = &metav1.Duration{} // its deletion waits for the archive only
	w.version++
	s.ResourceVersion = fmt.Sprint(w.version)
	w.suites[s.Name] = s
}

func (w *world) any(t *rapid.T) *v1alpha1.Suite {
	if len(w.suites) == 0 {
		t.Skip("nothing there")
	}
	return w.suites[slices.Sorted(maps.Keys(w.suites))[rapid.IntRange(0, len(w.suites)-1).Draw(t, "suite")]]
}

func (w *world) cancel(t *rapid.T) {
	s := w.any(t).DeepCopy()
	s.Spec.Cancel = true
	w.store(s)
}

// sync lets one leader's cache catch up on one Suite.
func (w *world) sync(t *rapid.T) {
	s := w.any(t)
	w.caches[rapid.IntRange(0, len(w.caches)-1).Draw(t, "leader")][s.Name] = s
}

// work moves a Job on: it ends, or the pods of one that is being deleted, or was, are gone.
func (w *world) work(t *rapid.T) {
	s := w.any(t)
	j := w.jobs[s.Name]
	switch {
	case j == nil && w.pods[s.Name]:
		delete(w.pods, s.Name)
	case j == nil:
		t.Skip("no Job")
	case j.going:
		delete(w.jobs, s.Name)
	default:
		if !lifecycle.Ended(j.outcome) {
			w.stopped[s.Name] = w.deployed
		}
		j.outcome = rapid.SampledFrom([]metav1.Condition{v1alpha1.Passed("passed"), v1alpha1.Failed("failed"), v1alpha1.Error("evicted")}).Draw(t, "outcome")
		w.tested[s.Name] = w.tested[s.Name] || j.outcome.Status == metav1.ConditionTrue
	}
}

func (w *world) meddle(t *rapid.T) {
	s := w.any(t)
	if w.jobs[s.Name] == nil {
		t.Skip("no Job")
	}
	w.pods[s.Name] = !lifecycle.Ended(w.jobs[s.Name].outcome)
	w.known[s.Name] = s.Status.JobName != ""
	delete(w.jobs, s.Name)
	w.meddled[s.Name] = true
}

// archive saves a run that has ended.
func (w *world) archive(t *rapid.T) {
	if s := w.any(t); s.Finished() {
		w.saved[s.Name] = true
	}
}

// hold begins or ends a hold of the Environment.
func (w *world) hold(*rapid.T) { w.held = !w.held }

// comesAndGoes begins or completes the rollout of what was notified.
func (w *world) comesAndGoes(*rapid.T) { w.behind = !w.behind }

// deploy begins or ends a burst of deployments, after which the Environment has to settle.
func (w *world) deploy(*rapid.T) { w.settles = !w.settles }

func (w *world) environment() *v1alpha1.Environment {
	e := anEnvironment()
	if w.behind {
		e = has(rollingOut("shop", newCommit, "It comes."))
		e.Spec.Workloads[0].Repository, e.Status.Deployed[1].Repository = "", ""
	}
	e.Spec.Settle = settleIn(time.Minute, 0).Spec.Settle
	if w.held {
		e.Spec.Hold = heldUntil(t0.Add(time.Hour), "", "").Spec.Hold
	}
	return e
}

func (w *world) burst() queue.Burst {
	if w.settles {
		return burst(0, 0)
	}
	return queue.Burst{}
}

func (w *world) reconcileOne(t *rapid.T) {
	s := w.any(t)
	leader := rapid.IntRange(0, len(w.caches)-1).Draw(t, "leader")
	crash := rapid.Bool().Draw(t, "crash before the status is written")
	w.reconcile(t, leader, s.Name, crash)
}

type failer interface {
	Fatalf(format string, args ...any)
}

// reconcile is a small controller. It reads Suites from a cache, but a Job that the Suite has had from the API server.
// Its write of the status fails if the Suite has changed.
func (w *world) reconcile(t failer, leader int, name string, crash bool) {
	cache := w.caches[leader]
	s := cache[name]
	if s == nil {
		return
	}
	o := lifecycle.Observation{Suite: s, Definition: defined(retries(w.onError)(ready(aTrigger())), w.environment()), Waiting: lifecycle.Waiting{Burst: w.burst()}}
	for _, other := range cache {
		o.Stream = append(o.Stream, other)
	}
	if j := w.jobs[name]; j != nil {
		o.Job, o.Condition, o.UnderTest.Start = aJob(name), j.outcome, shop
		o.Interrupted = j.outcome.Reason == v1alpha1.ReasonError
		if j.stopping {
			o.Stopping.Requested = t0.Add(10 * time.Second)
		}
		if j.going {
			o.Job = goingJob(name)
		}
	}
	o.Unarchived = !w.saved[name]
	o.Stopping.PodsLeft = o.Job == nil && s.Status.JobName != "" && w.pods[name]
	d := lifecycle.Decide(o, t0.Add(10*time.Second))
	for last := lifecycle.Report; d.Action != lifecycle.Report; d = lifecycle.Decide(o, t0.Add(10*time.Second)) {
		if d.Action == last {
			t.Fatalf("%s: %s follows upon itself", name, last)
		}
		last = d.Action
		w.act(t, leader, &o, d.Action)
		if d.Action == lifecycle.DeleteSuite {
			return
		}
	}
	if crash || o.Creation.Result == lifecycle.Created { // the Job's name is recorded once the Job is seen
		return
	}
	is := s.DeepCopy()
	lifecycle.SetStatus(is, o, d, t0.Add(10*time.Second))
	if lifecycle.StatusChanged(s, is) && w.suites[name].ResourceVersion == s.ResourceVersion {
		w.store(is)
		cache[name] = is // the cache of a leader has its own writes
	}
}

func (w *world) act(t failer, leader int, o *lifecycle.Observation, action lifecycle.Action) {
	name := o.Suite.Name
	switch {
	case action == lifecycle.DeleteJob:
		w.jobs[name].going = true
		o.JobDeleted(t0)
	case action == lifecycle.CompareWorkloads:
		o.UnderTest.Tested = &v1alpha1.UnderTest{Workloads: shop}
		if w.began[name] != w.deployed {
			o.UnderTest.Tested.Changed = "The Deployment shop was rolled out."
		}
	case action == lifecycle.ReadLedger, action == lifecycle.CompleteLedger:
		if o.Complete = action == lifecycle.CompleteLedger; o.Complete {
			for name, s := range w.suites {
				w.caches[leader][name] = s
			}
		}
		o.Ledger = aLedgerOf(slices.Collect(maps.Values(w.caches[leader]))...)
	case action == lifecycle.CreateSuccessor:
		o.Successor = w.createSuccessor(t, o)
	case action == lifecycle.DeleteSuite:
		if !w.saved[name] {
			t.Fatalf("%s is deleted, and its logs with it, before they are archived", name)
		}
		w.deleted[name] = true
	case action == lifecycle.StopPods:
		w.jobs[name].stopping = true
		o.StopRequested(t0.Add(10 * time.Second))
	case action == lifecycle.CreateJob && w.jobs[name] == nil:
		if w.held || w.settles || w.behind {
			t.Fatalf("%s started during a hold, before the Environment has settled, or without its version", name)
		}
		if len(w.caches) == 1 && w.suites[name].Status.JobName != "" {
			t.Fatalf("%s gets a second Job, after it was known to have had one", name)
		}
		w.jobs[name] = &modelJob{outcome: v1alpha1.Running("busy")}
		w.created[name]++
		w.began[name] = w.deployed
		if len(w.caches) == 1 {
			w.checkAlone(t, leader, name)
		}
		o.Creation.Result = lifecycle.Created
		o.Job, o.Condition = aJob(name), w.jobs[name].outcome
	default:
		t.Fatalf("%s: unexpected action %s", name, action)
	}
}

// repeat creates the successor of a run, or finds it after a crash.
func (w *world) createSuccessor(t failer, o *lifecycle.Observation) lifecycle.Successor {
	next, problem := lifecycle.NextSuccessor(*o, t0.Add(10*time.Second))
	if problem != "" {
		t.Fatalf("%s is not duplicate: %s", o.Suite.Name, problem)
	}
	if w.suites[next.Name] == nil {
		next.CreationTimestamp = metav1.NewTime(t0.Add(10 * time.Second))
		w.store(next)
	}
	return lifecycle.Successor{Run: next.Name}
}

// checkVerdict: no run has a verdict if what it tested changed, and a successor supersedes no deployment that was notified after its run.
func (w *world) checkVerdict(t *rapid.T, s *v1alpha1.Suite) {
	if s.State() == v1alpha1.ReasonPassed || s.State() == v1alpha1.ReasonFailed {
		if w.began[s.Name] != w.stopped[s.Name] {
			t.Fatalf("%s is %s, and what it tested changed", s.Name, s.State())
		}
	}
	by := w.suites[s.Status.SupersededBy]
	if by == nil || by.Annotations[v1alpha1.AnnotationRepeats] == "" || by.Status.NotifiedAgainAt != nil {
		return
	}
	if of := w.suites[by.Annotations[v1alpha1.AnnotationRepeats]]; of.Name != s.Name && ledger.Last(s).After(ledger.Last(of)) {
		t.Fatalf("%s is superseded by %s, which repeats the older %s", s.Name, by.Name, of.Name)
	}
}

// checkAlone: with one leader, a run starts only when the older ones it can know of have no Job, and no
// pods of one they were known to have.
func (w *world) checkAlone(t failer, leader int, name string) {
	for other := range w.caches[leader] {
		if together(w.suites[other], w.suites[name]) || ledger.Compare(w.suites[other], w.suites[name]) > 0 {
			continue
		}
		if j := w.jobs[other]; j != nil && !lifecycle.Ended(j.outcome) {
			t.Fatalf("%s started beside %s, which is older and has a Job", name, other)
		}
		if w.pods[other] && w.known[other] {
			t.Fatalf("%s started beside %s, which is older and whose pods are stopping", name, other)
		}
	}
}

// ofNewest reports whether a Suite answers the newest notification, or a schedule that came later.
func (w *world) ofNewest(name string) bool {
	s, newest := w.suites[name], w.newest()
	if newest == nil || !ledger.IsDeployment(s) && ledger.Compare(s, newest) > 0 {
		return true
	}
	return name == newest.Name || !w.replaced[name] && together(s, newest)
}

// newest is nil if a schedule started all.
func (w *world) newest() (newest *v1alpha1.Suite) {
	for _, s := range w.suites {
		if ledger.IsDeployment(s) && (newest == nil || ledger.Compare(s, newest) > 0) {
			newest = s
		}
	}
	return newest
}

// check tests what must be true at any time.
func (w *world) check(t *rapid.T) {
	for name, s := range w.suites {
		if end, ok := w.ends[name]; ok && (end.Reason != s.State()) {
			t.Fatalf("%s ended as %s and became %s", name, end.Reason, s.State())
		}
		if !s.Finished() {
			continue
		}
		w.ends[name] = s.Status.Conditions[0]
		w.checkVerdict(t, s)
		w.checkSuccessor(t, s)
		if s.State() == v1alpha1.ReasonPassed && !w.tested[name] {
			t.Fatalf("%s passed, and no tests of it did", name)
		}
		if s.State() == v1alpha1.ReasonSuperseded && w.ofNewest(name) {
			t.Fatalf("%s is of the newest notification and superseded by %s", name, s.Status.SupersededBy)
		}
		if by := s.Status.SupersededBy; by != "" && (ledger.Compare(w.suites[by], s) <= 0 || !ledger.IsDeployment(w.suites[by])) {
			t.Fatalf("%s is superseded by %s, which is not newer, or is no deployment", name, by)
		}
	}
	for name, n := range w.created {
		if n > 1 && len(w.caches) == 1 && !w.meddled[name] {
			t.Fatalf("%s had %d Jobs", name, n)
		}
	}
}

// settle continues until nothing changes any more, without crashes and with current caches.
func (w *world) settle(t *rapid.T) {
	w.held, w.settles, w.behind = false, false, false
	for range 20 {
		for _, name := range slices.Sorted(maps.Keys(w.suites)) {
			for leader, cache := range w.caches {
				cache[name] = w.suites[name]
				w.reconcile(t, leader, name, false)
			}
			delete(w.pods, name)
			w.saved[name] = w.suites[name].Finished()
			if j := w.jobs[name]; j != nil && j.going {
				delete(w.jobs, name)
			} else if j != nil && j.stopping && !lifecycle.Ended(j.outcome) {
				j.outcome = v1alpha1.TimedOut("stopped")
			} else if j != nil && (w.ofNewest(name) || w.replaced[name]) && !lifecycle.Ended(j.outcome) {
				j.outcome = w.last
				w.tested[name], w.stopped[name] = w.last.Reason == v1alpha1.ReasonPassed, w.deployed
			}
		}
	}
}

// checkAtRest: every run has ended, no Job runs, and only the newest ran to its end, apart from runs that had ended
// before the newest arrived.
func (w *world) checkAtRest(t *rapid.T) {
	w.check(t)
	for name, s := range w.suites {
		if !s.Finished() {
			t.Fatalf("%s never ended: %+v", name, s.Status.Conditions)
		}
		if j := w.jobs[name]; j != nil && !lifecycle.Ended(j.outcome) {
			t.Fatalf("%s ended as %s and its Job still runs", name, s.State())
		}
		if !w.deleted[name] {
			t.Fatalf("%s is archived, its time is up, and it was not deleted", name)
		}
		again := s.State() == v1alpha1.ReasonInconclusive && (w.suites[s.Status.RepeatedBy] != nil || s.FollowsInconclusive()) ||
			s.State() == v1alpha1.ReasonError && (w.suites[s.Status.RepeatedBy] != nil || s.Retries() == w.onError)
		if w.ofNewest(name) && !s.Spec.Cancel && !w.meddled[name] && s.State() != v1alpha1.ReasonPassed && s.State() != v1alpha1.ReasonFailed && !again {
			t.Fatalf("the newest, %s, ended as %s", name, s.State())
		}
	}
}
