package deploymentgate_test

import (
	"net/http"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
)

var onBoth = []v1alpha1.HostingService{v1alpha1.GitHub, v1alpha1.GitLab}

// TestMatrix: whatever happened to the commit, each code host gets the one right decision.
func TestMatrix(t *testing.T) {
	t.Parallel()
	sha, other := build.Commit(1), build.Commit(2)
	day := func(w *gateWorld) { w.Clock.MoveOn(25 * time.Hour); w.wakes() }
	for name, tc := range map[string]struct {
		reason  string
		before  func(*gateWorld)        // the code host asks
		wait    func(*codehost.Waiting) // how
		after   func(*gateWorld)        // it has asked, and a gate waits
		want    string
		message string
	}{
		"passed": {reason: "it is green", before: func(w *gateWorld) { w.passed("a", sha) }, want: approved, message: "passed"},
		"failed": {reason: "it is red", before: func(w *gateWorld) { w.failed("a", sha) }, want: rejected, message: "failed"},
		"running, then passed": {
			reason: "the gate waits for it", before: func(w *gateWorld) { w.run("a", sha) }, after: func(w *gateWorld) { w.Passes("a") },
			want: approved, message: "passed",
		},
		"running, then failed": {
			reason: "the gate waits for it", before: func(w *gateWorld) { w.run("a", sha) }, after: func(w *gateWorld) { w.Exits("a", 1) },
			want: rejected, message: "failed",
		},
		"running until the timeout": {
			reason: "it may never end", before: func(w *gateWorld) { w.run("a", sha) }, after: day, want: rejected, message: "not ended",
		},
		"none": {reason: "nothing was tested", after: day, want: rejected, message: "No run of 11111111 on staging is known"},
		"none, then passed": {
			reason: "the notification comes later than the question", after: func(w *gateWorld) { w.passed("a", sha) },
			want: approved, message: "passed",
		},
		"stale": {
			reason: "it is too old",
			before: func(w *gateWorld) {
				w.passed("a", sha)
				w.Change(build.Environment("staging"), func(o client.Object) {
					o.(*v1alpha1.Environment).Spec.Gate = &v1alpha1.GateRule{MaxAge: &metav1.Duration{Duration: time.Hour}}
				})
				w.Clock.MoveOn(2 * time.Hour)
			}, want: rejected, message: "stale",
		},
		"withdrawn": {
			reason: "a later run failed",
			before: func(w *gateWorld) { w.passed("a", sha); w.failed("b", sha, attempt(2)) }, want: rejected, message: "failed in a later run",
		},
		"another commit is green": {
			reason: "it says nothing about this one", before: func(w *gateWorld) { w.passed("a", other); w.failed("b", sha) },
			want: rejected, message: "failed",
		},
		"of a fork": {
			reason: "anyone can push there", before: func(w *gateWorld) { w.passed("a", sha) },
			wait: func(q *codehost.Waiting) { q.HeadRepository, q.Ref = "mallory/shop", "refs/merge-requests/7/merge" },
			want: rejected, message: "fork",
		},
	} {
		for _, kind := range onBoth {
			t.Run(name+" on "+string(kind), func(t *testing.T) {
				t.Parallel()
				w := newGateWorld(t)
				if tc.before != nil {
					tc.before(w)
				}
				q := w.waits(kind, sha, func(q *codehost.Waiting) {
					if tc.wait != nil {
						tc.wait(q)
					}
				})
				review := w.asks(q, 1, 1)
				if tc.after != nil {
					w.waitsFor(review, v1alpha1.ConditionDecided, "Waiting", "")
					tc.after(w)
				}
				w.isTold(q, review, tc.want, tc.message)
			})
		}
	}
}

func attempt(n int32) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Attempt = n }
}

