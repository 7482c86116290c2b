package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

func (w *world) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.ns, Name: name}
}

// reaches waits until the Suite is in the state, and its message contains the given text.
func (w *world) reaches(name, state, message string) *v1alpha1.Suite {
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.eventually(fmt.Sprintf("%s is %s with %q", name, state, message), func() string {
		w.must(w.Client.Get(context.Background(), w.key(name), s))
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded)
		if c != nil && c.Reason == state && strings.Contains(c.Message, message) {
			return ""
		}
		return fmt.Sprintf("%+v", c)
	})
	return s
}

// hasJob waits for the Job of the Suite.
func (w *world) hasJob(name string) *batchv1.Job {
	w.t.Helper()
	j := &batchv1.Job{}
	w.eventually("the Job "+name+" exists", func() string { return complaint(w.Client.Get(context.Background(), w.key(name), j)) })
	return j
}

func complaint(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func (w *world) hasNoJob(name string) {
	w.t.Helper()
	err := w.Client.Get(context.Background(), w.key(name), &batchv1.Job{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		w.t.Fatalf("the Job %s exists (%v), and must not", name, err)
	}
}

// gone waits until an object does not exist.
func (w *world) gone(o client.Object, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%T %s is gone", o, name), func() string {
		if err := w.Client.Get(context.Background(), w.key(name), o); err != nil {
			return complaint(client.IgnoreNotFound(err))
		}
		return "it exists"
	})
}

// stopping waits until the manager stops a run: it deletes the Job of one that has not begun, and has the pods
// of the others end.
func (w *world) stopping(name string) (deleted bool) {
	w.t.Helper()
	w.eventually("the run "+name+" is being stopped", func() string {
		j := &batchv1.Job{}
		w.must(w.Client.Get(context.Background(), w.key(name), j))
		deleted = j.DeletionTimestamp != nil
		if deleted || !job.StopRequested(j).IsZero() && *j.Spec.BackoffLimit == 0 {
			return ""
		}
		return "it is not"
	})
	return deleted
}

// isDeleting waits until the Job of a run is being deleted.
func (w *world) isDeleting(name string) {
	w.t.Helper()
	w.eventually("the Job "+name+" is being deleted", func() string {
		if !w.stopping(name) {
			return "it is not"
		}
		return ""
	})
}

// stops does what Kubernetes does to a run that is being stopped.
func (w *world) stops(name string) {
	w.t.Helper()
	if w.stopping(name) {
		w.podStops(name)
		w.drop(&batchv1.Job{}, name)
		return
	}
	w.podExpires(name)
	w.fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

// podExpires does what the kubelet does to a pod whose deadline has passed: it keeps the pod.
func (w *world) podExpires(name string) {
	w.t.Helper()
	w.eventually("the pod of "+name+" has a deadline", func() string {
		p := &corev1.Pod{}
		w.must(w.Client.Get(context.Background(), w.key(fakecluster.PodName(name)), p))
		if *p.Spec.ActiveDeadlineSeconds != 1 {
			return fmt.Sprintf("it is %d s", *p.Spec.ActiveDeadlineSeconds)
		}
		w.status(p, func() { fakecluster.ExpirePod(p) })
		return ""
	})
}

// podStops acts as the kubelet on a pod that is deleted.
func (w *world) podStops(name string) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: fakecluster.PodName(name)}}
	w.must(client.IgnoreNotFound(w.Client.Delete(context.Background(), p, client.GracePeriodSeconds(0))))
}

// drop acts as the garbage collector on an object that is deleted.
func (w *world) drop(o client.Object, name string) {
	w.t.Helper()
	ctx := context.Background()
	w.must(w.Client.Get(ctx, w.key(name), o))
	was := o.DeepCopyObject().(client.Object)
	fakecluster.Finalize(o)
	w.must(w.Client.Patch(ctx, o, client.MergeFrom(was)))
}

// runs starts the pod of a Job.
func (w *world) runs(name string) {
	w.t.Helper()
	j := w.hasJob(name)
	w.status(j, func() { fakecluster.StartJob(j) })
	p := fakecluster.NewPod(j, w.node)
	fakecluster.RunPod(p)
	w.pod(j, p.Status)
	w.status(j, func() { fakecluster.ReadyJob(j) })
	w.reaches(name, v1alpha1.ReasonRunning, "The tests are running")
}

// passes completes a Job, whose pod it creates if runs did not.
func (w *world) passes(name string) {
	w.t.Helper()
	j, p := w.hasJob(name), &corev1.Pod{}
	if err := w.Client.Get(context.Background(), w.key(fakecluster.PodName(name)), p); apierrors.IsNotFound(err) {
		p = fakecluster.NewPod(j, w.node)
		w.create(p)
	} else {
		w.must(err)
	}
	if p.Status.Phase != corev1.PodSucceeded {
		w.status(p, func() { fakecluster.EndPod(p, 0) })
	}
	w.status(j, func() { fakecluster.CompleteJob(j) })
}

// exits fails a Job because its container exited with a code.
func (w *world) exits(name string, code int32) {
	w.t.Helper()
	p := &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(fakecluster.PodName(name)), p))
	w.status(p, func() { fakecluster.EndPod(p, code) })
	w.fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

// expires fails a Job because of its deadline.
func (w *world) expires(name string) {
	w.t.Helper()
	w.fails(name, batchv1.JobReasonDeadlineExceeded)
}

func (w *world) fails(name, reason string) {
	w.t.Helper()
	j := w.hasJob(name)
	w.status(j, func() { fakecluster.FailJob(j, reason) })
}

// ends is for ends that only one test has.
func (w *world) ends(name string, how func(*batchv1.Job), reason string, conditions ...batchv1.JobConditionType) {
	w.t.Helper()
	j := w.hasJob(name)
	w.status(j, func() {
		fakecluster.EndJob(j, reason, conditions...)
		how(j)
	})
}

func (w *world) status(o client.Object, change func()) {
	w.t.Helper()
	was := o.DeepCopyObject().(client.Object)
	change()
	w.must(w.Client.Status().Patch(context.Background(), o, client.MergeFrom(was)))
}

func (w *world) pod(j *batchv1.Job, status corev1.PodStatus) {
	w.t.Helper()
	p := fakecluster.NewPod(j, w.node)
	w.create(p)
	w.status(p, func() { p.Status = status })
}

// cancel patches the Suite, as a user does with kubectl.
func (w *world) cancel(name, by string) {
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.must(w.Client.Get(context.Background(), w.key(name), s))
	was := s.DeepCopy()
	s.Spec.Cancel = true
	if by != "" {
		s.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: by}
	}
	w.must(w.Client.Patch(context.Background(), s, client.MergeFrom(was)))
}

// touch changes an annotation of a Suite, so that the manager reconciles it.
func (w *world) touch(name string) {
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.must(w.Client.Get(context.Background(), w.key(name), s))
	was := s.DeepCopy()
	s.Annotations = map[string]string{"touched": time.Now().String()}
	w.must(w.Client.Patch(context.Background(), s, client.MergeFrom(was)))
}
