package announce

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// Observation is what exists.
type Observation struct {
	Suite     *v1alpha1.Suite
	Receivers []Receiver
	Previous  string                // how the run before ended; see Previous
	Runs      []*v1alpha1.Suite     // of the Trigger
	Threads   []v1alpha1.TestThread // of the Trigger
	Waits     map[string]time.Time  // when to try receivers again that failed, by name
}

// Step is what to do next.
type Step struct {
	Receiver *Receiver // to send the Event to; nil: none
	Event    Event

	Condition *metav1.Condition // to write instead; nil: none
	After     time.Duration     // when to look again, if nothing changes before; 0: not
}

// Next sends each receiver the events of a run in order. Receivers that failed come last.
func Next(o Observation, now time.Time) Step {
	if Settled(o.Suite, now) {
		return Step{}
	}
	if report.TooLate(o.Suite, now) {
		return o.giveUp()
	}
	step, first := Step{}, time.Time{}
	for i := range o.Receivers {
		r := &o.Receivers[i]
		pending := o.Pending(*r)
		if len(pending) == 0 {
			continue
		}
		due := o.Waits[r.Name]
		if r.Since.IsZero() {
			due = now.Add(unseenRetry)
		}
		if wait := due.Sub(now); wait > 0 {
			step.After = min(cmp.Or(step.After, wait), wait)
		} else if step.Receiver == nil || due.Before(first) {
			step.Receiver, step.Event, first = r, pending[0], due
		}
	}
	if step.Receiver == nil && step.After == 0 {
		step.Condition = o.conclusion()
	}
	return step
}

// Settled reports whether nothing is left to do, as for a run that was restored from a backup.
func Settled(s *v1alpha1.Suite, now time.Time) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionNotified)
	if s.Restored() || c == nil {
		return report.TooLate(s, now)
	}
	return c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonGone || c.Reason == v1alpha1.ReasonGaveUp
}

// Pending returns the events that a receiver lacks.
func (o Observation) Pending(r Receiver) (all []Event) {
	d := DeliveryTo(o.Suite, r)
	if d.Gone {
		return nil
	}
	for _, e := range Events(o.Suite) {
		if rank(e.Name) > rank(d.Event) && o.wanted(r, e) && r.saw(e) && (!r.SelectsEnds() || !o.Suite.Retried()) {
			all = append(all, e)
		}
	}
	return all
}

// wanted reports whether a receiver is told of an event: by a message, or in threads.
func (o Observation) wanted(r Receiver, e Event) bool {
	if r.Channel == "" {
		return r.wants(o.Suite, e, o.Previous)
	}
	return rank(e.Name) > rank(v1alpha1.EventStarted) && (o.NextThread(r) != nil || o.Summarized(r))
}

func (r Receiver) saw(e Event) bool { return !e.At.Before(r.Since.Add(-sinceSlack)) }

// DeliveryTo returns what was sent to a receiver.
func DeliveryTo(s *v1alpha1.Suite, r Receiver) v1alpha1.Delivery {
	for _, d := range s.Status.Deliveries {
		if d.Receiver == r.Name {
			return d
		}
	}
	return v1alpha1.Delivery{Receiver: r.Name}
}

// WithDelivery returns a Suite with a delivery in its status, and the condition to write.
func WithDelivery(o Observation, d v1alpha1.Delivery) (*v1alpha1.Suite, metav1.Condition) {
	o.Suite = o.Suite.DeepCopy()
	list := &o.Suite.Status.Deliveries
	if i := slices.IndexFunc(*list, func(other v1alpha1.Delivery) bool { return other.Receiver == d.Receiver }); i >= 0 {
		(*list)[i] = d
	} else {
		*list = append(*list, d)
	}
	if len(*list) > maxDeliveries {
		*list = slices.DeleteFunc(*list, o.isRemoved)
	}
	return o.Suite, o.condition()
}

func (o Observation) isRemoved(d v1alpha1.Delivery) bool {
	return !slices.ContainsFunc(o.Receivers, func(r Receiver) bool { return r.Name == d.Receiver })
}

func (o Observation) conclusion() *metav1.Condition {
	s := o.Suite
	if !s.Finished() {
		return nil
	}
	end := Events(s)[len(Events(s))-1]
	concerned := func(r Receiver) bool { return !r.Since.IsZero() && r.saw(end) }
	if len(s.Status.Deliveries) == 0 && !slices.ContainsFunc(o.Receivers, concerned) {
		return nil // it would be a write for every run of every team
	}
	return new(o.condition())
}

func (o Observation) condition() metav1.Condition {
	var problems, gone, told []string
	pending := false
	for _, r := range o.Receivers {
		d := DeliveryTo(o.Suite, r)
		more := len(o.Pending(r)) > 0
		pending = pending || more
		switch {
		case more && d.Problem != "":
			problems = append(problems, fmt.Sprintf("%s lacks the event %s: %s", r.Title(), o.Pending(r)[0].Name, d.Problem))
		case d.Gone:
			gone = append(gone, r.goneSentence(d))
		case o.Suite.Finished() && string(d.Event) == o.Suite.State():
			told = append(told, r.short())
		}
	}
	switch {
	case len(problems) > 0:
		return v1alpha1.NotNotified(v1alpha1.ReasonNotifyFailed,
			strings.Join(problems, " ")+" Postflight tries again until a day after the end of the run.")
	case pending || !o.Suite.Finished():
		return v1alpha1.NotifyPending("There is more to tell about the run.")
	case len(gone) > 0:
		return v1alpha1.NotNotified(v1alpha1.ReasonGone, strings.Join(gone, " "))
	case len(told) == 0:
		return v1alpha1.Notified(v1alpha1.ReasonNothingToSend, "Nobody wants to be told how this run ended.")
	default:
		return v1alpha1.Notified(v1alpha1.ReasonDelivered, "The end of the run was told to: "+strings.Join(told, ", ")+".")
	}
}

func (o Observation) giveUp() Step {
	var lacking []string
	for _, r := range o.Receivers {
		if len(o.Pending(r)) > 0 {
			lacking = append(lacking, fmt.Sprintf("%s lacks the event %s.", r.Title(), o.Pending(r)[0].Name))
		}
	}
	if len(lacking) == 0 {
		return Step{Condition: new(o.condition())}
	}
	return Step{Condition: new(v1alpha1.NotNotified(v1alpha1.ReasonGaveUp,
		strings.Join(lacking, " ")+" Postflight gave up a day after the end of the run."))}
}
