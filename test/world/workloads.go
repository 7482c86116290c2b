package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	deployedcontroller "github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/build"
)

// Reasons of the Ready condition of Environments, and the ClusterRole that allows to read workloads.
const (
	WorkloadsRead    = "WorkloadsRead"
	WorkloadsUnknown = "WorkloadsUnknown"
	WorkloadsReader  = "postflight-workloads-reader"
)

// RollsOut acts as the Deployment controller and the kubelet: a pod of the newest revision replaces others.
func (w *World) RollsOut(d *appsv1.Deployment) {
	w.T.Helper()
	w.Must(w.Client.DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace(d.Namespace),
		client.MatchingLabels(d.Spec.Selector.MatchLabels), client.GracePeriodSeconds(0)))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: d.Name + "-", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
	w.Create(p)
	w.Status(p, func() {
		digest := strings.Repeat(d.Annotations["deployment.kubernetes.io/revision"], 64)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", ImageID: "registry.example.com/shop@sha256:" + digest}}
	})
	w.Status(d, func() {
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
	})
}

// NamesWorkloads gives an Environment these workloads, and no others.
func (w *World) NamesWorkloads(e *v1alpha1.Environment, workloads ...v1alpha1.Workload) {
	w.T.Helper()
	w.Change(e, func(o client.Object) { o.(*v1alpha1.Environment).Spec.Workloads = workloads })
}

// HasDeployed waits until the commit of the first repository of an Environment, whether it is ready, its message and its digests
// begin so.
func (w *World) HasDeployed(e *v1alpha1.Environment, begins string) {
	w.T.Helper()
	w.Eventually("the Environment "+e.Name+" has "+begins, func() string {
		w.Read(e)
		if len(e.Status.Deployed) == 0 || e.Status.Deployed[0].Ready == nil {
			return "nothing of workloads"
		}
		d := e.Status.Deployed[0]
		is := fmt.Sprintf("%s %t %s", d.SHA, *d.Ready, d.Message)
		for _, of := range d.Workloads[0].Digests {
			is += of.Digest
		}
		if !strings.HasPrefix(is, begins) {
			return is
		}
		return ""
	})
}

// Notifier is the Notifier of rollouts. It takes down what it is called with.
type Notifier struct {
	mu     sync.Mutex
	rings  []Notified
	answer func(ctx context.Context, number int) bool // numbers count from 1; nil: it succeeds
}

// Notified is a rollout.
type Notified struct{ sha, Key string }

// Notify succeeds for the Environment staging, unless Answers says otherwise.
func (b *Notifier) Notify(
	ctx context.Context, team *v1alpha1.Team, n *notification.Notification, r deployedcontroller.Rollout,
) (deployedcontroller.Outcome, bool) {
	b.mu.Lock()
	b.rings = append(b.rings, Notified{n.SHA, r.Key})
	number, answer := len(b.rings), b.answer
	b.mu.Unlock()
	if team == nil || r.Environment != "staging" {
		return deployedcontroller.Outcome{}, false
	}
	return deployedcontroller.Outcome{Started: []string{fmt.Sprintf("run-%d", number)}}, answer == nil || answer(ctx, number)
}

// Answers sets what the next calls return.
func (b *Notifier) Answers(answer func(ctx context.Context, number int) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// All is what it was called with, in order.
func (b *Notifier) All() []Notified {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rings)
}

// Commits is what was notified, in order.
func (b *Notifier) Commits() (all []string) {
	for _, r := range b.All() {
		all = append(all, r.sha)
	}
	return all
}

// RollsOutCommit rolls out a commit of Commit, a minute after what was before.
func (w *World) RollsOutCommit(d *appsv1.Deployment, n int) {
	w.T.Helper()
	w.Clock.MoveOn(time.Minute)
	w.Change(d, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(n)) })
	w.RollsOut(d)
}
