package suite_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// The Suites of most tests, in the order of their receipt.
var older, self, newer = aSuite("older", 1), aSuite("self", 2), aSuite("newer", 3)

type observation = suite.Observation

type decideCase struct {
	reason string
	o      observation
	after  time.Duration // since t0
	want   suite.Decision
}

// ready observes a run that may start, apart from the change.
func ready(change func(*observation)) observation {
	o := observation{Suite: self, Trigger: aTrigger(), Environment: anEnvironment(), Team: aTeam()}
	change(&o)
	return o
}

func TestDecide(t *testing.T) {
	for name, tc := range decideCases {
		t.Run(name, func(t *testing.T) { tc.check(t) })
	}
}

func (tc decideCase) check(t *testing.T) {
	got := suite.Decide(tc.o, t0.Add(tc.after))
	if diff := cmp.Diff(tc.want, got); diff != "" {
		t.Errorf("%s\nDecide: -want +got\n%s", tc.reason, diff)
	}
}

var decideCases = map[string]decideCase{
	"Start": {
		reason: "Nothing is in the way.",
		o:      ready(func(*observation) {}),
		want:   suite.Decision{Action: suite.CreateJob},
	},
	"StartAgainAfterACrash": {
		reason: "An earlier status is not believed over what exists.",
		o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, in(v1alpha1.Running("The Job is being created."))) }),
		want:   suite.Decision{Action: suite.CreateJob},
	},
	"OnlyItselfInTheStream": {
		reason: "A Suite does not wait for itself.",
		o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{self} }),
		want:   suite.Decision{Action: suite.CreateJob},
	},
	"OlderUnfinished": {
		reason: "Two runs of a stream never share the environment.",
		o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{older, self} }),
		want:   suite.Decision{Condition: v1alpha1.Queued("Waiting for the older run older of the same stream to stop.")},
	},
	"OlderFinished": {
		reason: "What has ended is not waited for.",
		o: ready(func(o *observation) {
			o.Stream = []*v1alpha1.Suite{aSuite("older", 1, in(v1alpha1.Failed("")))}
		}),
		want: suite.Decision{Action: suite.CreateJob},
	},
	"SupersededBeforeItsStart": {
		reason: "A run that never started ends at once.",
		o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{older, self, newer} }),
		want: suite.Decision{
			Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
			SupersededBy: "newer",
		},
	},
	"SupersededByAFinishedOne": {
		reason: "The newest supersedes the older ones even once it has ended.",
		o: ready(func(o *observation) {
			o.Stream = []*v1alpha1.Suite{aSuite("newer", 3, in(v1alpha1.Passed("")))}
		}),
		want: suite.Decision{
			Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
			SupersededBy: "newer",
		},
	},
	"SupersededWhileRunning": {
		reason: "The Job goes first; the run has ended only when its pods are gone.",
		o: ready(func(o *observation) {
			o.Stream = []*v1alpha1.Suite{self, newer}
			o.Job, o.Progress = aJob("self"), v1alpha1.Running("")
		}),
		want: suite.Decision{
			Action:       suite.DeleteJob,
			Condition:    v1alpha1.Running("Superseded by newer, a newer deployment of the same stream. Stopping its pods."),
			SupersededBy: "newer",
		},
	},
	"SupersededWhileStopping": {
		reason: "A Job that is being deleted is not deleted again.",
		o: ready(func(o *observation) {
			o.Stream = []*v1alpha1.Suite{self, newer}
			o.Job, o.Progress = goingJob("self"), v1alpha1.Running("")
		}),
		want: suite.Decision{
			Condition:    v1alpha1.Running("Superseded by newer, a newer deployment of the same stream. Stopping its pods."),
			SupersededBy: "newer",
		},
	},
	"SupersededAndStopped": {
		reason: "The deletion of its Job was requested, and is no error.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, withJob)
			o.Stream = []*v1alpha1.Suite{self, newer}
		}),
		want: suite.Decision{
			Condition:    v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."),
			SupersededBy: "newer",
		},
	},
	"PassedBeforeItWasSuperseded": {
		reason: "An outcome that is there is kept.",
		o: ready(func(o *observation) {
			o.Stream = []*v1alpha1.Suite{self, newer}
			o.Job, o.Progress = aJob("self"), v1alpha1.Passed("All good.")
		}),
		want: suite.Decision{Condition: v1alpha1.Passed("All good.")},
	},
	"SameInstant": {
		reason: "The name breaks the tie, the same way in every replica.",
		o:      ready(func(o *observation) { o.Stream = []*v1alpha1.Suite{aSuite("zzz", 2)} }),
		want: suite.Decision{
			Condition:    v1alpha1.Superseded("Superseded by zzz, a newer deployment of the same stream."),
			SupersededBy: "zzz",
		},
	},
	"CanceledWhileQueued": {
		reason: "A queued run is canceled at once.",
		o: ready(func(o *observation) {
			o.Suite, o.QueuePosition = aSuite("self", 2, canceled), new(3)
		}),
		want: suite.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
	},
	"CanceledBySomebody": {
		reason: "The message names who canceled the run, if known.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, canceled, func(s *v1alpha1.Suite) {
				s.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: "ada@example.com"}
			})
		}),
		want: suite.Decision{Condition: v1alpha1.Canceled("Canceled by ada@example.com.")},
	},
	"CanceledWhileRunning": {
		reason: "The Job goes first.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, canceled, withJob)
			o.Job, o.Progress = aJob("self"), v1alpha1.Running("")
		}),
		want: suite.Decision{Action: suite.DeleteJob, Condition: v1alpha1.Running("Canceled by setting spec.cancel. Stopping its pods.")},
	},
	"Running": {
		reason: "What the Job says is what the Suite says.",
		o:      ready(func(o *observation) { o.Job, o.Progress = aJob("self"), v1alpha1.Running("Pulling its image.") }),
		want:   suite.Decision{Condition: v1alpha1.Running("Pulling its image.")},
	},
	"RunningWithoutATrigger": {
		reason: "A Trigger that is deleted does not end the runs it started.",
		o: ready(func(o *observation) {
			o.Trigger, o.Environment = nil, nil
			o.Job, o.Progress = aJob("self"), v1alpha1.Running("Busy.")
		}),
		after: time.Hour,
		want:  suite.Decision{Condition: v1alpha1.Running("Busy.")},
	},
	"JobDeletedByOthers": {
		reason: "Ends in an error, not in a hang and not in a second Job.",
		o:      ready(func(o *observation) { o.Suite = aSuite("self", 2, withJob) }),
		want: suite.Decision{Condition: v1alpha1.Error(
			"The Job self was deleted before it ended. Notify again, or create another Suite, to repeat the run.")},
	},
	"JobDeletedBeforeItsPods": {
		reason: "Its successor must not start beside pods that are still stopping.",
		o:      ready(func(o *observation) { o.Suite, o.PodsLeft = aSuite("self", 2, withJob), true }),
		want: suite.Decision{
			Missing: `Job "self"`,
			Condition: v1alpha1.Running("The Job self was deleted before it ended. Notify again, or create another Suite, to repeat the run. " +
				"Stopping its pods: kubectl get pods -n demo -l postflight.dev/suite=self"),
			RequeueAfter: 2 * time.Second,
		},
	},
	"SupersededAndDeletedBeforeItsPods": {
		reason: "Nor is a superseded run at its end while its pods are not.",
		o: ready(func(o *observation) {
			o.Suite, o.PodsLeft = aSuite("self", 2, withJob), true
			o.Stream = []*v1alpha1.Suite{self, newer}
		}),
		want: suite.Decision{
			Missing: `Job "self"`,
			Condition: v1alpha1.Running("Superseded by newer, a newer deployment of the same stream. " +
				"Stopping its pods: kubectl get pods -n demo -l postflight.dev/suite=self"),
			SupersededBy: "newer",
			RequeueAfter: 2 * time.Second,
		},
	},
	"Suspended": {
		reason: "No run of a suspended team starts.",
		o:      ready(func(o *observation) { o.Team.Spec.Suspended = true }),
		want:   suite.Decision{Condition: v1alpha1.Queued("The team is suspended; the run starts when it no longer is.")},
	},
	"InTheQueue": {
		reason: "A queued run says its place.",
		o:      ready(func(o *observation) { o.QueuePosition = new(3) }),
		want:   suite.Decision{Condition: v1alpha1.Queued("Waiting for a slot, at place 3 of the queue.")},
	},
	"FarBackInTheQueue": {
		reason: "A place far back is not worth a write whenever it changes.",
		o:      ready(func(o *observation) { o.QueuePosition = new(21) }),
		want:   suite.Decision{Condition: v1alpha1.Queued("Waiting for a slot, with more than 20 runs ahead.")},
	},
	"TriggerNotThereYet": {
		reason: "A commit is applied object by object, and a cache may be behind.",
		o:      ready(func(o *observation) { o.Trigger = nil }),
		after:  10 * time.Second,
		want: suite.Decision{
			Missing:      `Trigger "smoke"`,
			Condition:    v1alpha1.Queued(`Waiting for the Trigger "smoke", which does not exist.`),
			RequeueAfter: 5 * time.Second,
		},
	},
	"EnvironmentReplaced": {
		reason: "What was there until now may come back, however long the run was queued.",
		o:      ready(func(o *observation) { o.Environment = nil }),
		after:  time.Hour,
		want: suite.Decision{
			Missing:      `Environment "staging"`,
			Condition:    v1alpha1.Queued(`Waiting for the Environment "staging", which does not exist.`),
			RequeueAfter: 5 * time.Second,
		},
	},
	"EnvironmentNeverThere": {
		reason: "The wait for a missing object ends.",
		o:      ready(func(o *observation) { o.Suite, o.Environment = aSuite("self", 2, missing(t0)), nil }),
		after:  time.Minute,
		want: suite.Decision{Condition: v1alpha1.Error(
			`The Environment "staging" does not exist. Create it and notify again.`)},
	},
	"TriggerRecreated": {
		reason: "The notification did not match this Trigger, which merely has the same name.",
		o: ready(func(o *observation) {
			o.Suite, o.Trigger, o.Recreated = aSuite("self", 2, missing(t0)), nil, true
		}),
		after: time.Minute,
		want: suite.Decision{Condition: v1alpha1.Error(
			`The Trigger "smoke" was deleted and recreated after this notification. Notify again.`)},
	},
	"NoTeam": {
		reason: "Without exactly one Team it is unknown which limits count.",
		o:      ready(func(o *observation) { o.Team = nil }),
		want: suite.Decision{Condition: v1alpha1.Queued(`Waiting for the namespace "demo" to belong to exactly one Team. ` +
			"Create the Team, or correct spec.namespace of the Teams that claim it.")},
	},
	"CanceledByAnything": {
		reason: "The name of who canceled is untrusted text.",
		o: ready(func(o *observation) {
			o.Suite = aSuite("self", 2, canceled)
			o.Suite.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: "\x1b]0;owned\x07me\n\x00you"}
		}),
		want: suite.Decision{Condition: v1alpha1.Canceled("Canceled by me; you.")},
	},
}
