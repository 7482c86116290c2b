package world

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
)

// Stopping waits until the manager stops a run: it deletes the Job of one that has not begun, and has the pods
// of the others end.
func (w *World) Stopping(name string) (deleted bool) {
	w.T.Helper()
	j := named(name, &batchv1.Job{})
	w.Await("the run "+name+" is being stopped", j, func() bool {
		return j.DeletionTimestamp != nil || !job.StopRequested(j).IsZero() && *j.Spec.BackoffLimit == 0
	})
	return j.DeletionTimestamp != nil
}

// IsDeleting waits until the Job of a run is being deleted.
func (w *World) IsDeleting(name string) {
	w.T.Helper()
	j := named(name, &batchv1.Job{})
	w.Await("the Job "+name+" is being deleted", j, func() bool { return j.DeletionTimestamp != nil })
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

// Start creates a Suite, and starts its pod.
func (w *World) Start(run *v1alpha1.Suite) {
	w.T.Helper()
	w.Create(run)
	w.Runs(run.Name)
}

// Runs starts the pod of a Job.
func (w *World) Runs(name string) {
	w.T.Helper()
	j := w.HasJob(name)
	w.Status(j, func() { fakecluster.StartJob(j) })
	p := fakecluster.NewPod(j, w.NodeName)
	fakecluster.RunPod(p, time.Now())
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

// PodOf reads the pod of a run.
func (w *World) PodOf(run string) *corev1.Pod {
	w.T.Helper()
	p := named(fakecluster.PodName(run), &corev1.Pod{})
	w.Read(p)
	return p
}

// Exits fails a Job because its container exited with a code.
func (w *World) Exits(name string, code int32) {
	w.T.Helper()
	p := w.PodOf(name)
	w.Status(p, func() { fakecluster.EndPod(p, code) })
	w.Fails(name, batchv1.JobReasonBackoffLimitExceeded)
}

// Expires fails a Job because of its deadline.
func (w *World) Expires(name string) {
	w.T.Helper()
	w.Fails(name, batchv1.JobReasonDeadlineExceeded)
}

// Fails fails a Job.
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

// Status changes the status of an object that was read.
func (w *World) Status(o client.Object, change func()) {
	w.T.Helper()
	was := o.DeepCopyObject().(client.Object)
	change()
	w.Must(w.Client.Status().Patch(context.Background(), o, client.MergeFrom(was)))
}

// Pod creates the pod of a Job.
func (w *World) Pod(j *batchv1.Job, status corev1.PodStatus) {
	w.T.Helper()
	p := fakecluster.NewPod(j, w.NodeName)
	w.Create(p)
	w.Status(p, func() { p.Status = status })
}

// Cancel patches the Suite, as a user does with kubectl.
func (w *World) Cancel(name, by string) {
	w.T.Helper()
	w.Change(build.Suite(name, 0), func(o client.Object) {
		o.(*v1alpha1.Suite).Spec.Cancel = true
		if by != "" {
			o.SetAnnotations(map[string]string{v1alpha1.AnnotationCanceledBy: by})
		}
	})
}

// Events are those about an object, such as "Normal Started: The tests run."
func (w *World) Events(o client.Object) (all []string) {
	w.T.Helper()
	list := &eventsv1.EventList{}
	w.List(list)
	kind := reflect.TypeOf(o).Elem().Name()
	for _, e := range list.Items {
		if e.Regarding.Kind == kind && e.Regarding.Name == o.GetName() {
			all = append(all, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return all
}

// HasEvent waits for an event about an object that contains a text.
func (w *World) HasEvent(o client.Object, text string) {
	w.T.Helper()
	w.Eventually("there is an event: "+text, func() string {
		all := w.Events(o)
		if slices.ContainsFunc(all, func(event string) bool { return strings.Contains(event, text) }) {
			return ""
		}
		return fmt.Sprintf("%q", all)
	})
}

// Touch changes an annotation of a Suite, so that the manager reconciles it.
func (w *World) Touch(name string) {
	w.T.Helper()
	w.Change(build.Suite(name, 0), func(o client.Object) { o.SetAnnotations(map[string]string{"touched": time.Now().String()}) })
}

// Change updates an object, as kubectl edit does, and waits until a running manager has read what users configure: what the test does next
// would otherwise race with that.
func (w *World) Change(o client.Object, change func(client.Object)) {
	w.T.Helper()
	w.Read(o)
	was := o.DeepCopyObject().(client.Object)
	change(o)
	w.Must(w.Client.Patch(context.Background(), o, client.MergeFrom(was)))
	switch o.(type) {
	case *v1alpha1.Trigger, *v1alpha1.Environment, *v1alpha1.Team:
		w.read(o)
	}
}

func (w *World) read(o client.Object) {
	w.T.Helper()
	if w.cached == nil {
		return
	}
	w.Eventually(fmt.Sprintf("the manager has read %T %s", o, o.GetName()), func() string {
		known := o.DeepCopyObject().(client.Object)
		if err := w.cached.Get(context.Background(), client.ObjectKeyFromObject(o), known); err != nil {
			return err.Error()
		}
		if known.GetGeneration() < o.GetGeneration() {
			return fmt.Sprintf("generation %d", known.GetGeneration())
		}
		return ""
	})
}

// Ready waits for the Ready condition of an object that exists.
func (w *World) Ready(o client.Object, status metav1.ConditionStatus, reason, message string) {
	w.T.Helper()
	w.Await(fmt.Sprintf("%T %s is Ready %s (%s) with %q", o, o.GetName(), status, reason, message), o, func() bool {
		c := meta.FindStatusCondition(conditionsOf(o), v1alpha1.ConditionReady)
		return c != nil && c.Status == status && c.Reason == reason && strings.Contains(c.Message, message) &&
			c.ObservedGeneration == o.GetGeneration()
	})
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.Team:
		return o.Status.Conditions
	case *v1alpha1.Suite:
		return o.Status.Conditions
	case *v1alpha1.APIKey:
		return o.Status.Conditions
	case *v1alpha1.Trigger:
		return o.Status.Conditions
	case *v1alpha1.Environment:
		return o.Status.Conditions
	case *v1alpha1.Quarantine:
		return o.Status.Conditions
	case *v1alpha1.DeploymentGate:
		return o.Status.Conditions
	case *v1alpha1.DeploymentReview:
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
	s := named(name, &v1alpha1.Suite{})
	w.Await("the Suite "+name+" is being deleted", s, func() bool { return s.DeletionTimestamp != nil })
	if owner := metav1.GetControllerOf(w.HasJob(name)); owner == nil || !*owner.BlockOwnerDeletion {
		w.T.Error("the Suite may go before its Job")
	}
	w.Delete(w.HasJob(name))
	w.Drop(&v1alpha1.Suite{}, name)
	w.Gone(&v1alpha1.Suite{}, name)
}