// TestNeverApproved: a green commit is not enough.
func TestNeverApproved(t *testing.T) {
	t.Parallel()
	sha := build.Commit(1)
	gateSpec := func(w *gateWorld, change func(*v1alpha1.DeploymentGateSpec)) {
		for name, secret := range map[string]string{"production": gitHubSecret, "lab": gitLabSecret} {
			w.Change(gateOf(name, "", secret), func(o client.Object) { change(&o.(*v1alpha1.DeploymentGate).Spec) })
		}
	}
	for name, tc := range map[string]struct {
		change  func(*gateWorld)
		message string
		late    bool // only after a while
	}{
		"the team is suspended": {change: func(w *gateWorld) {
			w.Change(build.Team(w.NS, ""), func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = true })
		}, message: "suspended"},
		"an Environment is missing": {change: func(w *gateWorld) {
			gateSpec(w, func(g *v1alpha1.DeploymentGateSpec) {
				g.Requires = append(g.Requires, v1alpha1.GateRequirement{Environment: "lost"})
			})
		}, message: "The Environment lost"},
		"no Trigger is left": {change: func(w *gateWorld) {
			w.Create(build.Environment("empty"))
			gateSpec(w, func(g *v1alpha1.DeploymentGateSpec) { g.Requires = []v1alpha1.GateRequirement{{Environment: "empty"}} })
		}, message: "No Trigger"},
		"the source lists other repositories": {change: func(w *gateWorld) {
			for _, name := range []string{"github", "gitlab"} {
				w.Change(source(name, ""), func(o client.Object) { o.(*v1alpha1.EventSource).Spec.Repositories = []string{"acme/docs"} })
			}
		}, message: "does not list the repository"},
		"the source is not Ready": {change: func(w *gateWorld) {
			w.Delete(build.In(w.NS, build.Secret(eventSecret, nil)))
			for _, name := range []string{"github", "gitlab"} {
				w.Change(source(name, ""), func(o client.Object) { o.(*v1alpha1.EventSource).Spec.Secret.Key = "lost" })
			}
			for _, name := range []string{"production", "lab"} {
				w.HasCondition(build.In(w.NS, gateOf(name, "", "")), v1alpha1.ConditionReady, "SourceNotReady", "")
			}
		}, message: "is not Ready", late: true},
	} {
		for _, kind := range onBoth {
			t.Run(name+" on "+string(kind), func(t *testing.T) {
				t.Parallel()
				w := newGateWorld(t)
				w.passed("a", sha)
				q := w.waits(kind, sha)
				tc.change(w)
				review := w.asks(q, 1, 1)
				if tc.late {
					w.waitsFor(review, v1alpha1.ConditionDecided, "Waiting", tc.message)
					w.Clock.MoveOn(time.Hour)
					w.wakes()
				}
				w.isTold(q, review, rejected, tc.message)
			})
		}
	}
}

// TestAnotherCommit: what the code host runs decides, not what an event says.
func TestAnotherCommit(t *testing.T) {
	t.Parallel()
	w := newGateWorld(t)
	w.passed("a", build.Commit(1))
	for _, kind := range onBoth {
		q := w.waits(kind, build.Commit(2))
		forged := q
		forged.SHA = build.Commit(1)
		w.isTold(q, w.asks(forged, 1, 1), rejected, "another commit")
	}
}

// TestAskedAgain: ten deliveries to each of two replicas are one question, and a job that runs again is another one.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	w := newGateWorld(t)
	w.failed("a", build.Commit(1))
	for _, kind := range onBoth {
		q := w.waits(kind, build.Commit(1))
		name := w.asks(q, 2, 10)
		w.isTold(q, name, rejected, "failed")
		w.asks(q, 2, 10)
		w.isTold(q, name, rejected, "failed")
	}
	w.Clock.MoveOn(2 * time.Second) // of two ends in one second, the worse counts
	w.passed("b", build.Commit(1), attempt(2))
	for _, kind := range onBoth {
		q := w.waits(kind, build.Commit(1))
		w.isTold(q, w.asks(q, 2, 10), approved, "passed")
	}
}

var decisionPath = map[v1alpha1.HostingService]string{v1alpha1.GitHub: "/deployment_protection_rule", v1alpha1.GitLab: "/approval"}

// TestFaults: whatever a code host does with a decision, it gets one.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault   codehost.Fault
		says    string // the condition meanwhile; empty: it may be too short
		recover bool   // the fault does not end by itself
	}{
		"fails three times":             {fault: codehost.Fault{Status: 500, Times: 3}},
		"fails until it is repaired":    {fault: codehost.Fault{Status: 500}, says: "failed (500)", recover: true},
		"asks to wait":                  {fault: codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "1"}, Body: `{"message":"Forbidden"}`, Times: 1}},
		"refuses the credentials":       {fault: codehost.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}, says: "replace them", recover: true},
		"refuses the right":             {fault: codehost.Fault{Status: 403, Body: `{"message":"Resource not accessible"}`}, says: "does not allow", recover: true},
		"hangs":                         {fault: codehost.Fault{}, recover: true},
		"takes it and loses the answer": {fault: codehost.Fault{Reset: true, Handled: true, Times: 1}},
		"takes it and fails":            {fault: codehost.Fault{Status: 502, Handled: true, Times: 2}},
	} {
		for _, kind := range onBoth {
			t.Run(name+" on "+string(kind), func(t *testing.T) {
				t.Parallel()
				w := newGateWorld(t)
				w.passed("a", build.Commit(1))
				q := w.waits(kind, build.Commit(1))
				fault := tc.fault
				fault.Path = decisionPath[kind]
				q.host.Fail(&fault)
				review := w.asks(q, 1, 1)
				if tc.recover {
					w.isTried(review)
				}
				if tc.says != "" {
					w.waitsFor(review, v1alpha1.ConditionDelivered, "NotDelivered", tc.says)
				}
				if tc.recover {
					q.host.Fail(nil)
					q.host.CloseClientConnections()
					w.Clock.MoveOn(time.Hour)
					w.wakes()
				}
				w.isTold(q, review, approved, "passed")
			})
		}
	}
}

// isTried waits until a decision was stored, with an attempt to send it.
func (w *gateWorld) isTried(name string) {
	w.T.Helper()
	r := &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	w.Await("the decision is sent", r, func() bool { return r.Status.Decision != nil && r.Status.Attempts > 0 })
}

