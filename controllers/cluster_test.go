package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/job"
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
	w.ends(name, func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
}

// podExpires does what the kubelet does to a pod whose deadline has passed: it keeps the pod.
func (w *world) podExpires(name string) {
	w.t.Helper()
	w.eventually("the pod of "+name+" has a deadline", func() string {
		p := &corev1.Pod{}
		w.must(w.Client.Get(context.Background(), w.key(name+"-pod"), p))
		if *p.Spec.ActiveDeadlineSeconds != 1 {
			return fmt.Sprintf("it is %d s", *p.Spec.ActiveDeadlineSeconds)
		}
		w.status(p, func() { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded" })
		return ""
	})
}

// podStops acts as the kubelet on a pod that is deleted.
func (w *world) podStops(name string) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name + "-pod"}}
	w.must(client.IgnoreNotFound(w.Client.Delete(context.Background(), p, client.GracePeriodSeconds(0))))
}

func (w *world) drop(o client.Object, name string) {
	w.t.Helper()
	ctx := context.Background()
	w.must(w.Client.Get(ctx, w.key(name), o))
	was := o.DeepCopyObject().(client.Object)
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
	w.must(w.Client.Patch(ctx, o, client.MergeFrom(was)))
}

// runs starts the pod of a Job.
func (w *world) runs(name string) {
	w.t.Helper()
	j := w.hasJob(name)
	w.status(j, func() { j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1 })
	w.pod(j, corev1.PodStatus{Phase: corev1.PodRunning})
	w.status(j, func() { j.Status.Ready = new(int32(1)) })
	w.reaches(name, v1alpha1.ReasonRunning, "The tests are running")
}

// passes completes a Job.
func (w *world) passes(name string) {
	w.t.Helper()
	w.ends(name, func(j *batchv1.Job) {
		now := metav1.Now()
		j.Status.Succeeded, j.Status.CompletionTime = 1, &now
	}, "", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
}

// exits fails a Job because its container exited with a code.
func (w *world) exits(name string, code int32) {
	w.t.Helper()
	w.podEnds(name, corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", FinishedAt: metav1.Now()})
	w.ends(name, func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
}

// expires fails a Job because of its deadline.
func (w *world) expires(name string) {
	w.t.Helper()
	w.ends(name, func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonDeadlineExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
}

func (w *world) ends(name string, how func(*batchv1.Job), reason string, conditions ...batchv1.JobConditionType) {
	w.t.Helper()
	j := w.hasJob(name)
	w.status(j, func() {
		now := metav1.Now()
		j.Status.Active, j.Status.Ready = 0, new(int32(0))
		if j.Status.StartTime == nil {
			j.Status.StartTime = &now
		}
		for _, c := range conditions {
			j.Status.Conditions = append(j.Status.Conditions,
				batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: now})
		}
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
	p := &corev1.Pod{ObjectMeta: j.Spec.Template.ObjectMeta, Spec: j.Spec.Template.Spec}
	p.Name = j.Name + "-pod"
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	p.Spec.NodeName = w.node
	w.create(p)
	w.status(p, func() { p.Status = status })
}

func (w *world) podEnds(name string, how corev1.ContainerStateTerminated) {
	w.t.Helper()
	p := &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(name+"-pod"), p))
	w.status(p, func() {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "test", Image: "test", ImageID: "test", State: corev1.ContainerState{Terminated: &how}}}
	})
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
