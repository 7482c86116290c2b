package replicas

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestReviews: GitHub asks two replicas ten times each whether a deployment may begin. The leader is killed while its decision is on the way,
// before GitHub has taken it, or after that. The other replica sends the same one, or finds it taken: GitHub has one decision.
func TestReviews(t *testing.T) {
	s := apiserver.Alone(t)
	tm, fake, folder := newTeam(t, s), codehost.GitHub(t), t.TempDir()
	startCluster(t, s)
	systemNamespace(t, s)
	freeLead(t, s)
	for name, content := range map[string][]byte{"key.pem": codehost.AppKey(), "webhook": []byte(ofTheApp + "\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tm.wantsEvents()
	tm.create(&v1alpha1.DeploymentGate{ObjectMeta: tm.meta("production"), Spec: v1alpha1.DeploymentGateSpec{
		Source: "app", Environments: v1alpha1.NamePatterns{"production"}, Requires: []v1alpha1.GateRequirement{{Environment: "staging"}},
	}})
	kubeconfig := newProxy(t, s.Manager(t)).kubeconfig()
	replicas := map[string]*replica{}
	var all []*replica
	for _, name := range []string{"a", "b"} {
		replicas[name] = startReplica(t, kubeconfig, "--replica-name="+name, "--leader-elect-lease-duration="+testLease.String(),
			"--github-url="+fake.URL, fmt.Sprintf("--github-app-id=%d", codehost.AppID),
			"--github-app-key-file="+filepath.Join(folder, "key.pem"), "--github-webhook-secret-file="+filepath.Join(folder, "webhook"))
		all = append(all, replicas[name])
	}
	for _, r := range all {
		r.AwaitReady()
	}
	tm.awaitKnown(all)
	tm.awaitSources(all)
	gate := &v1alpha1.DeploymentGate{ObjectMeta: tm.meta("production")}
	poll.Until(t, "the gate is Ready", func() string {
		if tm.get(gate); !meta.IsStatusConditionTrue(gate.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Sprintf("%+v", gate.Status)
		}
		return ""
	})
	// GitHub says when something was deployed in whole seconds: what was notified in the same one would count as later.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	tested := tm.deliver(all, "/api/events/github", codehost.DeploymentEvent(tm.repository(), goodCommit, "staging", 1))
	run := tested[0].Results[0].RunID()
	tm.awaitState(run, v1alpha1.ReasonRunning)
	tm.complete(run)
	tm.awaitState(run, v1alpha1.ReasonPassed)

	for id, fault := range []codehost.Fault{{}, {Handled: true}} {
		waiting := fake.Wait(codehost.Waiting{Repository: tm.repository(), Environment: "production", SHA: goodCommit, RunID: int64(id) + 7})
		fault.Path = "/deployment_protection_rule"
		fake.Fail(&fault)
		review := &v1alpha1.DeploymentReview{}
		for _, got := range tm.deliver(all, "/api/events/github", waiting.Event()) {
			if got.Review == "" || review.Name != "" && got.Review != review.Name {
				t.Fatalf("%+v, want one review, %s", got, review.Name)
			}
			review.ObjectMeta = tm.meta(got.Review)
		}
		poll.Until(t, "the decision is on the way", func() string {
			if tm.get(review); review.Status.Attempts == 0 || fault.Handled && len(fake.Decisions(waiting.RunID)) == 0 {
				return fmt.Sprintf("%+v", review.Status)
			}
			return ""
		})
		leader := replicas[tm.holder()]
		leader.Kill()
		fake.Fail(nil)
		poll.Until(t, "the decision is delivered", func() string {
			if tm.get(review); !review.Ended() {
				return fmt.Sprintf("%+v", review.Status)
			}
			return ""
		})
		if got := fake.Decisions(waiting.RunID); len(got) != 1 || got[0].State != "approved" || review.Status.Decision.State != v1alpha1.ReviewApproved {
			t.Errorf("GitHub has %+v, and the review %+v", got, review.Status)
		}
		leader.Start()
		leader.AwaitReady()
	}
}

// holder is the name of the replica that leads.
func (tm *team) holder() string {
	tm.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight"}}
	tm.get(lease)
	if lease.Spec.HolderIdentity == nil {
		tm.t.Fatal("no replica leads")
	}
	return *lease.Spec.HolderIdentity
}
