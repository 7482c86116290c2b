package archive

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// A node does not answer until the container has printed something, so it is asked until the container ends or the node is lost.
func (r *Rescue) follow(
	ctx context.Context, run record.Run, suite *v1alpha1.Suite, s record.Source, saved func() []record.Log, deadline time.Time,
) (more bool) {
	namespace := suite.Namespace
	reading, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for {
		began := time.Now()
		err := r.followOnce(ctx, reading, run, suite, s, saved)
		silent := s.Running && errors.Is(err, apierror.ErrNodeUnreachable)
		if silent && transfer.Sleep(reading, resumePause-time.Since(began)) == nil &&
			!r.lost(reading, namespace, run) && r.stillRuns(reading, namespace, s) {
			continue
		}
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("the log of a pod that is being deleted is not saved",
				"namespace", namespace, "pod", s.Pod, "container", s.Container, "reason", err.Error())
		}
		return err != nil && !errors.Is(err, apierror.ErrLogGone)
	}
}

func (r *Rescue) followOnce(
	ctx, reading context.Context, run record.Run, suite *v1alpha1.Suite, s record.Source, saved func() []record.Log,
) error {
	release, err := r.streams.acquire(ctx, run.Team, s.Running)
	if err != nil {
		return err
	}
	defer release()
	var runs func() bool
	if s.Running {
		runs = func() bool { return r.stillRuns(reading, suite.Namespace, s) }
	}
	log := openLog(reading, r.Logs, suite.Namespace, s, runs)
	defer log.Close()
	switch {
	case isSaved(s, saved()):
		return nil
	case log.err != nil:
		return log.err
	}
	_, err = r.Archive.SaveLog(ctx, run, s.Pod, s.Container, s.Previous, mask.Of(suite.Spec.Variables).Reader(log))
	return err
}

// A run ends while its container runs only if the node does not answer.
func (r *Rescue) lost(ctx context.Context, namespace string, run record.Run) bool {
	s, err := reconcile.Get[v1alpha1.Suite](ctx, r, namespace, run.ID)
	return err == nil && (s == nil || s.Finished())
}

func (r *Rescue) stillRuns(ctx context.Context, namespace string, s record.Source) bool {
	pod, err := reconcile.Get[corev1.Pod](ctx, r.Live, namespace, s.Pod)
	if err != nil || pod == nil {
		return err != nil
	}
	return slices.ContainsFunc(record.Sources([]corev1.Pod{*pod}), func(now record.Source) bool { return now == s })
}
