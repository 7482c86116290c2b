package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report/judge"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// message is what was sent of a deployment, so that it can be sent again as it is.
type message struct {
	about *deployment
	n     *notification.Notification
	key   string
	rerun bool
	event *event.Event // nil: a pipeline sent it
}

// step is something that happens. It returns false if it cannot.
type step struct {
	name  string // of setup.happens; empty: it always does
	often int
	do    func(*world, *rand.Rand) (bool, error)
}

var steps = []step{
	{"", 10, (*world).deploys},
	{"", 8, (*world).ends},
	{"late", 3, (*world).tellsLate},
	{"sent again", 2, (*world).sendsAgain},
	{"rerun", 4, (*world).reruns},
	{"rerun failed", 4, (*world).rerunsFailed},
	{"re-run check", 2, (*world).rerunsCheck},
	{"schedule", 3, (*world).schedules},
	{"error", 3, (*world).breaks},
	{"restore", 1, (*world).restores},
	{"rebuild", 1, (*world).rebuilds},
	{"cancel", 1, (*world).cancels},
	{"hub", 2, (*world).notifiesUnnamed},
	{"pause", 1, (*world).pauses},
}

// play does one step, which its seed chooses. One that the setup leaves out is nothing, so that the others stay as they are.
func (w *world) play(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	w.trips = rand.New(rand.NewPCG(seed, 2))
	s := choose(random)
	if s.name != "" && !w.happens[s.name] {
		return nil
	}
	w.later(time.Second)
	did, err := s.do(w, random)
	w.store.beforeCreate = nil
	if err != nil || !did {
		return err
	}
	w.count(cmp.Or(s.name, "step"))
	return errors.Join(w.failure, w.settle(), w.check())
}

func choose(random *rand.Rand) step {
	sum := 0
	for _, s := range steps {
		sum += s.often
	}
	n := random.IntN(sum)
	i := slices.IndexFunc(steps, func(s step) bool { n -= s.often; return n < 0 })
	return steps[i]
}

