package controllers_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

// TestKeepFailedPods: a run that failed outlives its retention, also that of another manager, and one that passed does not.
func TestKeepFailedPods(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke", keptFor(time.Minute), func(t *v1alpha1.Trigger) {
		t.Spec.KeepFailedPods = &metav1.Duration{Duration: time.Hour}
	}))
	w.startManager()
	w.create(aSuite("failing", 0), aSuite("passing", 1))
	w.runs("failing")
	w.runs("passing")
	w.exits("failing", 1)
	w.passes("passing")
	w.reaches("passing", v1alpha1.ReasonPassed, "")
	s := w.reaches("failing", v1alpha1.ReasonFailed, "")
	if until := s.Status.PodsKeptUntil; until == nil || until.Sub(s.Status.CompletionTime.Time) != time.Hour {
		t.Errorf("its pods are kept until %v", until)
	}
	w.clock.moveOn(30 * time.Minute)
	w.stop()
	w.startManager()
	w.touch("failing")
	w.touch("passing")
	w.isDeleted("passing")
	if s = w.reaches("failing", v1alpha1.ReasonFailed, ""); s.DeletionTimestamp != nil {
		t.Error("the run that failed is deleted too early")
	}
	w.clock.moveOn(31 * time.Minute)
	w.touch("failing")
	w.isDeleted("failing")
}

func (w *world) isDeleted(name string) {
	w.t.Helper()
	w.eventually(name+" is deleted", func() string {
		s := &v1alpha1.Suite{}
		err := w.Client.Get(context.Background(), w.key(name), s)
		if apierrors.IsNotFound(err) || err == nil && s.DeletionTimestamp != nil {
			return ""
		}
		return "it exists"
	})
}

// TestDebugPod: the API server accepts a pod like that of a run, and the manager takes it for none of the run.
func TestDebugPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0, keyed("k")))
	w.runs("run")
	w.exits("run", 1)
	s := w.reaches("run", v1alpha1.ReasonFailed, "")
	j, pods := &batchv1.Job{}, &corev1.PodList{}
	w.must(w.Client.Get(context.Background(), w.key("run"), j))
	w.must(w.Client.List(context.Background(), pods, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelSuite: "run"}))
	of, failed := outcome.PodToDebug(pods.Items)
	p, problem := job.DebugPod(s, j, of, job.Debugging{Failed: failed, For: time.Hour})
	if problem != "" {
		t.Fatal(problem)
	}
	w.must(w.Client.Create(context.Background(), p))
	w.status(p, func() { p.Status.Phase = corev1.PodRunning })
	w.create(aSuite("next", 1, keyed("k")))
	w.runs("next") // beside the pod that waits
}
