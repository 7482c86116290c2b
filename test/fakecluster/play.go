package fakecluster

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/test/history"
)

// watchSuite records the ends of a run, and collects the garbage of one that is deleted.
func (c *Cluster) watchSuite(ctx context.Context, r ctrl.Request) (time.Duration, error) {
	s := &v1alpha1.Suite{}
	if err := c.client.Get(ctx, r.NamespacedName, s); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	if s.Finished() && !c.forgot(s.UID) {
		c.record(s.Namespace, s.Name, func(r *run) {
			if r.Ended.IsZero() {
				r.Ended = time.Now()
			}
			if !slices.Contains(r.Ends, s.State()) {
				r.Ends = append(r.Ends, s.State())
			}
		})
	}
	if s.DeletionTimestamp == nil {
		return 0, nil
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	if err := c.client.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if c.Pods && s.Finished() { // the Job is gone already, so nothing else collects its pod
		if err := c.deletePod(ctx, j, 0); err != nil {
			return 0, err
		}
	}
	return 0, c.finalize(ctx, s)
}

func (c *Cluster) finalize(ctx context.Context, o client.Object) error {
	was := o.DeepCopyObject().(client.Object)
	Finalize(o)
	return client.IgnoreNotFound(c.client.Patch(ctx, o, client.MergeFrom(was)))
}

// playJob runs the pod of a Job, from its start to its end.
func (c *Cluster) playJob(ctx context.Context, r ctrl.Request) (time.Duration, error) {
	j := &batchv1.Job{}
	if err := c.client.Get(ctx, r.NamespacedName, j); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	var so Run
	of := metav1.GetControllerOf(j)
	counts := of == nil || !c.forgot(of.UID)
	c.record(j.Namespace, j.Name, func(now *run) {
		if counts {
			now.jobs[j.UID] = true
		}
		so = now.Run
	})
	end, takes := c.Tests(j)
	left := time.Until(so.Began.Add(takes))
	switch {
	case so.Tests == history.Lost:
		return time.Second, c.lose(ctx, j)
	case j.DeletionTimestamp != nil:
		return 0, c.delete(ctx, j)
	case outcome.CompletionTime(j) != nil:
		return 0, nil
	case !job.StopRequested(j).IsZero():
		return 0, c.end(ctx, j, history.Stopped)
	case j.Status.Ready == nil:
		return takes, c.begin(ctx, j)
	case left > 0:
		return left, nil
	default:
		return 0, c.end(ctx, j, end)
	}
}

func nodeOf(j *batchv1.Job) string {
	h := fnv.New32()
	_, _ = h.Write([]byte(j.Name)) // never fails
	return Nodes[h.Sum32()%uint32(len(Nodes))]
}

// begin counts the tests as begun once their pod exists: before, no node can lose them.
func (c *Cluster) begin(ctx context.Context, j *batchv1.Job) error {
	at := time.Now()
	if c.Pods {
		if err := c.createPod(ctx, j, at); err != nil {
			return err
		}
	}
	c.record(j.Namespace, j.Name, func(r *run) {
		if r.Began.IsZero() {
			r.Began, r.node = at, nodeOf(j)
		}
	})
	return c.status(ctx, j, func() { StartJob(j); ReadyJob(j) })
}

func (c *Cluster) createPod(ctx context.Context, j *batchv1.Job, at time.Time) error {
	p := NewPod(j, nodeOf(j))
	if err := c.client.Create(ctx, p); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return c.status(ctx, p, func() { RunPod(p, at) })
}

func (c *Cluster) status(ctx context.Context, o client.Object, change func()) error {
	was := o.DeepCopyObject().(client.Object)
	change()
	return client.IgnoreNotFound(c.client.Status().Patch(ctx, o, client.MergeFrom(was)))
}

// end stops the pod first: the Job ends after it. How its tests ended is decided once, also if the write is repeated.
func (c *Cluster) end(ctx context.Context, j *batchv1.Job, end history.Tests) error {
	if end = c.stopped(j, end); end == history.Lost {
		return c.lose(ctx, j)
	}
	exit := int32(1)
	if end == history.Passed || end == history.Reported {
		exit = 0
	}
	if c.Pods {
		p := NewPod(j, nodeOf(j))
		if err := c.status(ctx, p, func() { EndPod(p, exit); c.leaveMessage(p, j); Collect(p, end) }); err != nil {
			return err
		}
	}
	return c.status(ctx, j, func() {
		if exit == 0 {
			CompleteJob(j)
		} else {
			FailJob(j, batchv1.JobReasonBackoffLimitExceeded)
		}
	})
}

func (c *Cluster) leaveMessage(p *corev1.Pod, j *batchv1.Job) {
	if c.Message == nil {
		return
	}
	for i := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[i].State.Terminated.Message = c.Message(j)
	}
}

// stopped records how tests ended that had begun, and returns it. The first end counts: a write of it may be repeated, and a node may just
// have been lost.
func (c *Cluster) stopped(j *batchv1.Job, end history.Tests) (first history.Tests) {
	c.record(j.Namespace, j.Name, func(r *run) {
		if r.Tests == history.NotRun && !r.Began.IsZero() {
			r.Tests, r.Stopped = end, time.Now()
		}
		first = r.Tests
	})
	return first
}

func (c *Cluster) delete(ctx context.Context, j *batchv1.Job) error {
	if c.stopped(j, history.Stopped) == history.Lost {
		return c.lose(ctx, j)
	}
	if c.Pods {
		if err := c.deletePod(ctx, j, 0); err != nil {
			return err
		}
	}
	return c.finalize(ctx, j)
}

func (c *Cluster) deletePod(ctx context.Context, j *batchv1.Job, grace client.GracePeriodSeconds) error {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: PodName(j.Name)}}
	return client.IgnoreNotFound(c.client.Delete(ctx, p, grace))
}

// lose deletes the pods of a lost node, which no kubelet stops, and fails their Jobs, as Kubernetes does.
func (c *Cluster) lose(ctx context.Context, j *batchv1.Job) error {
	if err := c.deletePod(ctx, j, 1); err != nil || j.Status.Terminating != nil {
		return err
	}
	return c.status(ctx, j, func() { TerminateJob(j) })
}
