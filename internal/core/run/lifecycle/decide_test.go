package lifecycle_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

const restoredMessage = "Received long before this Suite was created, as after a restore from a backup: it does not run again. " +
	"Notify again, or create a Suite without receivedAt, to test the deployment."

func TestDecide(t *testing.T) {
	older, self, newer := aSuite("older", 1), aSuite("self", 2), aSuite("newer", 3)
	type observation = lifecycle.Observation
	ready := func(change func(*observation)) observation {
		o := observation{Suite: self, Definition: defined(aTrigger(), anEnvironment())}
		change(&o)
		return o
	}
	short := aTrigger()
	short.Spec.Retention.TTLAfterFinished = &metav1.Duration{Duration: time.Hour}

	for name, tc := range map[string]struct {
		reason string
		o      observation
		after  time.Duration // since t0
		want   lifecycle.Decision
	}{
		"Start": {
			reason: "Nothing is in the way.",
			o:      ready(func(*observation) {}),
			want:   lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"StartAgainAfterACrash": {
			reason: "An earlier status is not believed over what exists.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, inState(v1alpha1.Running("The Job is being created.")))
			}),
			want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"Unconfirmed": {
			reason: "What the pods reported is not known yet, so nothing is decided, whoever asks.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, inState(v1alpha1.Running("The tests are running.")), func(s *v1alpha1.Suite) { s.Spec.Cancel = true })
				o.Job, o.Condition, o.Unconfirmed = aJob("self"), v1alpha1.Failed("No report."), true
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Running("The tests are running."), RequeueAfter: time.Second},
		},
		"UnconfirmedWithoutAStatus": {
			reason: "A run that has not ended says what it waits for.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.Unconfirmed = aJob("self"), v1alpha1.Failed(""), true
			}),
			want: lifecycle.Decision{
				Condition: v1alpha1.Running("The pods have ended. Waiting for their node to report how."), RequeueAfter: time.Second,
			},
		},
		"Restored": {
			reason: "A backup starts nothing again.",
			o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, restored) }),
			want:   lifecycle.Decision{Condition: v1alpha1.Canceled(restoredMessage)},
		},
		"RestoredWithAnOldStatus": {
			reason: "The Job of before is in another cluster.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, restored, inState(v1alpha1.Running("")), func(s *v1alpha1.Suite) { s.Status.JobName = "self" })
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Canceled(restoredMessage)},
		},
		"LabeledWhileItRuns": {
			reason: "A run with a Job of its own was not restored.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, restored), aJob("self"), v1alpha1.Running("")
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Running("")},
		},
		"RestoredLater": {
			reason: "What a backup brings back is no newer deployment, and ends at once.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{self, aSuite("later", 600, restored)}
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Queued("Waiting for the older run later of the same stream to stop.")},
		},
		"RestoredBefore": {
			reason: "Nor does it supersede anything once it has ended.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{self, aSuite("later", 600, restored, inState(v1alpha1.Canceled("")))}
			}),
			want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"OnlyItselfInTheStream": {
			reason: "A Suite does not wait for itself.",
			o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{self} }),
			want:   lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"OlderUnfinished": {
			reason: "Two runs of a stream never share the environment.",
			o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{older, self} }),
			want:   lifecycle.Decision{Condition: v1alpha1.Queued("Waiting for the older run older of the same stream to stop.")},
		},
		"OlderFinished": {
			reason: "What has ended is not waited for.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{aSuite("older", 1, inState(v1alpha1.Failed("")))}
			}),
			want: lifecycle.Decision{Action: lifecycle.CreateJob},
		},
		"SupersededBeforeItsStart": {
			reason: "A run that never started ends at once.",
			o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{older, self, newer} }),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
				SupersededBy: "newer",
			},
		},
		"SupersededByAFinishedOne": {
			reason: "The newest supersedes the older ones even once it has ended.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{aSuite("newer", 3, inState(v1alpha1.Passed("")))}
			}),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
				SupersededBy: "newer",
			},
		},
		"SupersededWhileRunning": {
			reason: "It is recorded first: the write fails if the run was notified again meanwhile.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{self, newer}
				o.Job, o.Condition = aJob("self"), v1alpha1.Running("")
			}),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Running("Superseded by newer, a newer deployment of the same stream. Stopping the pods of this run."),
				SupersededBy: "newer", RequeueAfter: time.Nanosecond,
			},
		},
		"RecordedAsSuperseded": {
			reason: "The Job goes first; the run has ended only when its pods are gone.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, withJob, func(s *v1alpha1.Suite) { s.Status.SupersededBy = "newer" })
				o.Stream = []*v1alpha1.Suite{self, newer}
				o.Job, o.Condition = aJob("self"), v1alpha1.Running("")
			}),
			want: lifecycle.Decision{
				Action:       lifecycle.StopPods,
				Condition:    v1alpha1.Running("Superseded by newer, a newer deployment of the same stream. Stopping the pods of this run."),
				SupersededBy: "newer",
			},
		},
		"SupersededWhileStopping": {
			reason: "A Job that is being deleted is not deleted again.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{self, newer}
				o.Job, o.Condition = goingJob("self"), v1alpha1.Running("")
			}),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Running("Superseded by newer, a newer deployment of the same stream. Stopping the pods of this run."),
				SupersededBy: "newer",
			},
		},
		"SupersededAndStopped": {
			reason: "That its Job is gone is what was asked for, not an error.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, withJob)
				o.Stream = []*v1alpha1.Suite{self, newer}
			}),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
				SupersededBy: "newer",
			},
		},
		"PassedBeforeItWasSuperseded": {
			reason: "An outcome that is there is kept, if it was there before the newer deployment.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{self, aSuite("newer", 9)}
				o.Job, o.Condition = completed(aJob("self"), t0.Add(7*time.Second)), v1alpha1.Passed("All good.")
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Passed("All good.")},
		},
		"FailedBeforeItWasSuperseded": {
			reason: "A failure is kept, too, whenever it was there.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{self, newer}
				o.Job, o.Condition = aJob("self"), v1alpha1.Failed("3 of 10 tests failed.")
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Failed("3 of 10 tests failed.")},
		},
		"SameInstant": {
			reason: "The name breaks the tie, the same way in every replica.",
			o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{aSuite("zzz", 2)} }),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Superseded("Superseded by zzz, a newer deployment of the same stream."),
				SupersededBy: "zzz",
			},
		},
		"CanceledWhileQueued": {
			reason: "A queued run is canceled at once.",
			o: ready(func(o *observation) {
				o.Suite, o.Position = aSuite("self", 2, canceled), &queue.Position{Number: 3}
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"CanceledBySomebody": {
			reason: "Who asked is said, if known.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, canceled, func(s *v1alpha1.Suite) {
					s.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: "ada@example.com"}
				})
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by ada@example.com.")},
		},
		"CanceledWhileStuck": {
			reason: "Why it was stuck stays known, though its Job and its pods are gone.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, canceled, func(s *v1alpha1.Suite) { s.Status.PodProblem = "The image cannot be pulled." })
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel. Until then, its tests could not start: The image cannot be pulled.")},
		},
		"CanceledAfterTheStart": {
			reason: "What kept the tests from starting is over.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, canceled, func(s *v1alpha1.Suite) {
					s.Status.PodProblem, s.Status.StartTime = "The container was restarted.", new(metav1.NewTime(t0))
				})
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"SupersededWhileStuck": {
			reason: "The newer run may get stuck as well.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, func(s *v1alpha1.Suite) { s.Status.PodProblem = "The image cannot be pulled." })
				o.Stream = []*v1alpha1.Suite{aSuite("newer", 9)}
			}),
			want: lifecycle.Decision{SupersededBy: "newer", Condition: v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream. Until then, its tests could not start: The image cannot be pulled.")},
		},
		"CanceledWhileRunning": {
			reason: "The Job goes first.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, canceled, withJob)
				o.Job, o.Condition = aJob("self"), v1alpha1.Running("")
			}),
			want: lifecycle.Decision{Action: lifecycle.StopPods, Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run.")},
		},
		"Running": {
			reason: "What the Job says is what the Suite says.",
			o:      ready(func(o *observation) { o.Job, o.Condition = aJob("self"), v1alpha1.Running("Pulling its image.") }),
			want:   lifecycle.Decision{Condition: v1alpha1.Running("Pulling its image.")},
		},
		"RunningWithoutATrigger": {
			reason: "A Trigger that is deleted does not end the runs it started.",
			o: ready(func(o *observation) {
				o.Trigger, o.Environment = nil, nil
				o.Job, o.Condition = aJob("self"), v1alpha1.Running("Busy.")
			}),
			after: time.Hour,
			want:  lifecycle.Decision{Condition: v1alpha1.Running("Busy.")},
		},
		"JobDeletedBehindOurBack": {
			reason: "Ends in an error, not in a hang and not in a second Job.",
			o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, withJob) }),
			want: lifecycle.Decision{Condition: v1alpha1.Error(
				"The Job self was deleted before it ended. Notify again, or create another Suite, to repeat the run.")},
		},
		"JobDeletedBeforeItsPods": {
			reason: "Its successor must not start beside pods that are still stopping.",
			o:      ready(func(o *observation) { o.Suite, o.Stopping.PodsLeft = aSuite("self", 2, withJob), true }),
			want: lifecycle.Decision{
				Missing: `Job "self"`,
				Condition: v1alpha1.Running("The Job self was deleted before it ended. Notify again, or create another Suite, to repeat the run. " +
					"Stopping the pods of this run: kubectl get pods -n demo -l postflight.dev/suite=self"),
				RequeueAfter: 2 * time.Second,
			},
		},
		"SupersededAndDeletedBeforeItsPods": {
			reason: "Nor is a superseded run at its end while its pods are not.",
			o: ready(func(o *observation) {
				o.Suite, o.Stopping.PodsLeft = aSuite("self", 2, withJob), true
				o.Stream = []*v1alpha1.Suite{self, newer}
			}),
			want: lifecycle.Decision{
				Missing: `Job "self"`,
				Condition: v1alpha1.Running("Superseded by newer, a newer deployment of the same stream. " +
					"Stopping the pods of this run: kubectl get pods -n demo -l postflight.dev/suite=self"),
				SupersededBy: "newer",
				RequeueAfter: 2 * time.Second,
			},
		},
		"Suspended": {
			reason: "No run of a suspended team starts.",
			o:      ready(func(o *observation) { o.Team.Spec.Suspended = true }),
			want:   lifecycle.Decision{Condition: v1alpha1.Queued("The team is suspended; the run starts when it no longer is.")},
		},
		"InTheQueue": {
			reason: "A queued run says its position, and which limit holds it.",
			o: ready(func(o *observation) {
				o.Position = &queue.Position{Number: 3, Limit: queue.Limit{Kind: "Team", Most: 5}}
			}),
			want: lifecycle.Decision{Waiting: true,
				Condition: v1alpha1.Queued("Waiting for a slot, at position 3 in the queue: maxConcurrentSuites of the Team demo is 5.")},
		},
		"FarBackInTheQueue": {
			reason: "A position far back is not worth a write whenever it changes.",
			o:      ready(func(o *observation) { o.Position = &queue.Position{Number: 21} }),
			want:   lifecycle.Decision{Condition: v1alpha1.Queued("Waiting for a slot, with more than 20 runs ahead."), Waiting: true},
		},
		"TriggerNotThereYet": {
			reason: "A commit is applied object by object, and a cache may be behind.",
			o:      ready(func(o *observation) { o.Trigger = nil }),
			after:  10 * time.Second,
			want: lifecycle.Decision{
				Missing:      `Trigger "smoke"`,
				Condition:    v1alpha1.Queued(`Waiting for the Trigger "smoke", which does not exist.`),
				RequeueAfter: 5 * time.Second,
			},
		},
		"EnvironmentReplaced": {
			reason: "What was there until now may come back, however long the run was queued.",
			o:      ready(func(o *observation) { o.Environment = nil }),
			after:  time.Hour,
			want: lifecycle.Decision{
				Missing:      `Environment "staging"`,
				Condition:    v1alpha1.Queued(`Waiting for the Environment "staging", which does not exist.`),
				RequeueAfter: 5 * time.Second,
			},
		},
		"EnvironmentNeverThere": {
			reason: "Nothing waits for ever.",
			o:      ready(func(o *observation) { o.Suite, o.Environment = aSuite("self", 2, missing(t0)), nil }),
			after:  time.Minute,
			want: lifecycle.Decision{Condition: v1alpha1.Error(
				`The Environment "staging" does not exist. Create it and notify again.`)},
		},
		"TriggerJustRecreated": {
			reason: "The message does not say that the Trigger is missing, because kubectl shows one.",
			o:      ready(func(o *observation) { o.Trigger, o.Recreated = nil, true }),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Queued(`The Trigger "smoke" was deleted and recreated after this notification, so the run ends as Error within 30s. Then notify again.`),
				RequeueAfter: 5 * time.Second, Missing: `Trigger "smoke"`,
			},
		},
		"TriggerRecreated": {
			reason: "The Trigger of that name is another one, which nobody notified.",
			o: ready(func(o *observation) {
				o.Suite, o.Trigger, o.Recreated = aSuite("self", 2, missing(t0)), nil, true
			}),
			after: time.Minute,
			want: lifecycle.Decision{Condition: v1alpha1.Error(
				`The Trigger "smoke" was deleted and recreated after this notification. Notify again.`)},
		},
		"NoTeam": {
			reason: "Without exactly one Team nobody can tell which limits count.",
			o:      ready(func(o *observation) { o.Team = nil }),
			want: lifecycle.Decision{Condition: v1alpha1.Queued(`Waiting for the namespace "demo" to belong to exactly one Team. ` +
				"Create the Team, or delete those that claim it wrongly.")},
		},
		"CanceledByAnything": {
			reason: "Who canceled is text that anybody may have written.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, canceled)
				o.Suite.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: "\x1b]0;owned\x07me\n\x00you"}
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by me; you.")},
		},
		"Deleted": {
			reason: "A finalizer of somebody else keeps the Suite; it must not keep the stream.",
			o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, deleted) }),
			want:   lifecycle.Decision{Condition: v1alpha1.Canceled("The Suite was deleted.")},
		},
		"DeletedWhileRunning": {
			reason: "The garbage collector deletes the Job only once the finalizer is gone.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, deleted)
				o.Job, o.Condition = aJob("self"), v1alpha1.Running("")
			}),
			want: lifecycle.Decision{Action: lifecycle.StopPods, Condition: v1alpha1.Running("The Suite was deleted. Stopping the pods of this run.")},
		},
		"DeletedLongAgo": {
			reason: "A Suite is not deleted twice.",
			o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, deleted, inState(v1alpha1.Passed("Good."))) }),
			after:  9 * v1alpha1.DefaultTTL,
			want:   lifecycle.Decision{Condition: v1alpha1.Passed("Good.")},
		},
		"Starting": {
			reason: "The wait for capacity is bounded.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.StartingSince = createdJob("self", t0), v1alpha1.Starting("No node has room."), t0
			}),
			after: time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Starting("No node has room."), RequeueAfter: 14 * time.Minute},
		},
		"NotStarted": {
			reason: "The reason is part of the message. It is recorded before the Job is deleted, or a crash would lose it.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.StartingSince = createdJob("self", t0), v1alpha1.Starting("No node has room."), t0
			}),
			after: 15 * time.Minute,
			want: lifecycle.Decision{
				Condition:    v1alpha1.Starting("The tests did not start within 15m, the startTimeout of the Trigger. No node has room. Stopping the pods of this run."),
				NotStarted:   "The tests did not start within 15m, the startTimeout of the Trigger. No node has room.",
				RequeueAfter: time.Nanosecond,
			},
		},
		"NotStartedAndRecorded": {
			reason: "Now the Job can go.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, withJob, func(s *v1alpha1.Suite) {
					s.Status.Conditions = append(s.Status.Conditions, v1alpha1.NotStarted(v1alpha1.ReasonNotStarted, "No room."))
				})
				o.Job, o.Condition, o.StartingSince = createdJob("self", t0), v1alpha1.Starting("No node has room."), t0
			}),
			after: 15 * time.Minute,
			want: lifecycle.Decision{
				Action:       lifecycle.DeleteJob,
				Condition:    v1alpha1.Starting("No room. Stopping the pods of this run."),
				NotStarted:   "No room.",
				RequeueAfter: time.Second,
			},
		},
		"NotStartedAndStopped": {
			reason: "What the Job can no longer show is in a condition.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, withJob, func(s *v1alpha1.Suite) {
					s.Status.Conditions = append(s.Status.Conditions, v1alpha1.NotStarted(v1alpha1.ReasonNotStarted, "No room."))
				})
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Error("No room."), NotStarted: "No room."},
		},
		"CanceledInAnotherQueue": {
			reason: "The Job waits in a queue of Kueue, and has no pods whose logs are worth keeping.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.NotBegun = createdJob("self", t0), v1alpha1.Queued("Waiting in the queue."), true
				o.Suite = aSuite("self", 2, canceled)
			}),
			want: lifecycle.Decision{Action: lifecycle.DeleteJob,
				Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run.")},
		},
		"CanceledInAnotherCluster": {
			reason: "Its pods are stopped only with the Job, and their logs are not here.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition, o.Elsewhere = aSuite("self", 2, canceled), aJob("self"), v1alpha1.Running("Busy."), true
			}),
			want: lifecycle.Decision{Action: lifecycle.DeleteJob,
				Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run.")},
		},
		"ResultsCannotComeFromThere": {
			reason: "It would use the other cluster, and the Environment, for nothing.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.StartingSince = createdJob("self", t0), v1alpha1.Queued("Waiting in the queue."), t0
				o.Elsewhere, o.Unsuitable = true, "No results come from there."
			}),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Starting("No results come from there. Stopping the pods of this run."),
				NotStarted:   "No results come from there.",
				RequeueAfter: time.Nanosecond,
			},
		},
		"StartingAgain": {
			reason: "The tests of a run that was interrupted get the whole time again.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.StartingSince = createdJob("self", t0), v1alpha1.Starting("No node has room."), t0.Add(20*time.Minute)
			}),
			after: 21 * time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Starting("No node has room."), RequeueAfter: 14 * time.Minute},
		},
		"RunningAtLast": {
			reason: "Tests that run are not stopped for their start.",
			o: ready(func(o *observation) {
				o.Job, o.Condition = createdJob("self", t0), v1alpha1.Running("Busy.")
			}),
			after: 15 * time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Running("Busy.")},
		},
		"Hopeless": {
			reason: "A missing Secret may be created within a minute.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.StartingSince = createdJob("self", t0), v1alpha1.Starting("The pod cannot start: no Secret."), t0
				o.PodProblem, o.HopelessSince = "The pod cannot start: no Secret.", t0.Add(10*time.Second)
			}),
			after: time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Starting("The pod cannot start: no Secret."), RequeueAfter: 10 * time.Second},
		},
		"HopelessForLong": {
			reason: "It is no use to wait for the whole timeout.",
			o: ready(func(o *observation) {
				o.Job, o.Condition, o.StartingSince = createdJob("self", t0), v1alpha1.Starting("The pod cannot start: no Secret."), t0
				o.PodProblem, o.HopelessSince = "The pod cannot start: no Secret.", t0.Add(10*time.Second)
			}),
			after: 70 * time.Second,
			want: lifecycle.Decision{
				Condition:    v1alpha1.Starting("The pod cannot start: no Secret. Stopping the pods of this run."),
				NotStarted:   "The pod cannot start: no Secret.",
				RequeueAfter: time.Nanosecond,
			},
		},
		"StopRequested": {
			reason: "The pods have their grace period.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), aJob("self"), v1alpha1.Running("Busy.")
				o.Stopping = lifecycle.Stopping{Since: t0, Requested: t0, Grace: 30 * time.Second}
			}),
			after: 4 * time.Second,
			want:  lifecycle.Decision{Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run."), RequeueAfter: 6 * time.Second},
		},
		"StopRequestedAgain": {
			reason: "Another controller may have created a pod since.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), aJob("self"), v1alpha1.Running("Busy.")
				o.Stopping = lifecycle.Stopping{Since: t0, Requested: t0, Grace: 30 * time.Second}
			}),
			after: 40 * time.Second,
			want:  lifecycle.Decision{Action: lifecycle.StopPods, Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run."), RequeueAfter: 10 * time.Second},
		},
		"StopRequestedInVain": {
			reason: "The end of the run counts more than its log.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), aJob("self"), v1alpha1.Running("Busy.")
				o.Stopping = lifecycle.Stopping{Since: t0, Requested: t0, Grace: 30 * time.Second}
			}),
			after: 90 * time.Second,
			want:  lifecycle.Decision{Action: lifecycle.DeleteJob, Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run."), RequeueAfter: 22500 * time.Millisecond},
		},
		"StopRequestedByNoManager": {
			reason: "Whoever may write Jobs may write anything.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), aJob("self"), v1alpha1.Running("Busy.")
				o.Stopping = lifecycle.Stopping{Requested: t0.Add(time.Hour), Grace: 30 * time.Second}
			}),
			want: lifecycle.Decision{Action: lifecycle.StopPods, Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run.")},
		},
		"FailedBecauseItWasStopped": {
			reason: "How the pods ended says nothing about the tests.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), aJob("self"), v1alpha1.TimedOut("The pod took too long.")
				o.Stopping = lifecycle.Stopping{Requested: t0, Grace: 30 * time.Second}
			}),
			after: 4 * time.Second,
			want:  lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"PassedAllTheSame": {
			reason: "The tests had passed before they were stopped.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), aJob("self"), v1alpha1.Passed("Good.")
				o.Stopping = lifecycle.Stopping{Requested: t0, Grace: 30 * time.Second}
			}),
			after: 4 * time.Second,
			want:  lifecycle.Decision{Condition: v1alpha1.Passed("Good.")},
		},
		"StoppedBehindAFinalizer": {
			reason: "The pods count. A finalizer that keeps the Job keeps nobody waiting.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), goingJob("self"), v1alpha1.Running("")
				o.Stopping = lifecycle.Stopping{Since: t0, Done: true}
			}),
			after: 20 * time.Second,
			want:  lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"StoppingIsLookedAt": {
			reason: "No event tells that pods stopped while the Job stays.",
			o: ready(func(o *observation) {
				o.Suite, o.Job, o.Condition = aSuite("self", 2, canceled), goingJob("self"), v1alpha1.Running("")
				o.Stopping = lifecycle.Stopping{Since: t0}
			}),
			after: 4 * time.Second,
			want:  lifecycle.Decision{Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping the pods of this run."), RequeueAfter: 6 * time.Second},
		},
		"Lost": {
			reason: "A node that is gone keeps neither the stream nor a slot.",
			o: ready(func(o *observation) {
				o.Stream = []*v1alpha1.Suite{self, newer}
				o.Job, o.Condition = goingJob("self"), v1alpha1.Running("")
				o.Stopping = lifecycle.Stopping{Since: t0, Lost: "The node is gone."}
			}),
			after: 20 * time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Error("The node is gone.")},
		},
		"Overdue": {
			reason: "The time limit counts from the start of the tests.",
			o: ready(func(o *observation) {
				o.Job, o.Condition = startedJob("self", t0), v1alpha1.Running("")
			}),
			after: 31 * time.Minute,
			want: lifecycle.Decision{Action: lifecycle.StopPods, Condition: v1alpha1.Running(
				"The run took longer than its timeout of 30m and was stopped. Stopping the pods of this run."), RequeueAfter: time.Second},
		},
		"OverdueAndDeleted": {
			reason: "The Job is gone because of that, and not behind our back.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, withJob)
				o.Suite.Status.StartTime = &metav1.Time{Time: t0}
			}),
			after: 32 * time.Minute,
			want: lifecycle.Decision{Condition: v1alpha1.TimedOut(
				"The run took longer than its timeout of 30m and was stopped.")},
		},
		"OverdueIsLookedFor": {
			reason: "No event reports that the time is up.",
			o: ready(func(o *observation) {
				o.Job, o.Condition = startedJob("self", t0), v1alpha1.Running("Busy.")
			}),
			after: 20 * time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Running("Busy."), RequeueAfter: 10 * time.Minute},
		},
		"Orphaned": {
			reason: "Somebody deleted the Job and kept its pods, which nobody stops.",
			o: ready(func(o *observation) {
				o.Suite, o.Stopping.PodsLeft, o.Stopping.GiveUp = aSuite("self", 2, withJob, canceled, missing(t0)), true, 10*time.Minute
			}),
			after: 11 * time.Minute,
			want: lifecycle.Decision{Condition: v1alpha1.Error("Canceled by setting spec.cancel. Its Job is gone, and its pods still run, and nothing stops them. " +
				"Stop them: kubectl delete pods -n demo -l postflight.dev/suite=self")},
		},
		"Unlabeled": {
			reason: "The cache does not know the Job, so it is looked at.",
			o: ready(func(o *observation) {
				o.Job, o.Unlabeled, o.Condition = aJob("self"), true, v1alpha1.Running("Busy.")
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Running("Busy."), RequeueAfter: 15 * time.Second},
		},
		"SupersededBefore": {
			reason: "What was superseded stays so, also where the newer Suite is gone.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2)
				o.Suite.Status.SupersededBy = "newer"
				o.Stream = []*v1alpha1.Suite{self}
			}),
			want: lifecycle.Decision{
				Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
				SupersededBy: "newer",
			},
		},
		"KeptAsTheSuiteSays": {
			reason: "Neither the deletion of the Trigger nor its change makes a run go earlier.",
			o: ready(func(o *observation) {
				o.Suite, o.Trigger = aSuite("self", 2, inState(v1alpha1.Passed("Good."))), short
				o.Suite.Spec.TTLAfterFinished = &metav1.Duration{Duration: 8760 * time.Hour}
			}),
			after: 2*time.Second + time.Minute + time.Hour,
			want:  lifecycle.Decision{Condition: v1alpha1.Passed("Good."), RequeueAfter: 8759 * time.Hour},
		},
		"FinishedAndKept": {
			reason: "It comes again when its time is up; the Trigger's word counts.",
			o: ready(func(o *observation) {
				o.Suite, o.Trigger = aSuite("self", 2, inState(v1alpha1.Passed("Good."))), short
			}),
			after: 2*time.Second + 31*time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Passed("Good."), RequeueAfter: 30 * time.Minute},
		},
		"FinishedLongAgo": {
			reason: "A week is the default where the Trigger is gone.",
			o: ready(func(o *observation) {
				o.Suite, o.Trigger = aSuite("self", 2, inState(v1alpha1.Passed("Good."))), nil
			}),
			after: 2*time.Second + time.Minute + v1alpha1.DefaultTTL,
			want:  lifecycle.Decision{Condition: v1alpha1.Passed("Good."), Action: lifecycle.DeleteSuite},
		},
		"FinishedAndNotArchived": {
			reason: "Its pods have the only copy of the logs.",
			o: ready(func(o *observation) {
				o.Suite, o.Unarchived = aSuite("self", 2, inState(v1alpha1.Passed("Good."))), true
			}),
			after: 2*time.Second + time.Minute + v1alpha1.DefaultTTL,
			want:  lifecycle.Decision{Condition: v1alpha1.Passed("Good."), RequeueAfter: lifecycle.ArchiveWithin},
		},
		"FinishedAndNeverArchived": {
			reason: "A store that is away for ever must not fill etcd.",
			o: ready(func(o *observation) {
				o.Suite, o.Unarchived = aSuite("self", 2, inState(v1alpha1.Passed("Good."))), true
			}),
			after: 2*time.Second + time.Minute + v1alpha1.DefaultTTL + lifecycle.ArchiveWithin,
			want:  lifecycle.Decision{Condition: v1alpha1.Passed("Good."), Action: lifecycle.DeleteSuite},
		},
		"FinishedWithAJobLeft": {
			reason: "A leader that was slow to step down may have started it.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, inState(v1alpha1.Superseded("Over.")))
				o.Job, o.Condition = aJob("self"), v1alpha1.Running("")
			}),
			want: lifecycle.Decision{Condition: v1alpha1.Superseded("Over."), Action: lifecycle.DeleteJob, RequeueAfter: v1alpha1.DefaultTTL + 2*time.Second + time.Minute},
		},
		"FinishedLongAgoWithAJobLeft": {
			reason: "The Job goes first.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, inState(v1alpha1.Superseded("Over.")))
				o.Job, o.Unlabeled, o.Condition = aJob("self"), true, v1alpha1.Running("")
			}),
			after: 2 * v1alpha1.DefaultTTL,
			want:  lifecycle.Decision{Condition: v1alpha1.Superseded("Over."), Action: lifecycle.DeleteJob},
		},
		"FinishedNeverChanges": {
			reason: "Neither a cancel nor a newer run nor another outcome changes an end.",
			o: ready(func(o *observation) {
				o.Suite = aSuite("self", 2, inState(v1alpha1.Passed("Good.")), canceled)
				o.Stream = []*v1alpha1.Suite{newer}
				o.Job, o.Condition = aJob("self"), v1alpha1.Failed("Bad.")
			}),
			after: 2*time.Second + time.Minute,
			want:  lifecycle.Decision{Condition: v1alpha1.Passed("Good."), RequeueAfter: v1alpha1.DefaultTTL},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(tc.o, t0.Add(tc.after))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nDecide: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLostWhileStopped: pods that no node confirms may still run, which the newer run has to say. So the run ends as Error, whether it was
// lost or stopped first, and however far its Job is. Once its pods are known to be gone, it ends as what stopped it says.
func TestLostWhileStopped(t *testing.T) {
	self, newer := aSuite("self", 2, withJob), aSuite("newer", 3)
	lost := v1alpha1.Error("The pod may still be running.")
	causes := map[string]struct {
		suite  *v1alpha1.Suite
		stream []*v1alpha1.Suite
		gone   string // how it ends without the loss
	}{
		"superseded":          {self, []*v1alpha1.Suite{self, newer}, v1alpha1.ReasonSuperseded},
		"canceled":            {aSuite("self", 2, withJob, canceled), nil, v1alpha1.ReasonCanceled},
		"deleted":             {aSuite("self", 2, withJob, deleted), nil, v1alpha1.ReasonCanceled},
		"superseded, as said": {aSuite("self", 2, withJob, supersededByNewer), nil, v1alpha1.ReasonSuperseded},
	}
	jobs := map[string]struct {
		job       *batchv1.Job
		requested time.Time
		done      bool // without the loss
	}{
		"lost first":             {startedJob("self", t0), time.Time{}, false},
		"stopped first":          {startedJob("self", t0), t0.Add(time.Minute), false},
		"the Job was deleted":    {goingJob("self"), time.Time{}, true},
		"stopped, and then that": {goingJob("self"), t0.Add(time.Minute), true},
		"the Job is gone":        {nil, time.Time{}, true},
	}
	for how, cause := range causes {
		for order, tc := range jobs {
			t.Run(how+", "+order, func(t *testing.T) {
				o := lifecycle.Observation{Suite: cause.suite, Stream: cause.stream, Definition: lifecycle.Definition{Trigger: aTrigger()}, Job: tc.job, Stopping: lifecycle.Stopping{GiveUp: time.Minute}}
				o.Condition = v1alpha1.Running("Its pods are stopping.")
				o.Stopping = lifecycle.Stopping{Since: t0, Requested: tc.requested, Lost: lost.Message}
				o.Stopping.PodsLeft = tc.job == nil
				if got := decide(o, t0.Add(time.Hour)); got.Condition != lost || got.Action != lifecycle.Report {
					t.Errorf("with lost pods, it is %q: %s, want Error", got.Condition.Reason, got.Condition.Message)
				}
				o.Stopping.Lost, o.Stopping.Done, o.Stopping.PodsLeft = "", tc.done, false
				if got := decide(o, t0.Add(time.Hour)).Condition.Reason; tc.done && got != cause.gone {
					t.Errorf("without pods, it is %q, want %q", got, cause.gone)
				}
			})
		}
	}
}

func supersededByNewer(s *v1alpha1.Suite) { s.Status.SupersededBy = "newer" }
