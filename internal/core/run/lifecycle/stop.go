package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// StopCheckAfter is when to first check whether the pods of a Job have stopped: an event reports most before.
	StopCheckAfter = 10 * time.Second

	stopCheckMax   = 30 * time.Second // bounds the pauses between these checks
	unlabeledEvery = 15 * time.Second // how often to check a Job that no event reports
	orphanGrace    = time.Minute      // the longest common grace period of pods, which passes before they are given up
	hopelessAfter  = time.Minute      // how long a pod that cannot start keeps its run: the rest of a Git commit, such as a Secret, may follow

	// heldOpenFor is how long an injected container may run on after the tests: some notice that these have ended. It is longer than clocks
	// differ, so that nothing takes the pods for stopped.
	heldOpenFor = 15 * time.Second

	// The pauses between checks of a Job that has no ready pod yet: short at first, when most causes show.
	unreadyMin = time.Second
	unreadyMax = time.Minute

	stopGrace  = time.Minute     // added to the grace period of the pods of a Job, before the Job is deleted
	maxTimeout = 168 * time.Hour // the longest timeout that a Trigger may have
)

func finished(o Observation, now time.Time) *Decision {
	if !o.Suite.Finished() {
		return nil
	}
	d := Decision{Condition: o.Suite.Succeeded(), SupersededBy: o.Suite.Status.SupersededBy}
	completed := o.Suite.Status.CompletionTime
	if completed != nil {
		d.RequeueAfter = max(0, completed.Add(keptFor(o)).Sub(now))
	}
	switch {
	case o.Job != nil && !Ended(o.Condition) && o.Job.DeletionTimestamp == nil:
		d.Action = DeleteJob
	case completed != nil && d.RequeueAfter == 0 && o.Suite.DeletionTimestamp == nil:
		d.Action = DeleteSuite
	}
	return &d
}

// keptFor is longer for an unarchived run: deleting the Suite deletes the pods, from which the archive has the logs.
func keptFor(o Observation) time.Duration {
	kept := max(ttl(o), podsKeptFor(o.Suite))
	if o.Unarchived {
		return kept + ArchiveWithin
	}
	return kept
}

// ttl is the Suite's own, so that a change of its Trigger deletes no run earlier.
func ttl(o Observation) time.Duration {
	if own := o.Suite.Spec.TTLAfterFinished; own != nil {
		return own.Duration
	}
	return o.Trigger.SuiteTTL()
}

func unconfirmed(o Observation, _ time.Time) *Decision {
	if !o.Unconfirmed {
		return nil
	}
	waiting := cmp.Or(o.Suite.Succeeded(), v1alpha1.Running("The pods have ended. Waiting for their node to report how."))
	return &Decision{Condition: waiting, RequeueAfter: confirmEvery}
}

// jobEnded omits a Job that failed because its pods were stopped: its failure says nothing.
func jobEnded(o Observation, _ time.Time) *Decision {
	stopped := !o.Stopping.Requested.IsZero() && o.Condition.Reason != v1alpha1.ReasonPassed
	if o.Job == nil || !Ended(o.Condition) || o.Job.DeletionTimestamp != nil || stopped {
		return nil
	}
	return &Decision{Condition: o.Condition, Advice: o.Advice, Interrupted: o.Interrupted}
}

func podsLost(o Observation, _ time.Time) *Decision {
	if o.Stopping.Lost == "" {
		return nil
	}
	return &Decision{Condition: v1alpha1.Error(o.Stopping.Lost), Interrupted: o.Stopping.LostToCluster}
}

func restored(o Observation, _ time.Time) *Decision {
	if o.Job != nil || !o.Suite.Restored() {
		return nil
	}
	return condition(v1alpha1.Canceled(
		"Received long before this Suite was created, as after a restore from a backup: it does not run again. " +
			"Notify again, or create a Suite without receivedAt, to test the deployment."))
}

