package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

var (
	oldCommit = "b776998a" + strings.Repeat("0", 32)
	newCommit = "9c1d2e3f" + strings.Repeat("0", 32)
)

// ready lets a Trigger wait for its version.
func ready(t *v1alpha1.Trigger) *v1alpha1.Trigger {
	t.Spec.Ready = &v1alpha1.Ready{}
	return t
}

// has is an Environment whose workloads of acme/shop are these.
func has(workloads ...v1alpha1.DeployedWorkload) *v1alpha1.Environment {
	e := anEnvironment()
	d := v1alpha1.Deployed{Repository: "acme/shop", SHA: workloads[0].SHA, Ready: new(true), Workloads: workloads}
	for _, w := range workloads {
		e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{Name: w.Name, Repository: "acme/shop"})
		if !w.Ready {
			*d.Ready, d.SHA = false, oldCommit // stays until the rollout is complete
		} else if w.SHA != workloads[0].SHA {
			*d.Ready, d.SHA = false, ""
		}
	}
	e.Generation, e.Status.ObservedGeneration = 3, 3
	e.Status.Deployed = []v1alpha1.Deployed{{Repository: "acme/api", SHA: newCommit, Ready: new(true)}, d}
	return e
}

// ofService makes the workloads of acme/shop those of one service.
func ofService(e *v1alpha1.Environment, name string) *v1alpha1.Environment {
	for i := range e.Spec.Workloads {
		e.Spec.Workloads[i].Service = name
	}
	e.Status.Deployed[1].Service = name
	return e
}

// both has the workloads of two Environments.
func both(e, other *v1alpha1.Environment) *v1alpha1.Environment {
	e.Spec.Workloads = append(e.Spec.Workloads, other.Spec.Workloads...)
	e.Status.Deployed = append(e.Status.Deployed, other.Status.Deployed...)
	return e
}

func rolledOut(name, sha string) v1alpha1.DeployedWorkload {
	return v1alpha1.DeployedWorkload{Kind: "Deployment", Name: name, SHA: sha, Ready: true}
}

func rollingOut(name, sha, message string) v1alpha1.DeployedWorkload {
	return v1alpha1.DeployedWorkload{Kind: "Deployment", Name: name, SHA: sha, Message: message}
}

// ofShop notifies a commit of acme/shop.
func ofShop(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository, s.Spec.Deployment.SHA = "acme/shop", sha }
}

