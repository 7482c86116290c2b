package suite_test

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
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestKeepFailedPods: a run that failed outlives its retention, also that of another manager, and one that passed does not.
func TestKeepFailedPods(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke", build.KeptFor(time.Minute), func(t *v1alpha1.Trigger) {
		t.Spec.KeepFailedPods = &metav1.Duration{Duration: time.Hour}
	}))
	w.StartManager()
	w.Create(build.Suite("failing", 0), build.Suite("passing", 1))
	w.Runs("failing")
	w.Runs("passing")
	w.Exits("failing", 1)
	w.Passes("passing")
	w.Reaches("passing", v1alpha1.ReasonPassed, "")
	s := w.Reaches("failing", v1alpha1.ReasonFailed, "")
	if until := s.Status.PodsKeptUntil; until == nil || until.Sub(s.Status.CompletionTime.Time) != time.Hour {
		t.Errorf("its pods are kept until %v", until)
	}
	w.Clock.MoveOn(30 * time.Minute)
	w.Stop()
	w.StartManager()
	w.Touch("failing")
	w.Touch("passing")
	isDeleted(w, "passing")
	if s = w.Reaches("failing", v1alpha1.ReasonFailed, ""); s.DeletionTimestamp != nil {
		t.Error("the run that failed is deleted too early")
	}
	w.Clock.MoveOn(31 * time.Minute)
	w.Touch("failing")
	isDeleted(w, "failing")
}

func isDeleted(w *world.World, name string) {
	w.T.Helper()
	w.Eventually(name+" is deleted", func() string {
		s := &v1alpha1.Suite{}
		err := w.Client.Get(context.Background(), w.Key(name), s)
		if apierrors.IsNotFound(err) || err == nil && s.DeletionTimestamp != nil {
			return ""
		}
		return "it exists"
	})
}

// TestDebugPod: the API server accepts a pod like that of a run, and the manager takes it for none of the run.
func TestDebugPod(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Start(build.Suite("run", 0, build.Keyed("k")))
	w.Exits("run", 1)
	s := w.Reaches("run", v1alpha1.ReasonFailed, "")
	j, pods := &batchv1.Job{}, &corev1.PodList{}
	w.Must(w.Client.Get(context.Background(), w.Key("run"), j))
	w.List(pods, client.MatchingLabels{v1alpha1.LabelSuite: "run"})
	of, failed := outcome.PodToDebug(pods.Items)
	p, problem := job.DebugPod(s, j, of, job.Debugging{Failed: failed, For: time.Hour})
	if problem != "" {
		t.Fatal(problem)
	}
	w.Must(w.Client.Create(context.Background(), p))
	w.Status(p, func() { p.Status.Phase = corev1.PodRunning })
	w.Create(build.Suite("next", 1, build.Keyed("k")))
	w.Runs("next") // beside the pod that waits
}
