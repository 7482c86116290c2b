package world

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
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

func (w *World) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.NS, Name: name}
}

// Reaches waits until the Suite is in the state, and its message contains the given text.
func (w *World) Reaches(name, state, message string) *v1alpha1.Suite {
	w.T.Helper()
	s := &v1alpha1.Suite{}
	w.Eventually(fmt.Sprintf("%s is %s with %q", name, state, message), func() string {
		w.Must(w.Client.Get(context.Background(), w.Key(name), s))
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded)
		if c != nil && c.Reason == state && strings.Contains(c.Message, message) {
			return ""
		}
		return fmt.Sprintf("%+v", c)
	})
	return s
}

// HasJob waits for the Job of the Suite.
func (w *World) HasJob(name string) *batchv1.Job {
	w.T.Helper()
	j := &batchv1.Job{}
	w.Eventually("the Job "+name+" exists", func() string { return Complaint(w.Client.Get(context.Background(), w.Key(name), j)) })
	return j
}

func Complaint(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func (w *World) HasNoJob(name string) {
	w.T.Helper()
	err := w.Client.Get(context.Background(), w.Key(name), &batchv1.Job{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		w.T.Fatalf("the Job %s exists (%v), and must not", name, err)
	}
}

// Gone waits until an object does not exist.
func (w *World) Gone(o client.Object, name string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("%T %s is gone", o, name), func() string {
		if err := w.Client.Get(context.Background(), w.Key(name), o); err != nil {
			return Complaint(client.IgnoreNotFound(err))
		}
		return "it exists"
	})
}

// Stopping waits until the manager stops a run: it deletes the Job of one that has not begun, and has the pods
// of the others end.
func (w *World) Stopping(name string) (deleted bool) {
	w.T.Helper()
	w.Eventually("the run "+name+" is being stopped", func() string {
		j := &batchv1.Job{}
		w.Must(w.Client.Get(context.Background(), w.Key(name), j))
		deleted = j.DeletionTimestamp != nil
		if deleted || !job.StopRequested(j).IsZero() && *j.Spec.BackoffLimit == 0 {
			return ""
		}
		return "it is not"
	})
	return deleted
}

// IsDeleting waits until the Job of a run is being deleted.
func (w *World) IsDeleting(name string) {
	w.T.Helper()
	w.Eventually("the Job "+name+" is being deleted", func() string {
		if !w.Stopping(name) {
			return "it is not"
		}
		return ""
	})
}

// Stops does what Kubernetes does to a run that is being stopped.
func (w *World) Stops(name string) {
	w.T.Helper()
	if w.Stopping(name) {
		w.PodStops(name)
		w.Drop(&batchv1.Job{}, name)
		return
	}
	w.podExpires(name)
	w.Fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

// podExpires does what the kubelet does to a pod whose deadline has passed: it keeps the pod.
func (w *World) podExpires(name string) {
	w.T.Helper()
	w.Eventually("the pod of "+name+" has a deadline", func() string {
		p := &corev1.Pod{}
		w.Must(w.Client.Get(context.Background(), w.Key(fakecluster.PodName(name)), p))
		if *p.Spec.ActiveDeadlineSeconds != 1 {
			return fmt.Sprintf("it is %d s", *p.Spec.ActiveDeadlineSeconds)
		}
		w.Status(p, func() { fakecluster.ExpirePod(p) })
		return ""
	})
}

// PodStops acts as the kubelet on a pod that is deleted.
func (w *World) PodStops(name string) {
	w.T.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: fakecluster.PodName(name)}}
	w.Must(client.IgnoreNotFound(w.Client.Delete(context.Background(), p, client.GracePeriodSeconds(0))))
}

// Drop acts as the garbage collector on an object that is deleted.
func (w *World) Drop(o client.Object, name string) {
	w.T.Helper()
	ctx := context.Background()
	w.Must(w.Client.Get(ctx, w.Key(name), o))
	was := o.DeepCopyObject().(client.Object)
	fakecluster.Finalize(o)
	w.Must(w.Client.Patch(ctx, o, client.MergeFrom(was)))
}

// Runs starts the pod of a Job.
func (w *World) Runs(name string) {
	w.T.Helper()
	j := w.HasJob(name)
	w.Status(j, func() { fakecluster.StartJob(j) })
	p := fakecluster.NewPod(j, w.NodeName)
	fakecluster.RunPod(p)
	w.Pod(j, p.Status)
	w.Status(j, func() { fakecluster.ReadyJob(j) })
	w.Reaches(name, v1alpha1.ReasonRunning, "The tests are running")
}

// Passes completes a Job, whose pod it creates if runs did not.
func (w *World) Passes(name string) {
	w.T.Helper()
	j, p := w.HasJob(name), &corev1.Pod{}
	if err := w.Client.Get(context.Background(), w.Key(fakecluster.PodName(name)), p); apierrors.IsNotFound(err) {
		p = fakecluster.NewPod(j, w.NodeName)
		w.Create(p)
	} else {
		w.Must(err)
	}
	if p.Status.Phase != corev1.PodSucceeded {
		w.Status(p, func() { fakecluster.EndPod(p, 0) })
	}
	w.Status(j, func() { fakecluster.CompleteJob(j) })
}