func deleted(o Observation, now time.Time) *Decision {
	if o.Suite.DeletionTimestamp == nil {
		return nil
	}
	return stop(o, v1alpha1.Canceled("The Suite was deleted."), now)
}

// superseded first records the newer run. That write fails if this run was notified again: then it is the newer one, and must not stop.
func superseded(o Observation, now time.Time) *Decision {
	newer := supersededBy(o)
	if newer == "" {
		return nil
	}
	d := stop(o, v1alpha1.Superseded(fmt.Sprintf("Superseded by %s, a newer deployment of the same stream.%s", newer, stuck(o))), now)
	d.SupersededBy = newer
	if d.Action != Report && o.Suite.Status.SupersededBy == "" {
		d.Action, d.RequeueAfter = Report, time.Nanosecond
	}
	return d
}

// supersededBy keeps what the status says: a stale view of the stream can only hide a newer Suite, which delays the end of this one.
func supersededBy(o Observation) string {
	if newer := suite.NewerDeployment(o.Suite, o.Stream); newer != nil {
		return newer.Name
	}
	return o.Suite.Status.SupersededBy
}

// Unwanted reports whether a run is to be stopped, whatever its Job does.
func Unwanted(o Observation) bool {
	return o.Suite.DeletionTimestamp != nil || o.Suite.Spec.Cancel || supersededBy(o) != ""
}

func canceled(o Observation, now time.Time) *Decision {
	if !o.Suite.Spec.Cancel {
		return nil
	}
	message := "Canceled by setting spec.cancel."
	if who := suite.ShownPerson(o.Suite.Annotations[v1alpha1.AnnotationCanceledBy]); who != "" {
		message = fmt.Sprintf("Canceled by %s.", who)
	}
	return stop(o, v1alpha1.Canceled(message+stuck(o)), now)
}

// stuck returns why the tests of a stopped run had not started, as a sentence, or "".
func stuck(o Observation) string {
	problem := cmp.Or(o.PodProblem, o.Suite.Status.PodProblem)
	if problem == "" || o.Suite.Status.StartTime != nil || !o.Started.IsZero() {
		return ""
	}
	return " Until then, its tests could not start: " + problem
}

// notStarted records the reason before it stops the run, which would otherwise end as one whose Job somebody deleted.
func notStarted(o Observation, now time.Time) *Decision {
	reason := notStartedMessage(o, now)
	if reason == "" {
		return nil
	}
	d := stop(o, v1alpha1.Error(reason), now)
	d.NotStarted, d.Interrupted = reason, notStartedReason(o) == v1alpha1.ReasonImageNotPulled
	if !Ended(d.Condition) {
		d.Condition.Reason = v1alpha1.ReasonStarting // it never ran
	}
	if d.Action != Report && meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionStarted) == nil {
		d.Action, d.RequeueAfter = Report, time.Nanosecond
	}
	return d
}

// notStartedMessage returns why a run whose tests have not started is stopped, or "". The condition outlasts the Job.
func notStartedMessage(o Observation, now time.Time) string {
	if c := meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionStarted); c != nil {
		return c.Message
	}
	if o.Job == nil || o.StartingSince.IsZero() {
		return ""
	}
	if o.Unsuitable != "" {
		return o.Unsuitable
	}
	if since := o.HopelessSince; !since.IsZero() && now.Sub(since) >= hopelessAfter {
		return o.PodProblem
	}
	if limit := startLimit(o); now.Sub(o.StartingSince) >= limit {
		return fmt.Sprintf("The tests did not start within %s, %s. %s", plaintext.Duration(limit), startLimits(o), o.Condition.Message)
	}
	return ""
}

// startLimits names what the limit is made of.
func startLimits(o Observation) string {
	if o.Trigger != nil && o.Trigger.Spec.Ready.ProbeLimit() > 0 {
		return "the startTimeout of the Trigger and the timeout of its ready"
	}
	return "the startTimeout of the Trigger"
}

