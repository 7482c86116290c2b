package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/suites"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

// world is what is really deployed, the product, which is told of it, and nodes, which run tests.
type world struct {
	*product
	hub      *hub // nil: nothing is sent to one
	directly bool // what the hub would be sent comes directly: what this world has, the other one must have, too
	trips    *rand.Rand
	racing   bool // one message in between is enough
	apart    bool // the two worlds are not compared any more
	setup
	truth
	clock    *clocktesting.FakePassiveClock
	store    *store
	team     *v1alpha1.Team
	triggers []*v1alpha1.Trigger
	sees     map[string][]string // the repositories that tests see, by the Trigger
	pool     []*commit

	generation int // of the Environment
	jobs       map[string]*aJob
	reports    map[types.UID]*results.Tests // of ended runs
	objects    map[string]*unstructured.Unstructured
	untold     []*deployment
	sent       []message
	gates      []*asked
	checked    map[types.UID]bool
	ids        int
	story      []string
	violations []violation
	counts     map[string]int
	failure    error // of what happened meanwhile
}

type aJob struct {
	tested
	progress    metav1.Condition
	interrupted bool
	stopped     time.Time

	beganAt, overAt metav1.Time // in whole seconds

	plan   *failedtests.Plan
	start  []v1alpha1.TestedWorkload
	report *results.Tests
}

func (j *aJob) object(s *v1alpha1.Suite) *batchv1.Job {
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, CreationTimestamp: j.beganAt}}
	o.Status.StartTime = &j.beganAt
	if !j.overAt.IsZero() {
		o.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: j.overAt}}
	}
	return o
}

func newWorld(seed uint64, s setup, counts map[string]int) (*world, error) {
	w := &world{
		setup: s, clock: clocktesting.NewFakePassiveClock(noon), team: &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		jobs: map[string]*aJob{}, reports: map[types.UID]*results.Tests{}, objects: map[string]*unstructured.Unstructured{},
		checked: map[types.UID]bool{}, counts: counts,
	}
	w.store = newStore(w.clock.Now)
	w.triggers, w.sees = w.triggersOf()
	w.pool = w.commits(rand.New(rand.NewPCG(seed, 3)))
	for _, t := range w.triggers {
		w.store.put(t)
	}
	w.store.put(w.environmentOf(0))
	var err error
	w.product, err = newProduct(site{store: w.store, triggers: w.triggers, clock: w.clock, sleep: noSleep})
	if err == nil && s.happens["hub"] {
		w.hub, err = newHub(w)
	}
	return w, err
}

func (w *world) id(of string) string {
	w.ids++
	return fmt.Sprint(of, "-", w.ids)
}

func (w *world) say(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%3d %s  ", w.now, w.clock.Now().Format("15:04:05"))+fmt.Sprintf(format, args...))
}

func (w *world) count(what string) { w.counts[what]++ }

