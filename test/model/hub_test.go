package model

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

const (
	unnamed = "unnamed" // a team whose deployments name no commit, and its cluster
	left    = "left"    // a Trigger of the hub
)

// hub is another product, which hands on to the one of the world. What crosses between them is what crosses in reality.
type hub struct {
	*product
	world *world
	store *store
	trip  *trip // of the message that is under way

	unnamed *product
	runs    *store // of the cluster unnamed, where no tests run
	asked   int    // for runs there
}

// newHub has the Environment of the world, which is in the cluster, and a Trigger that somebody forgot to move there.
func newHub(w *world) (h *hub, err error) {
	h = &hub{world: w, store: newStore(w.clock.Now), runs: newStore(w.clock.Now)}
	trigger := func(namespace, environment string) *v1alpha1.Trigger {
		return &v1alpha1.Trigger{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: left, UID: "uid-left"},
			Spec:       v1alpha1.TriggerSpec{Environment: environment},
		}
	}
	remote := func(namespace, environment, cluster string) *v1alpha1.Environment {
		return &v1alpha1.Environment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: environment},
			Spec:       v1alpha1.EnvironmentSpec{Cluster: cluster},
		}
	}
	h.store.put(remote(namespace, environment, "eu"))
	h.store.put(remote(unnamed, unnamed, unnamed))
	forgotten := trigger(namespace, environment)
	h.store.put(forgotten)
	h.product, err = newProduct(site{
		store: h.store, triggers: []*v1alpha1.Trigger{forgotten}, clock: w.clock, clusters: h,
		sleep: func(context.Context, time.Duration) error { return h.trip.meanwhile() },
	})
	if err != nil {
		return nil, err
	}
	there := remote(unnamed, unnamed, "")
	there.UID = "uid-unnamed"
	h.runs.put(there)
	h.unnamed, err = newProduct(site{store: h.runs, triggers: []*v1alpha1.Trigger{trigger(unnamed, unnamed)}, clock: w.clock, sleep: noSleep})
	return h, err
}

// trip is how a message comes to the cluster.
type trip struct {
	*world
	to       *product
	before   *trip // that this one interrupts
	unnamed  bool
	handedOn bool    // by the hub of the other world, if this one is directly notified
	arrived  bool    // an event was in time for the cluster, which the hub may not know
	faults   []fault // of the first attempts of the hub
	overtake func() error
}

// fault is what happens to a request of the hub. It learns that there was no answer.
type fault string

const (
	lost fault = "answer lost"  // the cluster did it
	away fault = "cluster away" // it did not
)

// newTrip chooses the way of a message. Both worlds choose the same, and what happens on the way, happens in both.
func (w *world) newTrip() *trip {
	t := &trip{world: w, to: w.product}
	if w.hub == nil {
		return t
	}
	if direct := w.trips.IntN(3) == 0; direct {
		return t
	}
	return w.hub.take(t)
}

func (h *hub) take(t *trip) *trip {
	random := t.trips
	for range max(0, random.IntN(4)-1) {
		t.faults = append(t.faults, pick(random, []fault{lost, away}))
	}
	if len(t.faults) > 0 && h.trip == nil && !t.unnamed && t.store.beforeCreate == nil && !t.racing && t.maybe(random, "overtaken", 2) {
		t.overtake = t.overtaken(random)
	}
	t.before, h.trip, t.handedOn = h.trip, t, true
	if !t.directly {
		t.to = h.product
		t.count("handed on")
	}
	return t
}

// key is that of a message. The hub gives one to a notification without, and a sender could do the same.
func (t *trip) key(sent, request string) string {
	if t.handedOn && t.directly {
		return cmp.Or(sent, "hub/"+request)
	}
	return sent
}

// String completes what a story says of a message.
func (t *trip) String() string {
	if t.hub == nil || t.to != t.hub.product {
		return ""
	}
	return fmt.Sprintf(", to the hub, with %v", t.faults)
}

// overtaken deploys and notifies something else before the message arrives at last.
func (w *world) overtaken(random *rand.Rand) func() error {
	c, about := pick(random, w.pool), rand.New(rand.NewPCG(random.Uint64(), 0))
	return func() error {
		w.later(time.Second)
		w.say("  meanwhile:")
		w.count("overtaken")
		d := w.comes(c)
		return w.send(message{about: d, n: w.notificationOf(d, about)})
	}
}

func (t *trip) meanwhile() error {
	f := t.overtake
	if f == nil {
		return nil
	}
	t.overtake = nil
	return f()
}

// end makes what would have happened meanwhile happen, if the message was faster.
func (t *trip) end() {
	if t.hub == nil || t.hub.trip != t {
		return
	}
	if err := t.meanwhile(); err != nil {
		t.failure = err
	}
	t.hub.trip = t.before
}