// TestRunAwaitsItsVersion: what keeps a run waiting, which is said, and what does not.
func TestRunAwaitsItsVersion(t *testing.T) {
	const half = "2 of 3 replicas of the Deployment shop have it."
	unread := has(rolledOut("shop", newCommit))
	unread.Generation++
	forbidden := anEnvironment()
	forbidden.Spec.Workloads = []v1alpha1.Workload{{Name: "shop", Repository: "acme/shop"}}
	forbidden.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "The manager may not read it."}}
	nameless := has(rolledOut("shop", newCommit))
	nameless.Spec.Workloads[0].Repository, nameless.Status.Deployed[1].Repository = "", ""
	for name, tc := range map[string]struct {
		reason      string
		environment *v1alpha1.Environment
		sha         string
		change      func(*lifecycle.Observation)
		want        string // how far the version is; empty: the run starts
	}{
		"rolled out":         {reason: "Nothing is missing.", environment: has(rolledOut("shop", newCommit))},
		"a shortened commit": {reason: "A tag names the commit.", environment: has(rolledOut("shop", "9c1d2e3"))},
		"a shortened notice": {reason: "So may the pipeline.", environment: has(rolledOut("shop", newCommit)), sha: "9C1D2E3"},
		"the commit before": {
			reason: "The rollout has not begun.", environment: has(rolledOut("shop", oldCommit)), want: "The Deployment shop has b776998a.",
		},
		"half of the replicas": {
			reason: "Its controller says how far it is.", environment: has(rollingOut("shop", newCommit, half)), want: half,
		},
		"the first of two": {
			reason: "All have to have it.", environment: has(rolledOut("shop", newCommit), rolledOut("worker", oldCommit)),
			want: "The Deployment worker has b776998a.",
		},
		"no commit": {
			reason: "The annotation is missing.", environment: has(rollingOut("shop", "", "")), want: "The Deployment shop names no commit.",
		},
		"a silent rollout": {
			reason: "Not every kind says more.", environment: has(rollingOut("shop", newCommit, "")),
			want: "The Deployment shop is being rolled out.",
		},
		"an object that is gone": {
			reason: "Somebody has to act.", environment: has(rollingOut("shop", "", "There is no Deployment shop.")),
			want: "There is no Deployment shop.",
		},
		"another one comes": {
			reason: "Neither is it.", environment: has(rollingOut("shop", oldCommit, half)), want: "The Deployment shop has b776998a. " + half,
		},
		"many workloads": {
			reason:      "A message has a bound.",
			environment: has(rolledOut("a", oldCommit), rolledOut("b", oldCommit), rolledOut("c", oldCommit), rolledOut("d", oldCommit), rolledOut("e", oldCommit)),
			want:        "The Deployment a has b776998a. The Deployment b has b776998a. The Deployment c has b776998a. And 2 more.",
		},
		"a changed list": {
			reason: "The status is of other workloads.", environment: unread, want: "Its workloads have not been read yet.",
		},
		"no right to read": {
			reason: "Nothing is known at all, and why.", environment: forbidden, want: "The manager may not read it.",
		},
		"no workloads": {reason: "There is nothing to wait for.", environment: anEnvironment()},
		"no repository": {
			reason: "The only one is meant.", environment: has(rolledOut("shop", oldCommit)),
			change: func(o *lifecycle.Observation) { o.Suite.Spec.Deployment.Repository = "" }, want: "The Deployment shop has b776998a.",
		},
		"no repository anywhere": {
			reason: "The only one is meant.", environment: nameless,
			change: func(o *lifecycle.Observation) { o.Suite.Spec.Deployment.Repository = "" },
		},
		"not wanted": {
			reason: "The Trigger says so.", environment: has(rolledOut("shop", oldCommit)),
			change: func(o *lifecycle.Observation) { o.Trigger.Spec.Ready.Workloads = new(false) },
		},
		"not asked for": {
			reason: "By default, runs start at once.", environment: has(rolledOut("shop", oldCommit)),
			change: func(o *lifecycle.Observation) { o.Trigger.Spec.Ready = nil },
		},
		"with a slot": {
			reason: "Nothing is missing.", environment: has(rolledOut("shop", newCommit)),
			change: func(o *lifecycle.Observation) { o.Position = &queue.Position{} },
		},
		"its service": {
			reason:      "The others need not have it.",
			environment: both(ofService(has(rolledOut("cart", newCommit)), "cart"), ofService(has(rolledOut("checkout", oldCommit)), "checkout")),
			change:      func(o *lifecycle.Observation) { o.Suite.Spec.Deployment.Service = "cart" },
		},
		"another service": {
			reason:      "Its own does not have it.",
			environment: both(ofService(has(rolledOut("cart", newCommit)), "cart"), ofService(has(rolledOut("checkout", oldCommit)), "checkout")),
			change:      func(o *lifecycle.Observation) { o.Suite.Spec.Deployment.Service = "checkout" },
			want:        "The Deployment checkout has b776998a.",
		},
		"no service": {
			reason:      "The whole repository is meant.",
			environment: both(ofService(has(rolledOut("cart", newCommit)), "cart"), ofService(has(rolledOut("checkout", oldCommit)), "checkout")),
			want:        "The Deployment checkout has b776998a.",
		},
		"workloads of no service": {
			reason: "They are of all.", environment: has(rolledOut("shop", oldCommit)),
			change: func(o *lifecycle.Observation) { o.Suite.Spec.Deployment.Service = "cart" }, want: "The Deployment shop has b776998a.",
		},
		"a version that is no commit": {
			reason: "Other texts are compared as they are.", environment: has(rolledOut("shop", "v1.2")), sha: "v1.3",
			want: "The Deployment shop has v1.2.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sha := newCommit
			if tc.sha != "" {
				sha = tc.sha
			}
			o := lifecycle.Observation{Suite: aSuite("self", 2, ofShop(sha)), Definition: defined(ready(aTrigger()), tc.environment)}
			if tc.change != nil {
				tc.change(&o)
			}
			d := decide(o, t0)
			if tc.want == "" {
				if d.Action != lifecycle.CreateJob || d.NotRolledOut != "" {
					t.Errorf("%s It does not start: %+v", tc.reason, d)
				}
				return
			}
			if d.NotRolledOut != tc.want || d.Action != lifecycle.Report || d.Condition.Reason != v1alpha1.ReasonQueued ||
				!strings.Contains(d.Condition.Message, " in staging: "+tc.want+" The run ends as Error if that takes longer than 10m.") {
				t.Errorf("%s got %+v\nwant %q", tc.reason, d, tc.want)
			}
		})
	}
}