func (w *world) later(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// environment returns a copy.
func (w *world) environment() *v1alpha1.Environment {
	return w.store.find(&v1alpha1.Environment{}, environment).DeepCopyObject().(*v1alpha1.Environment)
}

func (w *world) trigger(s *v1alpha1.Suite) *v1alpha1.Trigger {
	i := slices.IndexFunc(w.triggers, func(t *v1alpha1.Trigger) bool { return t.Name == s.Spec.Trigger.Name })
	return w.triggers[i]
}

// commitOf is what a run says that it tests.
func (w *world) commitOf(s *v1alpha1.Suite) *commit {
	d := s.Spec.Deployment
	i := slices.IndexFunc(w.pool, func(c *commit) bool {
		repository, service := w.partOf(c.repository)
		return c.sha == d.SHA && (d.Repository == "" || repository == strings.ToLower(d.Repository)) && (d.Service == "" || service == d.Service)
	})
	return w.pool[i]
}

// placeFor is where the tests of a run look.
func (w *world) placeFor(s *v1alpha1.Suite) place {
	url := s.Spec.Deployment.URL
	for g := range w.generation + 1 {
		if url == ownURL(g) {
			return place{generation: g}
		}
	}
	return place{w.generation, url}
}

// settle lets the controllers work until nothing changes any more.
func (w *world) settle() error {
	for range 50 {
		if err := w.observeEnvironment(); err != nil {
			return err
		}
		changed := false
		for _, s := range w.store.all() {
			if s = w.store.suites[s.Name]; s == nil || s.Finished() {
				continue
			}
			now, err := w.reconcile(s)
			if err != nil {
				return err
			}
			changed = changed || now
		}
		if !changed {
			return nil
		}
	}
	return fmt.Errorf("the controllers do not come to rest")
}

// begin creates the Job of a run, whose tests begin at once.
func (w *world) begin(o *lifecycle.Observation) {
	s := o.Suite
	j := &aJob{progress: v1alpha1.Running("The tests run."), beganAt: w.second()}
	j.tested = tested{run: s.Name, commit: w.commitOf(s), place: w.placeFor(s), sees: w.sees[s.Spec.Trigger.Name], began: w.tick()}
	if o.Failed != nil {
		j.plan = o.Failed.Plan
	}
	o.UnderTest.Start = w.versions()
	j.start = o.UnderTest.Start
	w.jobs[s.Name] = j
	w.store.put(suites.JobOf(s, o.Trigger, o.Environment))
	w.say("%s of %s begins", s.Name, j.commit)
	o.Creation.Result, o.Job, o.Condition = lifecycle.Created, j.object(s), j.progress
}

// stop ends the pods of a run at once.
func (w *world) stop(s *v1alpha1.Suite) {
	j := w.jobs[s.Name]
	j.stopped, j.over, j.overAt = w.clock.Now(), w.tick(), w.second()
	j.progress = v1alpha1.TimedOut("Stopped.")
}

// finish ends the tests of a run, as they find the place. Flaky ones fail.
func (w *world) finish(s *v1alpha1.Suite, flaky bool) {
	j := w.jobs[s.Name]
	j.over, j.overAt = w.tick(), w.second()
	passes := !flaky && j.place.generation == w.generation && w.passes(j.tested)
	j.report = reportOf(passes, j.plan != nil)
	w.reports[s.UID] = j.report
	j.progress = v1alpha1.Failed("1 of 2 tests failed.")
	if passes {
		j.progress = v1alpha1.Passed("All tests passed.")
	}
	w.say("%s of %s ends: %s", s.Name, j.commit, j.progress.Reason)
}

// second is the time as Kubernetes keeps it.
func (w *world) second() metav1.Time { return metav1.NewTime(w.clock.Now().Truncate(time.Second)) }

// running are the runs whose tests have not ended.
func (w *world) running() (all []*v1alpha1.Suite) {
	for _, s := range w.store.all() {
		if j := w.jobs[s.Name]; j != nil && j.over == 0 {
			all = append(all, s)
		}
	}
	return all
}

const checkout = "checkout"

// reportOf is what tests wrote. One of them fails if the place is bad, and may be the only one that is repeated.
func reportOf(passes, repeats bool) *results.Tests { return written()[[2]bool{passes, repeats}] }

var written = sync.OnceValue(func() map[[2]bool]*results.Tests {
	all := map[[2]bool]*results.Tests{}
	for _, passes := range []bool{true, false} {
		for _, repeats := range []bool{true, false} {
			t, others, failure := &results.Tests{}, `<testcase name="home"/>`, ""
			if repeats {
				t.Rerun, others = results.SetOf([]string{checkout}), ""
			}
			if !passes {
				failure = `<failure message="no"/>`
			}
			t.Add("junit.xml", strings.NewReader(`<testsuite>`+others+`<testcase name="`+checkout+`">`+failure+`</testcase></testsuite>`))
			all[[2]bool{passes, repeats}] = t
		}
	}
	return all
})
