package archive

import (
	"context"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

func unsaved(sources []record.Source, saved []record.Log) []record.Source {
	return slices.DeleteFunc(sources, func(s record.Source) bool { return isSaved(s, saved) })
}

func isSaved(s record.Source, saved []record.Log) bool {
	return slices.ContainsFunc(saved, func(l record.Log) bool { return l.Names(s) })
}

// If something may become readable, unreadable says what. The error is the store's.
func (r *Reconciler) saveLogs(
	ctx context.Context, s *v1alpha1.Suite, run record.Run, sources []record.Source,
) (logs []record.Log, unreadable string, err error) {
	final := r.stopsAsking(s)
	for _, source := range sources {
		log, mayPass, err := r.saveLog(ctx, s, run, source)
		if err != nil {
			return nil, "", err
		}
		if mayPass && !final {
			unreadable = log.Problem
		}
		logs = append(logs, log)
	}
	return logs, unreadable, nil
}

func (r *Reconciler) stopsAsking(s *v1alpha1.Suite) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived)
	return c != nil && c.Reason == v1alpha1.ReasonLogsUnavailable && r.Clock.Since(c.LastTransitionTime.Time) >= unreadableFor
}

// A log that cannot be read has a problem. The error is the store's.
func (r *Reconciler) saveLog(
	ctx context.Context, suite *v1alpha1.Suite, run record.Run, s record.Source,
) (log record.Log, mayPass bool, err error) {
	reading, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	reader := r.silent.open(reading, r.Logs, suite.Namespace, s)
	defer reader.Close()
	if reader.err == nil {
		log, err = r.Store.SaveLog(ctx, run, s.Pod, s.Container, s.Previous, mask.Of(suite.Spec.Variables).Reader(reader))
	}
	if ctx.Err() != nil {
		return log, false, ctx.Err()
	}
	if err != nil || reader.err == nil || reader.read > 0 {
		return log, false, err
	}
	ctrl.LoggerFrom(ctx).Info("a log cannot be read", "pod", s.Pod, "container", s.Container, "reason", reader.err.Error())
	log = record.Log{Pod: s.Pod, Container: s.Container, Previous: s.Previous}
	log.Problem, mayPass = record.Unreadable(s, reader.err)
	return log, mayPass, nil
}

// The archive knows the compressed size only.
func (r *Reconciler) measure(ctx context.Context, run record.Run, logs []record.Log) error {
	for i := range logs {
		l := &logs[i]
		reader, err := r.Store.OpenLog(ctx, run, l.Pod, l.Container, l.Previous)
		if err != nil {
			return err
		}
		var g gauge
		_, err = io.Copy(&g, reader)
		reader.Close()
		if err != nil {
			return err
		}
		l.Bytes = g.size
		if string(g.end) == record.BrokenMark {
			l.Problem = record.BrokenLog
		}
	}
	return nil
}

type gauge struct {
	size int64
	end  []byte
}

func (g *gauge) Write(p []byte) (int, error) {
	g.size += int64(len(p))
	g.end = append(g.end, p[max(0, len(p)-len(record.BrokenMark)):]...)
	g.end = slices.Delete(g.end, 0, max(0, len(g.end)-len(record.BrokenMark)))
	return len(p), nil
}
