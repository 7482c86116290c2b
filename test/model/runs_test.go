package model

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// races deploys something else just before the next run is created, when it is decided already.
func (w *world) races(random *rand.Rand) {
	c := pick(random, w.pool)
	w.store.beforeCreate = func() {
		w.say("  meanwhile:")
		w.racing = true
		defer func() { w.racing = false }()
		d := w.comes(c)
		w.failure = w.send(message{about: d, n: w.notificationOf(d, random)})
		w.later(time.Second)
		w.count("raced")
	}
}

func (w *world) ends(random *rand.Rand) (bool, error) {
	all := w.running()
	if len(all) == 0 {
		return false, nil
	}
	w.finish(pick(random, all), random.IntN(6) == 0)
	return true, nil
}

func (w *world) breaks(random *rand.Rand) (bool, error) {
	all := w.running()
	if len(all) == 0 {
		return false, nil
	}
	s := pick(random, all)
	j := w.jobs[s.Name]
	j.over, j.overAt, j.interrupted, j.progress = w.tick(), w.second(), true, v1alpha1.Error("Its pod was evicted.")
	w.say("%s is interrupted", s.Name)
	if w.maybe(random, "race", 2) {
		w.races(random)
		return true, w.settle() // before the race is over
	}
	return true, nil
}

func (w *world) reruns(random *rand.Rand) (bool, error) { return w.presses(random, false) }

func (w *world) rerunsFailed(random *rand.Rand) (bool, error) { return w.presses(random, true) }

func (w *world) presses(random *rand.Rand, onlyFailed bool) (bool, error) {
	all := slices.DeleteFunc(w.store.all(), func(s *v1alpha1.Suite) bool {
		return !s.Finished() || onlyFailed && s.State() != v1alpha1.ReasonFailed
	})
	if len(all) == 0 {
		return false, nil
	}
	s := pick(random, all)
	if w.maybe(random, "race", 2) {
		w.races(random)
	}
	w.tick()
	w.say("somebody reruns %s of %s, only failed tests: %v", s.Name, w.commitOf(s), onlyFailed)
	next, err := w.rerun(s.Name, onlyFailed)
	var refused *dispatch.Error
	switch {
	case errors.As(err, &refused):
		w.count("refused")
		w.say("  refused: %s", refused.Message)
		return true, nil
	case err == nil:
		w.count("rerun")
		w.say("  %s", next.Name)
	}
	return true, err
}

// rerunsCheck is the button on the code host, of one check or of all checks of a commit.
func (w *world) rerunsCheck(random *rand.Rand) (bool, error) {
	all := slices.DeleteFunc(w.store.all(), func(s *v1alpha1.Suite) bool { return !s.Finished() })
	if len(all) == 0 {
		return false, nil
	}
	s := pick(random, all)
	c := w.commitOf(s)
	w.reported(c)
	repository, _ := w.partOf(c.repository)
	wish := &event.Rerun{Repository: repository, Commit: c.sha, By: "kim"}
	e := event.Event{At: w.clock.Now(), ID: w.id("check"), Repository: repository, Rerun: wish}
	if random.IntN(2) == 0 {
		wish.Runs = []string{string(s.UID)}
	}
	w.tick()
	w.say("somebody reruns the checks %v of %s", wish.Runs, c)
	answer, err := w.deliver(w.product, e, w.id("delivery"))
	for _, r := range answer.Reruns {
		w.say("  %s: %s %s", r.Run, r.Next, r.Problem)
	}
	return true, err
}

// reported is that the code host has a check of each run of a commit.
func (w *world) reported(c *commit) {
	repository, _ := w.partOf(c.repository)
	for i, s := range w.store.all() {
		if w.commitOf(s) == c && s.Status.Report == nil {
			s = s.DeepCopy()
			s.Status.Report = &v1alpha1.SuiteReport{HostingService: v1alpha1.GitHub, Repository: repository, CheckID: int64(i + 1)}
			w.store.put(s)
		}
	}
}

func (w *world) schedules(random *rand.Rand) (bool, error) {
	t := pick(random, w.triggers)
	if w.maybe(random, "race", 3) {
		w.races(random)
	}
	w.tick()
	w.say("the time of %s comes", t.Name)
	why, err := w.fire(t)
	w.say("  %s", why)
	return true, err
}

// restores brings Suites back from a backup, without their status, in any order.
func (w *world) restores(random *rand.Rand) (bool, error) {
	all := w.store.all()
	if len(all) == 0 {
		return false, nil
	}
	if random.IntN(2) == 0 {
		all = []*v1alpha1.Suite{pick(random, all)}
	} else {
		e := w.environment()
		e.Status.Deployed = nil
		w.store.put(e)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	w.later(2 * time.Minute)
	for _, s := range all {
		w.restore(s)
	}
	return true, nil
}

func (w *world) restore(s *v1alpha1.Suite) {
	w.later(time.Second)
	w.say("%s of %s is restored", s.Name, w.commitOf(s))
	again := s.DeepCopy()
	again.Status = v1alpha1.SuiteStatus{}
	again.UID = types.UID(w.id("restored"))
	again.CreationTimestamp = metav1.NewTime(w.clock.Now().Truncate(time.Second))
	metav1.SetMetaDataLabel(&again.ObjectMeta, v1alpha1.LabelRestoredByVelero, "backup")
	w.store.put(again)
	delete(w.jobs, s.Name)
	w.forget(s)
}

// forget is that nobody has told Postflight of the deployments any more that only the status of a run knew. Their keys are lost, too: a
// message that is sent again would be a new one, so it is not.
func (w *world) forget(run *v1alpha1.Suite) {
	for _, g := range w.gates {
		created := func(o *asked) bool { return o.about == g.about && o.created }
		if g.root == run.Name && !slices.ContainsFunc(w.gates, created) {
			g.about.told = 0
			w.sent = slices.DeleteFunc(w.sent, func(m message) bool { return m.about == g.about })
		}
	}
	w.sent = slices.DeleteFunc(w.sent, func(m message) bool {
		return rerun.NotifiedBy(run, m.key) && run.Annotations[v1alpha1.AnnotationIdempotencyKey] != m.key
	})
}

// rebuilds deletes the Environment, with all that is deployed there, and makes it again at another URL.
func (w *world) rebuilds(*rand.Rand) (bool, error) {
	w.later(time.Minute)
	w.generation++
	w.tick()
	w.untold = nil
	e := w.environmentOf(w.generation)
	e.CreationTimestamp = metav1.NewTime(w.clock.Now().Truncate(time.Second))
	w.store.put(e)
	w.say("the Environment is rebuilt")
	return true, nil
}
