package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	lostNode = "lost"

	// podGone is --pod-gone-after.
	podGone = 3 * time.Second
)

// TestNodeLost: the kubelet of a node stops reporting. Some of the runs there are superseded, canceled or time out
// meanwhile. Kubernetes' own controllers detect that the node is lost, and delete the pods, but no kubelet stops them.
// Every run must end, say why, and let its successor start.
func TestNodeLost(t *testing.T) {
	tier.All(t, "it waits until the controllers of Kubernetes know that a node is lost")
	t.Parallel()
	s := apiserver.Own(t, apiserver.Options{})
	s.RunControllers(t, "job-controller,node-lifecycle-controller,taint-eviction-controller,garbage-collector-controller",
		"--node-monitor-period=1s", "--node-monitor-grace-period=6s")
	tm := newTeam(t, s)
	lose := tm.node(lostNode)
	tm.node("other") // if no node is ready, Kubernetes assumes a fault of its own, and evicts no pods
	smoke, hasty := tm.runsOnLostNode()
	r := startLeader(t, s, newProxy(t, s.Manager(t)), "--pod-gone-after="+podGone.String())
	tm.awaitKnown([]*replica{r})

	runs := map[string]string{"out of time": tm.inStream(hasty, "out of time", "out of time")}
	for _, how := range []string{"evicted", "superseded", "canceled", "forced"} {
		runs[how] = tm.inStream(smoke, how, how)
	}
	for _, run := range runs {
		tm.playPod(run)
	}
	lose()
	began := time.Now()
	poll.True(t, "the node is unreachable", tm.isUnreachable)
	successor := tm.inStream(smoke, "newer", "superseded")
	canceled := &v1alpha1.Suite{ObjectMeta: tm.meta(runs["canceled"])}
	tm.update(canceled, func() { canceled.Spec.Cancel = true })
	tm.forceDelete(runs["forced"])
	for how, run := range runs {
		tm.awaitState(run, v1alpha1.ReasonError)
		ended := &v1alpha1.Suite{ObjectMeta: tm.meta(run)}
		tm.get(ended)
		t.Logf("NODE_LOST how=%q ended_after_seconds=%.0f", how, ended.Status.CompletionTime.Sub(began).Seconds())
		want := "may still be running"
		if how == "forced" {
			want = "by hand, by a drain, or with its node"
		}
		if m := meta.FindStatusCondition(ended.Status.Conditions, v1alpha1.ConditionSucceeded).Message; !strings.Contains(m, want) {
			t.Errorf("%s: %q, want %q", how, m, want)
		}
	}
	tm.awaitState(successor, v1alpha1.ReasonRunning)
}

// node is a node that is ready until it is lost.
func (tm *team) node(name string) (lose func()) {
	tm.t.Helper()
	ctx, lose := context.WithCancel(tm.t.Context())
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	tm.create(n)
	go func() {
		for beat := time.Tick(time.Second); ctx.Err() == nil; <-beat {
			patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]}}`,
				time.Now().UTC().Format(time.RFC3339))
			if err := tm.s.Client.Status().Patch(ctx, n, k8sclient.RawPatch(types.MergePatchType, patch)); err != nil && ctx.Err() == nil {
				tm.t.Error(err)
			}
		}
	}()
	return lose
}

func (tm *team) isUnreachable() bool {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: lostNode}}
	tm.get(n)
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable && t.Effect == corev1.TaintEffectNoExecute
	})
}

// runsOnLostNode starts runs of the Trigger on the node, and adds a Trigger with a short timeout.
func (tm *team) runsOnLostNode() (smoke, hasty *v1alpha1.Trigger) {
	tm.t.Helper()
	template := func(t *v1alpha1.Trigger) {
		pod := &t.Spec.JobTemplate.Spec.Template.Spec
		pod.NodeName, pod.TerminationGracePeriodSeconds = lostNode, new(int64(1))
		pod.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(1))}}
	}
	smoke, hasty = tm.trigger("smoke"), tm.trigger("hasty")
	tm.update(smoke, func() { template(smoke) })
	template(hasty)
	hasty.Spec.Match.Branches = []string{"none"} // its run is made by hand
	hasty.Spec.Timeout = &metav1.Duration{Duration: 5 * time.Second}
	tm.create(hasty)
	return smoke, hasty
}

// playPod acts as the kubelet did before the node was lost.
func (tm *team) playPod(run string) {
	tm.t.Helper()
	var pod *corev1.Pod
	poll.True(tm.t, "the pod of "+run, func() bool { pod = tm.podOf(run); return pod != nil })
	tm.updateStatus(pod, func() { fakecluster.RunPod(pod, time.Now()) })
}

// forceDelete deletes the pod as an operator does after the node is lost.
func (tm *team) forceDelete(run string) {
	tm.t.Helper()
	if err := tm.s.Client.Delete(context.Background(), tm.podOf(run), k8sclient.GracePeriodSeconds(0)); err != nil {
		tm.t.Fatal(err)
	}
}

// podOf is nil where the run has no pod.
func (tm *team) podOf(run string) *corev1.Pod {
	tm.t.Helper()
	var pods corev1.PodList
	err := tm.s.Client.List(context.Background(), &pods, k8sclient.InNamespace(tm.namespace), k8sclient.MatchingLabels{v1alpha1.LabelSuite: run})
	if err != nil {
		tm.t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		return nil
	}
	return &pods.Items[0]
}
