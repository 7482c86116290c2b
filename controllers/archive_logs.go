package controllers

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/record"
)

// logStall is how long to wait for the next bytes of a log. A node that does not answer must not hold up the logs of
// others.
const logStall = 30 * time.Second

// unsaved are the logs that the archive does not have.
func unsaved(sources []record.Source, saved []record.Log) []record.Source {
	return slices.DeleteFunc(sources, func(s record.Source) bool {
		return slices.ContainsFunc(saved, func(l record.Log) bool { return l.Names(s) })
	})
}

// saveLogs saves what can be read. If something may become readable, unreadable says what. The error is the store's.
func (r *ArchiveReconciler) saveLogs(ctx context.Context, s *v1alpha1.Suite, run record.Run, sources []record.Source) (logs []record.Log, unreadable string, err error) {
	final := r.stopsAsking(s)
	for _, source := range sources {
		log, mayPass, err := r.saveLog(ctx, s.Namespace, run, source)
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

// stopsAsking reports whether logs were unreadable for long enough.
func (r *ArchiveReconciler) stopsAsking(s *v1alpha1.Suite) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived)
	return c != nil && c.Reason == v1alpha1.ReasonLogsUnavailable && r.Clock.Since(c.LastTransitionTime.Time) >= unreadableFor
}

// saveLog returns a log with a problem if it cannot be read. The error is the store's.
func (r *ArchiveReconciler) saveLog(ctx context.Context, namespace string, run record.Run, s record.Source) (log record.Log, mayPass bool, err error) {
	reader, err := openLog(ctx, r.Logs, namespace, s)
	if err == nil {
		defer reader.Close()
		log, err = r.Archive.SaveLog(ctx, run, s.Pod, s.Container, s.Previous, reader)
		if err == nil || reader.err == nil {
			return log, false, err
		}
		err = reader.err
	}
	if ctx.Err() != nil {
		return log, false, ctx.Err()
	}
	ctrl.LoggerFrom(ctx).Info("a log cannot be read", "pod", s.Pod, "container", s.Container, "reason", err.Error())
	log = record.Log{Pod: s.Pod, Container: s.Container, Previous: s.Previous}
	log.Problem, mayPass = record.Unreadable(s, err)
	return log, mayPass, nil
}

// measure finds out how many bytes of each log the archive has, of which it knows only the compressed size.
func (r *ArchiveReconciler) measure(ctx context.Context, run record.Run, logs []record.Log) error {
	for i := range logs {
		l := &logs[i]
		reader, err := r.Archive.OpenLog(ctx, run, l.Pod, l.Container, l.Previous)
		if err != nil {
			return err
		}
		l.Bytes, err = io.Copy(io.Discard, reader)
		reader.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// logReader reads a log that does not grow. It keeps the error of reading, to tell it from one of the store.
type logReader struct {
	io.ReadCloser
	timer  *time.Timer
	cancel context.CancelCauseFunc
	ctx    context.Context
	err    error
}

func openLog(ctx context.Context, logs PodLogs, namespace string, s record.Source) (*logReader, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(logStall, func() { cancel(apierror.ErrNodeUnreachable) })
	body, err := logs.Open(ctx, namespace, s.Pod, corev1.PodLogOptions{Container: s.Container, Previous: s.Previous})
	r := &logReader{ReadCloser: body, timer: timer, cancel: cancel, ctx: ctx}
	if err != nil {
		defer r.stop()
		return nil, r.cause(err)
	}
	return r, nil
}

func (r *logReader) Read(p []byte) (int, error) {
	r.timer.Reset(logStall)
	n, err := r.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	r.timer.Stop()
	if errors.Is(err, io.EOF) {
		return n, err
	}
	r.err = r.cause(err)
	return n, r.err
}

// cause is why the context ended, if that is why the reader failed.
func (r *logReader) cause(err error) error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	return err
}

// Close ends the connection.
func (r *logReader) Close() error {
	r.stop()
	return r.ReadCloser.Close()
}

func (r *logReader) stop() {
	r.timer.Stop()
	r.cancel(nil)
}