// Exits fails a Job because its container exited with a code.
func (w *World) Exits(name string, code int32) {
	w.T.Helper()
	p := &corev1.Pod{}
	w.Must(w.Client.Get(context.Background(), w.Key(fakecluster.PodName(name)), p))
	w.Status(p, func() { fakecluster.EndPod(p, code) })
	w.Fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

// Expires fails a Job because of its deadline.
func (w *World) Expires(name string) {
	w.T.Helper()
	w.Fails(name, batchv1.JobReasonDeadlineExceeded)
}

func (w *World) Fails(name, reason string) {
	w.T.Helper()
	j := w.HasJob(name)
	w.Status(j, func() { fakecluster.FailJob(j, reason) })
}

// Ends is for ends that only one test has.
func (w *World) Ends(name string, how func(*batchv1.Job), reason string, conditions ...batchv1.JobConditionType) {
	w.T.Helper()
	j := w.HasJob(name)
	w.Status(j, func() {
		fakecluster.EndJob(j, reason, conditions...)
		how(j)
	})
}

func (w *World) Status(o client.Object, change func()) {
	w.T.Helper()
	was := o.DeepCopyObject().(client.Object)
	change()
	w.Must(w.Client.Status().Patch(context.Background(), o, client.MergeFrom(was)))
}

func (w *World) Pod(j *batchv1.Job, status corev1.PodStatus) {
	w.T.Helper()
	p := fakecluster.NewPod(j, w.NodeName)
	w.Create(p)
	w.Status(p, func() { p.Status = status })
}

// Cancel patches the Suite, as a user does with kubectl.
func (w *World) Cancel(name, by string) {
	w.T.Helper()
	s := &v1alpha1.Suite{}
	w.Must(w.Client.Get(context.Background(), w.Key(name), s))
	was := s.DeepCopy()
	s.Spec.Cancel = true
	if by != "" {
		s.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: by}
	}
	w.Must(w.Client.Patch(context.Background(), s, client.MergeFrom(was)))
}

// Touch changes an annotation of a Suite, so that the manager reconciles it.
func (w *World) Touch(name string) {
	w.T.Helper()
	s := &v1alpha1.Suite{}
	w.Must(w.Client.Get(context.Background(), w.Key(name), s))
	was := s.DeepCopy()
	s.Annotations = map[string]string{"touched": time.Now().String()}
	w.Must(w.Client.Patch(context.Background(), s, client.MergeFrom(was)))
}

// Change updates an object, as kubectl edit does.
func (w *World) Change(o client.Object, change func(client.Object)) {
	w.T.Helper()
	key := w.Key(o.GetName())
	if _, cluster := o.(*v1alpha1.Team); cluster {
		key.Namespace = ""
	}
	w.Must(w.Client.Get(context.Background(), key, o))
	was := o.DeepCopyObject().(client.Object)
	change(o)
	w.Must(w.Client.Patch(context.Background(), o, client.MergeFrom(was)))
}

// Ready waits for the Ready condition of an object that exists.
func (w *World) Ready(o client.Object, status metav1.ConditionStatus, reason, message string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("%T %s is Ready %s (%s) with %q", o, o.GetName(), status, reason, message), func() string {
		w.Must(w.Client.Get(context.Background(), client.ObjectKeyFromObject(o), o))
		c := meta.FindStatusCondition(conditionsOf(o), v1alpha1.ConditionReady)
		if c != nil && c.Status == status && c.Reason == reason && strings.Contains(c.Message, message) && c.ObservedGeneration == o.GetGeneration() {
			return ""
		}
		return fmt.Sprintf("%+v of generation %d", c, o.GetGeneration())
	})
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.Team:
		return o.Status.Conditions
	case *v1alpha1.APIKey:
		return o.Status.Conditions
	case *v1alpha1.Trigger:
		return o.Status.Conditions
	case *v1alpha1.Environment:
		return o.Status.Conditions
	case *v1alpha1.Quarantine:
		return o.Status.Conditions
	default:
		return nil
	}
}

// Grant binds a role to the manager in the namespace.
func (w *World) Grant(kind, name string) {
	w.T.Helper()
	w.Create(build.Grant(kind, name))
}

// CollectSuite waits for the deletion of a Suite, acts as the garbage collector, and checks that the Suite is removed
// only together with its Job.
func (w *World) CollectSuite(name string) {
	w.T.Helper()
	s := &v1alpha1.Suite{}
	w.Eventually("the Suite "+name+" is being deleted", func() string {
		w.Must(w.Client.Get(context.Background(), w.Key(name), s))
		if s.DeletionTimestamp == nil {
			return "it is not"
		}
		return ""
	})
	if owner := metav1.GetControllerOf(w.HasJob(name)); owner == nil || !*owner.BlockOwnerDeletion {
		w.T.Error("the Suite may go before its Job")
	}
	w.Must(w.Client.Delete(context.Background(), w.HasJob(name), client.PropagationPolicy("Background")))
	w.Drop(&v1alpha1.Suite{}, name)
	w.Gone(&v1alpha1.Suite{}, name)
}