// TestWhatAwaits: the order of the reasons to wait, and what ends the wait.
func TestWhatAwaits(t *testing.T) {
	waits := lifecycle.Decision{
		Condition: v1alpha1.Queued("Waiting for 9c1d2e3f of acme/shop in staging: 1 of 3 replicas of the Deployment shop have it. " +
			"The run ends as Error if that takes longer than 10m."),
		NotRolledOut: "1 of 3 replicas of the Deployment shop have it.", RequeueAfter: 10 * time.Minute,
	}
	later := func(d lifecycle.Decision, rest time.Duration) lifecycle.Decision {
		d.RequeueAfter, d.Waiting = rest, true
		return d
	}
	behind := has(rollingOut("shop", newCommit, "1 of 3 replicas of the Deployment shop have it."))
	self := aSuite("self", 2, ofShop(newCommit))
	check := " It was notified without a deployment type. If it was deployed elsewhere, send one, and set match.deploymentTypes of the " +
		`Trigger smoke. Check what deploys it, which "postflight environments show staging -n demo" shows, then notify again.`
	for name, tc := range map[string]struct {
		reason string
		change func(*lifecycle.Observation)
		after  time.Duration
		want   lifecycle.Decision
	}{
		"the first time": {reason: "It is written at once, so that others may overtake.", want: waits},
		"again": {
			reason: "Only the message can change.", change: func(o *lifecycle.Observation) { awaiting(t0)(o.Suite) }, after: 4 * time.Minute,
			want: later(waits, 6*time.Minute),
		},
		"until the time is up": {
			reason: "It ends as Error, and says what was seen.", change: func(o *lifecycle.Observation) { awaiting(t0)(o.Suite) }, after: 10 * time.Minute,
			want: lifecycle.Decision{
				Condition:    v1alpha1.Error("In staging, 9c1d2e3f of acme/shop was not complete within 10m: 1 of 3 replicas of the Deployment shop have it." + check),
				NotRolledOut: waits.NotRolledOut,
			},
		},
		"for a rollout that never began": {
			reason: "It says what is there instead.", after: 20 * time.Second,
			change: func(o *lifecycle.Observation) {
				awaiting(t0)(o.Suite)
				o.Environment = has(rolledOut("shop", oldCommit))
				o.Trigger.Spec.Ready.Timeout = &metav1.Duration{Duration: 20 * time.Second}
			},
			want: lifecycle.Decision{
				Condition: v1alpha1.Error("staging has b776998a of acme/shop, not 9c1d2e3f: the rollout did not happen within 20s. " +
					"The Deployment shop has b776998a." + check),
				NotRolledOut: "The Deployment shop has b776998a.",
			},
		},
		"with slots": {
			reason: "It asks for none.", change: func(o *lifecycle.Observation) { o.Team.Spec.MaxConcurrentSuites = 1 }, want: waits,
		},
		"on hold": {
			reason: "The hold counts first, and its time does not count.",
			change: func(o *lifecycle.Observation) {
				o.Environment.Spec.Hold = heldUntil(t0.Add(time.Hour), "", "").Spec.Hold
			},
			want: lifecycle.Decision{Condition: v1alpha1.Queued("Waiting: staging is on hold until 19:00 UTC."), RequeueAfter: time.Hour, OnHold: true, Waiting: true},
		},
		"team suspended": {
			reason: "That time does not count either.", change: func(o *lifecycle.Observation) { o.Team.Spec.Suspended = true },
			want: lifecycle.Decision{Condition: v1alpha1.Queued("The team is suspended; the run starts when it no longer is.")},
		},
		"behind an older run": {
			reason: "Nor does the time in which that stops.", change: func(o *lifecycle.Observation) { o.Stream = []*v1alpha1.Suite{aSuite("older", 1, withJob), self} },
			want: lifecycle.Decision{Condition: v1alpha1.Queued("Waiting for the older run older of the same stream to stop.")},
		},
		"superseded": {
			reason: "As at any time.", change: func(o *lifecycle.Observation) { o.Stream = []*v1alpha1.Suite{self, aSuite("newer", 3)} },
			want: lifecycle.Decision{Condition: v1alpha1.Superseded("Superseded by newer, a newer deployment of the same stream."), SupersededBy: "newer"},
		},
		"canceled": {
			reason: "As at any time.", change: func(o *lifecycle.Observation) { canceled(o.Suite) },
			want: lifecycle.Decision{Condition: v1alpha1.Canceled("Canceled by setting spec.cancel.")},
		},
		"rolled out, without a slot": {
			reason: "The run takes its place in the queue, which is written at once.",
			change: func(o *lifecycle.Observation) {
				awaiting(t0)(o.Suite)
				o.Environment, o.Position = has(rolledOut("shop", newCommit)), &queue.Position{Number: 2, Limit: queue.Limit{Kind: "Trigger", Most: 1}}
			},
			want: lifecycle.Decision{Condition: v1alpha1.Queued("Waiting for a slot, at position 2 in the queue: maxConcurrentSuites of the Trigger smoke is 1."), RolledOut: true},
		},
		"started": {
			reason: "A run that has started continues.", change: func(o *lifecycle.Observation) { o.Job, o.Condition = aJob("self"), v1alpha1.Running("Busy.") },
			want: lifecycle.Decision{Condition: v1alpha1.Running("Busy.")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: self.DeepCopy(), Definition: defined(ready(aTrigger()), behind.DeepCopy())}
			if tc.change != nil {
				tc.change(&o)
			}
			if diff := cmp.Diff(tc.want, decide(o, t0.Add(tc.after))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOnlyWaitingForTheVersionCounts: neither a hold, nor a queue, nor an earlier wait shortens the time limit.
func TestOnlyWaitingForTheVersionCounts(t *testing.T) {
	behind, there := has(rolledOut("shop", oldCommit)), has(rolledOut("shop", newCommit))
	held := behind.DeepCopy()
	held.Spec.Hold = heldUntil(t0.Add(24*time.Hour), "", "").Spec.Hold
	for name, between := range map[string]*v1alpha1.Environment{"on hold": held, "in the queue": there, "no workloads": anEnvironment()} {
		t.Run(name, func(t *testing.T) {
			s, now := aSuite("self", 0, ofShop(newCommit)), t0
			step := func(e *v1alpha1.Environment, passed time.Duration) string {
				now = now.Add(passed)
				o := lifecycle.Observation{Suite: s, Definition: defined(ready(aTrigger()), e), Waiting: lifecycle.Waiting{Position: &queue.Position{Number: 1}}}
				lifecycle.SetStatus(s, o, decide(o, now), now)
				return s.State()
			}
			step(behind, 0)
			if !queue.YieldsSlot(s) {
				t.Error("others may not overtake it")
			}
			step(between, 9*time.Minute)
			if queue.YieldsSlot(s) {
				t.Error("others may overtake it although it waits for something else")
			}
			if state := step(behind, time.Hour); state != v1alpha1.ReasonQueued {
				t.Errorf("afterwards, it is %s: %s", state, s.Succeeded().Message)
			}
			if state := step(behind, 10*time.Minute); state != v1alpha1.ReasonError {
				t.Errorf("after its limit, it is %s", state)
			}
		})
	}
}

// TestMetricsCountFromTheVersion: the status keeps when the wait was over, also in the write that has the Job.
func TestMetricsCountFromTheVersion(t *testing.T) {
	s := aSuite("self", 0, ofShop(newCommit), awaiting(t0), inState(v1alpha1.StoreUnavailable("")), awaiting(t0))
	s.Status.CompletionTime = nil
	o := lifecycle.Observation{Suite: s, Definition: defined(ready(aTrigger()), has(rolledOut("shop", newCommit)))}
	o.Job, o.Condition = aJob("self"), v1alpha1.Starting("It starts.")
	at := t0.Add(time.Minute)
	for _, now := range []time.Time{at, at.Add(time.Minute)} {
		lifecycle.SetStatus(s, o, decide(o, now), now)
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionDeploymentReady)
		if s.AwaitsDeployment() || !c.LastTransitionTime.Time.Equal(at) {
			t.Errorf("%+v, want it to be over at %s", c, at)
		}
	}
}

// TestRunOfAnotherService: the same, if the workloads are of other services.
func TestRunOfAnotherService(t *testing.T) {
	e := ofService(has(rolledOut("cart", newCommit)), "cart")
	o := lifecycle.Observation{Suite: aSuite("self", 2, ofShop(newCommit)), Definition: defined(ready(aTrigger()), e)}
	o.Suite.Spec.Deployment.Service = "search"
	want := "The notification names the service search in acme/shop, and the workloads of staging are of cart, so nothing shows"
	if d := decide(o, t0); d.Condition.Reason != v1alpha1.ReasonError || !strings.Contains(d.Condition.Message, want) {
		t.Errorf("%+v", d)
	}
}

// TestRunOfOtherCode: a run does not wait for the version of a repository that no workload is of, and does not start without it either.
func TestRunOfOtherCode(t *testing.T) {
	for repository, says := range map[string]string{
		"acme/docs": "The notification names the repository acme/docs, and the workloads of staging are of acme/shop",
		"Acme/Shop": "",
	} {
		o := lifecycle.Observation{Suite: aSuite("self", 2, ofShop(newCommit)), Definition: defined(ready(aTrigger()), has(rolledOut("shop", newCommit)))}
		o.Suite.Spec.Deployment.Repository = repository
		d := decide(o, t0)
		if says == "" && d.Action != lifecycle.CreateJob || says != "" && d.Condition.Reason != v1alpha1.ReasonError || !strings.Contains(d.Condition.Message, says) {
			t.Errorf("%s: %+v", repository, d)
		}
	}
}

// TestWaitsForAnotherEnvironment: a Trigger of every deployment type may have been notified of a deployment elsewhere, for which it would wait
// in vain: the messages name the type, and what to set.
func TestWaitsForAnotherEnvironment(t *testing.T) {
	const set = " set match.deploymentTypes of the Trigger smoke."
	typed := func(kind string) func(*lifecycle.Observation) {
		return func(o *lifecycle.Observation) { o.Suite.Spec.Deployment.Type = kind }
	}
	from := func(kind string, origin v1alpha1.Origin) func(*lifecycle.Observation) {
		return func(o *lifecycle.Observation) { o.Suite.Spec.Deployment.Type, o.Suite.Spec.Origin = kind, origin }
	}
	const ofProd = `It was notified with the deployment type "prod". If that is not a deployment to staging,` + set
	for name, tc := range map[string]struct {
		reason      string
		change      func(*lifecycle.Observation)
		waits, late string // that the messages have; empty: nothing of types
	}{
		"another type":  {"it may be of another Environment", typed("prod"), ofProd, ofProd},
		"a rerun of it": {"it waits for the same", from("prod", v1alpha1.OriginRerun), ofProd, ofProd},
		"no type": {"most teams have one Environment, and need no hint while they wait", typed(""), "",
			"It was notified without a deployment type. If it was deployed elsewhere, send one, and" + set},
		"the name of the Environment": {"that is the right one", typed("staging"), "", ""},
		"a rollout":                   {"it is of this Environment", from("prod", v1alpha1.OriginRollout), "", ""},
		"a schedule":                  {"it is of this Environment", from("prod", v1alpha1.OriginSchedule), "", ""},
		"a Trigger with types": {"it asked for this one", func(o *lifecycle.Observation) {
			typed("prod")(o)
			o.Trigger.Spec.Match.DeploymentTypes = []string{"prod"}
		}, "", ""},
		"a type of the sender": {"terminals show it", typed("a\x1b[2Jb"), `"ab"`, `"ab"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: aSuite("self", 2, ofShop(newCommit)), Definition: defined(ready(aTrigger()), has(rolledOut("shop", oldCommit)))}
			tc.change(&o)
			waits := decide(o, t0).Condition
			awaiting(t0)(o.Suite)
			late := decide(o, t0.Add(time.Hour)).Condition
			for want, c := range map[string]metav1.Condition{"waits " + tc.waits: waits, "late " + tc.late: late} {
				_, want, _ = strings.Cut(want, " ")
				if !strings.Contains(c.Message, want) || want == "" && strings.Contains(c.Message, "deployment type") {
					t.Errorf("%s: %s: %s; want %q", tc.reason, c.Reason, c.Message, want)
				}
			}
			if waits.Reason != v1alpha1.ReasonQueued || late.Reason != v1alpha1.ReasonError {
				t.Errorf("it is %s, and then %s", waits.Reason, late.Reason)
			}
		})
	}
}