// TestManagerIsReplaced while the code host has a decision that it may take or not: the next leader sends the same, or finds it taken.
func TestManagerIsReplaced(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]codehost.Fault{"before it is taken": {}, "after it is taken": {Handled: true}} {
		for _, kind := range onBoth {
			t.Run(name+" on "+string(kind), func(t *testing.T) {
				t.Parallel()
				w := newGateWorld(t)
				w.passed("a", build.Commit(1))
				q := w.waits(kind, build.Commit(1))
				fault.Path = decisionPath[kind]
				q.host.Fail(&fault)
				review := w.asks(q, 1, 1)
				w.isTried(review)
				w.Eventually("the decision is on its way", func() string {
					if fault.Handled && len(q.host.Decisions(q.id)) == 0 {
						return "it is not taken"
					}
					return ""
				})
				w.Stop()
				q.host.Fail(nil)
				w.StartManager()
				w.isTold(q, review, approved, "passed")
			})
		}
	}
}

// TestWithdrawnBeforeItIsSent: an approval that was not delivered becomes a rejection.
func TestWithdrawnBeforeItIsSent(t *testing.T) {
	t.Parallel()
	for _, kind := range onBoth {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newGateWorld(t)
			w.passed("a", build.Commit(1))
			q := w.waits(kind, build.Commit(1))
			q.host.Fail(&codehost.Fault{Status: http.StatusServiceUnavailable, Path: decisionPath[kind]})
			review := w.asks(q, 1, 1)
			w.isTried(review)
			if d := w.reviewNamed(review).Status.Decision; d.State != v1alpha1.ReviewApproved {
				t.Fatalf("stored: %+v", d)
			}
			w.failed("b", build.Commit(1), attempt(2))
			q.host.Fail(nil)
			w.Clock.MoveOn(time.Hour)
			w.wakes()
			w.isTold(q, review, rejected, "was approved, but")
		})
	}
}

// TestStopped: a deployment that was stopped gets no decision.
func TestStopped(t *testing.T) {
	t.Parallel()
	w := newGateWorld(t)
	for i, kind := range onBoth {
		sha := build.Commit(i + 1)
		name := "run-" + string(rune('a'+i))
		w.run(name, sha)
		q := w.waits(kind, sha)
		review := w.asks(q, 1, 1)
		w.waitsFor(review, v1alpha1.ConditionDecided, "Waiting", "not ended")
		q.host.Stop(q.id)
		w.Clock.MoveOn(2 * time.Minute)
		w.Passes(name)
		if r := w.ends(review); r.Status.Decision != nil || len(q.host.Decisions(q.id)) != 0 {
			t.Errorf("%s: %+v %+v", kind, r.Status, q.host.Decisions(q.id))
		}
	}
}

// TestProgress: GitHub shows what is waited for, once.
func TestProgress(t *testing.T) {
	t.Parallel()
	w := newGateWorld(t)
	q := w.waits(v1alpha1.GitHub, build.Commit(1))
	review := w.asks(q, 1, 1)
	w.waitsFor(review, v1alpha1.ConditionDecided, "Waiting", "No run")
	w.run("a", build.Commit(1))
	w.waitsFor(review, v1alpha1.ConditionDecided, "Waiting", "not ended")
	w.Passes("a")
	w.isTold(q, review, approved, "passed")
	if got := q.host.Progress(q.id); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestBlockedDeploymentsAreFound: older versions of GitLab send no event.
func TestBlockedDeploymentsAreFound(t *testing.T) {
	t.Parallel()
	w := newGateWorld(t, func(w *gateWorld) {
		w.waits(v1alpha1.GitLab, build.Commit(2), func(q *codehost.Waiting) { q.Manual = true })
	})
	w.passed("a", build.Commit(1))
	q := w.waits(v1alpha1.GitLab, build.Commit(1))
	w.Stop()
	w.StartManager() // which looks at once
	w.Eventually("the deployment is approved", func() string {
		if len(q.host.Decisions(q.id)) == 1 {
			return ""
		}
		return "not yet"
	})
	list := &v1alpha1.DeploymentReviewList{}
	w.List(list, client.InNamespace(w.NS))
	if len(list.Items) != 1 {
		t.Errorf("a manual job needs no review: %+v", list.Items)
	}
}

// TestEndedReviewsAreDeleted: a review shows for a week what was decided.
func TestEndedReviewsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newGateWorld(t)
	w.failed("a", build.Commit(1))
	q := w.waits(v1alpha1.GitHub, build.Commit(1))
	name := w.asks(q, 1, 1)
	w.isTold(q, name, rejected, "failed")
	w.Stop()
	w.Clock.MoveOn(6 * 24 * time.Hour)
	w.StartManager()
	w.Stop()
	w.reviewNamed(name)
	w.Clock.MoveOn(2 * 24 * time.Hour)
	w.StartManager()
	w.Gone(&v1alpha1.DeploymentReview{}, name)
}
