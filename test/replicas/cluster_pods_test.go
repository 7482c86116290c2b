package replicas

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/history"
)

func podMeta(j *batchv1.Job) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: j.Namespace, Name: j.Name + "-pod", Labels: j.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}
}

func (f *fakeCluster) createPod(ctx context.Context, j *batchv1.Job) error {
	p := &corev1.Pod{ObjectMeta: podMeta(j), Spec: *j.Spec.Template.Spec.DeepCopy()}
	p.Spec.NodeName = nodeOf(j)
	if err := f.c.Create(ctx, p); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return f.status(ctx, p, func() {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = containerStatus(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	})
}

func containerStatus(state corev1.ContainerState) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{Name: "test", Image: "test", ImageID: "test", State: state}}
}

func (f *fakeCluster) endPod(ctx context.Context, j *batchv1.Job, exit int32) error {
	p := &corev1.Pod{ObjectMeta: podMeta(j)}
	return f.status(ctx, p, func() {
		p.Status.Phase = corev1.PodSucceeded
		if exit != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses = containerStatus(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, FinishedAt: metav1.Now()}})
	})
}

// loseNode stops the kubelet of a node: the runs whose tests are there neither end nor report any more. It returns how many
// they are.
func (f *fakeCluster) loseNode(node string) (lost int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.runs {
		if p.node == node && !p.began.IsZero() && p.end == history.NotRun {
			p.end = history.Lost
			lost++
		}
	}
	return lost
}

// loseJob acts as the controllers of Kubernetes once a node is lost: they delete its pods, which no kubelet stops, and fail
// their Jobs.
func (f *fakeCluster) loseJob(ctx context.Context, j *batchv1.Job) error {
	err := f.c.Delete(ctx, &corev1.Pod{ObjectMeta: podMeta(j)}, k8sclient.GracePeriodSeconds(1))
	if k8sclient.IgnoreNotFound(err) != nil || j.Status.Terminating != nil {
		return err
	}
	return f.status(ctx, j, func() {
		j.Status.Active, j.Status.Ready, j.Status.Terminating = 0, new(int32(0)), new(int32(1))
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
			Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue,
			Reason: batchv1.JobReasonBackoffLimitExceeded, LastTransitionTime: metav1.Now()})
	})
}