// startLimit is that of the Job: its Trigger and its TriggerClass may change meanwhile.
func startLimit(o Observation) time.Duration {
	if o.StartLimit > 0 {
		return o.StartLimit
	}
	return o.Trigger.StartTimeout()
}

// overdue does not count the time in which sidecars stop and results are uploaded.
func overdue(o Observation, now time.Time) *Decision {
	if !TimeIsUp(o, now) || endedInTime(o, now) {
		return nil
	}
	message := fmt.Sprintf("The run took longer than its timeout of %s and was stopped.", plaintext.Duration(timeLimit(o)))
	if o.PodProblem != "" {
		message += " " + o.PodProblem
	}
	return stop(o, v1alpha1.TimedOut(message), now)
}

// heldOpen ends pods in which only injected containers run on, such as the proxy of a service mesh.
func heldOpen(o Observation, now time.Time) *Decision {
	if o.Job == nil || !o.HeldOpen {
		return nil
	}
	if wait := heldOpenFor - now.Sub(o.TestsEnded); wait > 0 {
		return &Decision{Condition: o.Condition, RequeueAfter: min(wait, heldOpenFor)}
	}
	return &Decision{Action: EndPods, Condition: o.Condition}
}

func jobRuns(o Observation, _ time.Time) *Decision {
	if o.Job == nil {
		return nil
	}
	return &Decision{Condition: o.Condition, Advice: o.Advice}
}

func jobDeleted(o Observation, now time.Time) *Decision {
	if o.Suite.Status.JobName == "" {
		return nil
	}
	return stop(o, v1alpha1.Error(fmt.Sprintf("The Job %s was deleted before it ended. %s", o.Suite.Status.JobName, results.RerunAdvice)), now)
}

// stop ends a run once its Job and pods are gone, because a successor starts then. Either may disappear before the other.
func stop(o Observation, end metav1.Condition, now time.Time) *Decision {
	switch {
	case o.Job != nil && Ended(o.Condition):
		return condition(end) // Kubernetes ends a Job only after its pods
	case o.Job != nil && !o.Stopping.Done:
		return &Decision{Action: stopAction(o, now), Condition: v1alpha1.Running(end.Message + " Stopping the pods of this run.")}
	case o.Stopping.PodsLeft:
		waited := now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now))
		if waited >= o.Stopping.GiveUp+orphanGrace {
			return condition(v1alpha1.Error(
				fmt.Sprintf("%s Its Job is gone, and its pods still run, and nothing stops them. Stop them: kubectl delete pods -n %s -l %s=%s",
					end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name)))
		}
		return &Decision{
			Missing: fmt.Sprintf("Job %q", o.Suite.Name),
			Condition: v1alpha1.Running(fmt.Sprintf("%s Stopping the pods of this run: kubectl get pods -n %s -l %s=%s",
				end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name)),
			RequeueAfter: min(max(waited/4, podsEvery), stopCheckMax),
		}
	default:
		return condition(end)
	}
}

// stopAction keeps pods of tests that have begun, for their logs, unless they do not stop: other controllers may create pods again. Pods in
// another cluster are stopped only with the Job, and have no log here.
func stopAction(o Observation, now time.Time) Action {
	waited := now.Sub(o.Stopping.Requested)
	switch {
	case o.Job.DeletionTimestamp != nil || o.Stopping.RequestedNow:
		return Report
	case beforeTests(o.Condition) || o.Elsewhere:
		return DeleteJob
	case o.Stopping.Requested.IsZero():
		return StopPods
	case waited >= o.Stopping.Grace+stopGrace:
		return DeleteJob
	case waited >= StopCheckAfter:
		return StopPods // there may be new ones
	default:
		return Report
	}
}

func beforeTests(progress metav1.Condition) bool {
	return progress.Reason == v1alpha1.ReasonStarting || progress.Reason == v1alpha1.ReasonQueued
}