func pick[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

// maybe is true in some histories, once in n times.
func (w *world) maybe(random *rand.Rand, what string, n int) bool {
	return w.happens[what] && random.IntN(n) == 0
}

// deploys deploys a commit, new or old, and says so at once, unless it is late.
func (w *world) deploys(random *rand.Rand) (bool, error) {
	w.later(time.Duration(130+random.IntN(240)) * time.Second)
	c := pick(random, w.pool)
	d := w.comes(c)
	if w.maybe(random, "late", 3) {
		w.untold = append(w.untold, d)
		return true, nil
	}
	return true, w.notifies(d, random)
}

// comes is that a commit is deployed.
func (w *world) comes(c *commit) *deployment {
	d := w.deploy(c, w.placeOf(c, w.generation), w.clock.Now())
	w.say("deployed %s", d)
	if slices.Contains(w.watched(), d.repository) {
		w.rollOut(d)
	}
	return d
}

// notifies says that there is a deployment, in one or several ways.
func (w *world) notifies(d *deployment, random *rand.Rand) error {
	if w.maybe(random, "race", 4) {
		w.races(random)
	}
	byEvent, onlyEvent := w.maybe(random, "event", 2), random.IntN(2) == 0
	if byEvent {
		if err := w.send(w.eventOf(d, random)); err != nil || onlyEvent {
			return err
		}
	}
	m := message{about: d, n: w.notificationOf(d, random), key: pick(random, []string{"", w.id("key")})}
	m.rerun = w.maybe(random, "notify --rerun", 5)
	if !w.current(d) {
		return nil
	}
	if err := w.send(m); err != nil {
		return err
	}
	if w.hub != nil && random.IntN(2) == 0 && w.current(d) { // perhaps the other way
		if err := w.send(m); err != nil {
			return err
		}
	}
	if w.maybe(random, "twice", 3) && w.current(d) {
		m.key = pick(random, []string{m.key, w.id("key"), ""})
		return w.send(m)
	}
	return nil
}

// current reports whether a pipeline still says of a deployment, without a time, that it is there. That would be wrong after the next one.
func (w *world) current(d *deployment) bool {
	return !slices.ContainsFunc(w.log, func(o *deployment) bool {
		return o.place == d.place && o.moment > d.moment && (o.repository == d.repository || w.named != "always")
	})
}

func (w *world) notificationOf(d *deployment, random *rand.Rand) *notification.Notification {
	n := &notification.Notification{
		SHA: d.sha, Branch: d.branch, DeploymentURL: d.url, HostingService: v1alpha1.GitHub, DeploymentType: environment,
	}
	if w.untyped {
		n.DeploymentType = ""
	}
	if half := random.IntN(2) == 0; w.ownURL && d.url == "" && half {
		n.DeploymentURL = ownURL(d.generation)
	}
	half, name := random.IntN(2) == 0, w.spelled(d.repository, random)
	_, service := w.partOf(d.repository)
	if named := w.named == "always" || w.named == "sometimes" && half; named {
		n.Repository, n.Service = name, service
	} else if w.monorepo {
		n.Repository = name
	}
	return n
}

// spelled names a repository as its code host does, or otherwise.
func (w *world) spelled(repository string, random *rand.Rand) string {
	repository, _ = w.partOf(repository)
	other := map[string]string{"acme/shop": "Acme/Shop", "acme/pay": "ACME/pay", "acme/mono": "Acme/Mono"}[repository]
	if name := pick(random, []string{repository, other}); w.happens["spelling"] {
		return name
	}
	return repository
}

// eventOf names the repository always, and when the deployment was. Some senders give events of one commit one id.
func (w *world) eventOf(d *deployment, random *rand.Rand) message {
	n := w.notificationOf(d, random)
	n.Repository, n.DeploymentType = w.spelled(d.repository, random), environment
	_, n.Service = w.partOf(d.repository)
	id := pick(random, []string{"flux/" + d.repository + d.sha, w.id("github")})
	return message{about: d, event: &event.Event{Notification: n, At: d.at, ID: id, Repository: n.Repository}}
}

// send sends a message, the first or again, and remembers the gates of its answer.
func (w *world) send(m message) error {
	w.later(time.Second)
	if m.event == nil || w.clock.Now().Sub(m.event.At) <= judge.MaxAge { // older ones are refused, and their sender is told to notify
		w.tell(m.about)
	}
	if !slices.ContainsFunc(w.sent, func(o message) bool { return o.about == m.about && o.key == m.key && o.event == m.event }) {
		w.sent = append(w.sent, m)
	}
	id := w.id("request")
	result, err := w.deliverMessage(m, id)
	for _, r := range result.Triggers {
		w.say("  %s %s %v", r.Decision, r.SuiteID, r.Differs)
		if r.Trigger == left {
			continue // refused: it belongs to the cluster
		}
		if r.SuiteID == "" {
			return fmt.Errorf("no run: %s", r.Reason)
		}
		w.count(string(r.Decision))
		w.gates = append(w.gates, &asked{about: m.about, root: r.SuiteID, created: w.createdBy(id, r.SuiteID), differs: differs(r)})
	}
	return err
}

// createdBy reports whether a request created a run, even if the hub got no answer then, and its answer is that the run exists.
func (w *world) createdBy(request, run string) bool {
	return strings.HasPrefix(w.store.suites[run].Annotations[v1alpha1.AnnotationRequestID], request+".")
}

// differs reports whether the answer to a message says that its run is of another deployment.
func differs(r dispatch.TriggerResult) bool { return len(exchange.NewResult(r).DuplicateDiffers) > 0 }

// deliverMessage hands a message to the cluster, or to the hub.
func (w *world) deliverMessage(m message, id string) (dispatch.Result, error) {
	t := w.newTrip()
	defer t.end()
	if m.event == nil {
		w.say("a pipeline notifies %s as %q %q with key %q, rerun %v%s", m.about, m.n.Repository, m.n.DeploymentURL, m.key, m.rerun, t)
		return t.to.Dispatch(context.Background(), w.request(m.n, t.key(m.key, id), m.rerun, id))
	}
	w.say("an event %s notifies %s as %q%s", m.event.ID, m.about, m.event.Notification.Repository, t)
	answer, err := w.deliver(t.to, *m.event, id)
	if answer.Ignored != "" {
		w.say("  ignored: %s", answer.Ignored)
	}
	return answer.Result, err
}

// tellsLate sends what should have been sent before. An event names its time; a pipeline says nothing after the next deployment.
func (w *world) tellsLate(random *rand.Rand) (bool, error) {
	if len(w.untold) == 0 {
		return false, nil
	}
	d := w.untold[0]
	w.untold = w.untold[1:]
	switch {
	case w.maybe(random, "event", 2):
		return true, w.send(w.eventOf(d, random))
	case w.current(d):
		return true, w.notifies(d, random)
	default:
		return false, nil
	}
}

// sendsAgain is a client that got no answer, or a code host that delivers once more, perhaps long after it.
func (w *world) sendsAgain(random *rand.Rand) (bool, error) {
	again := slices.DeleteFunc(slices.Clone(w.sent), func(m message) bool { return m.event == nil && m.key == "" })
	if len(again) == 0 {
		return false, nil
	}
	return true, w.send(pick(random, again))
}

func (w *world) pauses(random *rand.Rand) (bool, error) {
	w.later(time.Duration(10+random.IntN(60)) * time.Minute)
	return true, nil
}

func (w *world) cancels(random *rand.Rand) (bool, error) {
	all := w.running()
	if len(all) == 0 {
		return false, nil
	}
	s := pick(random, all)
	w.say("%s is canceled", s.Name)
	c, _ := w.handedOn(w.command(false))
	_, err := w.Cancel(context.Background(), c, s.Name)
	return true, err
}