func (t *trip) next() (f fault) {
	if len(t.faults) == 0 {
		return ""
	}
	f, t.faults = t.faults[0], t.faults[1:]
	t.count(string(f))
	t.say("  %s", f)
	return f
}

var errUnanswered = &delegation.Error{Message: "does not answer"}

// Notify is what a hub's HTTP client, the network and the API of a cluster do.
func (h *hub) Notify(ctx context.Context, cluster string, n delegation.Notification) (*httpapi.NotificationResult, error) {
	f := h.trip.next()
	if f == away {
		return nil, errUnanswered
	}
	to := h.world.product
	if cluster == unnamed {
		to = h.unnamed
	}
	result, err := h.arrive(ctx, to, n)
	if f == lost {
		return nil, errUnanswered
	}
	if err != nil {
		return nil, &delegation.Error{Refused: true, Message: err.Error()}
	}
	answer := &httpapi.NotificationResult{}
	return answer, cross(exchange.NewReply(result), answer)
}

// arrive is what the API of a cluster does.
func (h *hub) arrive(ctx context.Context, to *product, n delegation.Notification) (result dispatch.Result, err error) {
	d, err := arriving(n.Delegation)
	if err != nil {
		return result, err
	}
	body, err := json.Marshal(notification.Encode(n.Notification))
	if err != nil {
		return result, err
	}
	decoded, err := notification.Decode(body)
	if err != nil {
		return result, err
	}
	if d.Event {
		problem, err := to.receiver.Problem(ctx, n.Team.NamespaceName(), event.Event{Notification: decoded, At: d.DeployedAt, Post: d.Post})
		if problem != "" || err != nil {
			h.world.say("  ignored: %s", problem)
			h.world.apart = h.world.apart || h.trip.arrived // before what came later
			return result, err
		}
		h.trip.arrived = true
	}
	r := dispatch.Request{
		Team: n.Team, Grant: d.Narrow(grant.All()), By: d.By("hub"), Notification: decoded, Rerun: n.Rerun, IdempotencyKey: n.IdempotencyKey,
		RequestID: n.RequestID, ReceivedAt: h.world.clock.Now(),
	}
	return to.Dispatch(ctx, r.FromHub(d))
}

func arriving(sent delegation.Delegation) (*delegation.Delegation, error) {
	header, err := sent.Encode()
	if err != nil {
		return nil, err
	}
	return delegation.Decode(header)
}

func cross(sent, received any) error {
	body, err := json.Marshal(sent)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, received)
}

// Terminate is not called: the model has no ephemeral Environments.
func (h *hub) Terminate(
	context.Context, string, delegation.Command, *notification.Termination,
) (*httpapi.TerminationResult, error) {
	return nil, fmt.Errorf("the model ends no Environments")
}

// handedOn returns a command as it arrives at the cluster, and how often the sender gets no answer, and sends it again.
func (w *world) handedOn(c dispatch.Command) (arrives dispatch.Command, lost int) {
	if w.hub == nil {
		return c, 0
	}
	way, lost := w.trips.IntN(2), w.trips.IntN(2)
	if w.directly || way == 0 {
		return c, 0
	}
	d, err := arriving(delegation.Delegation{Hub: "hub", For: c.By, Environments: []string{environment}})
	if err != nil {
		w.failure = err
		return c, 0
	}
	c.Grant, c.By = d.Narrow(grant.All()), d.By("hub")
	return c, lost
}

// notifiesUnnamed sends the hub a notification without a commit, which only a key tells from others. A sender with one may send it again.
func (w *world) notifiesUnnamed(*rand.Rand) (bool, error) {
	if w.directly {
		return true, nil
	}
	w.hub.asked++
	r := w.request(&notification.Notification{Branch: "main", DeploymentType: unnamed, HostingService: v1alpha1.GitHub}, "", false,
		fmt.Sprint("unnamed-", w.hub.asked))
	r.Team = &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: unnamed}}
	times := 1
	if w.trips.IntN(2) == 0 {
		r.IdempotencyKey, times = fmt.Sprint("job-", w.hub.asked), 1+w.trips.IntN(2)
	}
	for range times {
		t := w.hub.take(&trip{world: w, unnamed: true})
		w.say("a pipeline notifies of a deployment without a commit, with key %q%s", r.IdempotencyKey, t)
		result, err := w.hub.Dispatch(context.Background(), r)
		t.end()
		if err != nil {
			return true, err
		}
		for _, result := range result.Triggers {
			w.say("  %s %s", result.Decision, result.SuiteID)
		}
	}
	return true, nil
}
