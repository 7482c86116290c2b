package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// fakeArchive is an archive in memory. Fill it before the test.
type fakeArchive struct {
	records   []record.Record // in any order
	logs      map[string]string
	artifacts []record.Artifact // in the order of pod and path
	documents []record.Results
	err       error // of everything
	hang      bool  // until the caller gives up

	asked, read atomic.Int32 // requests, and records
}

func (a *fakeArchive) ask(ctx context.Context) error {
	a.asked.Add(1)
	if a.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return a.err
}

func idOf(r httpapi.Run) record.Run { return record.Run{Team: r.Team, ID: r.ID, Created: r.CreatedAt} }

func (a *fakeArchive) Runs(ctx context.Context, team string, before *record.Run) iter.Seq2[record.Run, error] {
	return func(yield func(record.Run, error) bool) {
		if err := a.ask(ctx); err != nil {
			yield(record.Run{}, err)
			return
		}
		var all []record.Run
		for _, r := range a.records {
			if id := idOf(r.Run); r.Team == team && (before == nil || id.Compare(*before) < 0) {
				all = append(all, id)
			}
		}
		slices.SortFunc(all, record.Run.Compare)
		for _, r := range slices.Backward(all) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (a *fakeArchive) Summaries(ctx context.Context, runs []record.Run) (found []httpapi.Run, err error) {
	a.read.Add(int32(len(runs)))
	for _, want := range runs {
		for _, r := range a.records {
			if idOf(r.Run) == want {
				found = append(found, r.Run)
			}
		}
	}
	return found, a.ask(ctx)
}

func (a *fakeArchive) Record(ctx context.Context, team, id string) (newest record.Record, err error) {
	if err := a.ask(ctx); err != nil {
		return newest, err
	}
	err = fs.ErrNotExist
	for _, r := range a.records {
		if r.Team == team && r.ID == id && !r.CreatedAt.Before(newest.CreatedAt) {
			newest, err = r, nil
		}
	}
	return newest, err
}

func (a *fakeArchive) Logs(ctx context.Context, r record.Run) (logs []record.Log, err error) {
	for key := range a.logs {
		if log, ok := r.ParseLogKey(key); ok {
			log.Bytes = 1
			logs = append(logs, log)
		}
	}
	return logs, a.ask(ctx)
}

func (a *fakeArchive) OpenLog(ctx context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error) {
	if err := a.ask(ctx); err != nil {
		return nil, err
	}
	log, ok := a.logs[r.LogKey(pod, container, previous)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(log)), nil
}

func (a *fakeArchive) Artifacts(ctx context.Context, _ record.Run, after string, limit int) (page []record.Artifact, next string, err error) {
	if err := a.ask(ctx); err != nil {
		return nil, "", err
	}
	for _, f := range a.artifacts {
		key := f.Pod + "/" + f.Path
		switch {
		case key <= after:
		case len(page) == limit:
			return page, page[limit-1].Pod + "/" + page[limit-1].Path, nil
		default:
			page = append(page, f)
		}
	}
	return page, "", nil
}

func (a *fakeArchive) OpenArtifact(context.Context, record.Run, string, string) (record.File, error) {
	return record.File{}, fs.ErrNotExist
}

func (a *fakeArchive) Results(ctx context.Context, _ record.Run) iter.Seq2[record.Results, error] {
	return func(yield func(record.Results, error) bool) {
		if err := a.ask(ctx); err != nil {
			yield(record.Results{}, err)
			return
		}
		for _, d := range a.documents {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (a *fakeArchive) SignArtifact(_ context.Context, r record.Run, pod, path string) (string, error) {
	return "https://s3.example.com/" + r.ArtifactKey(pod, path) + "?X-Amz-Signature=secret", nil
}

// archived is the record of a run that was created that many minutes after noon.
func archived(id string, minutes int, change ...func(*httpapi.Run)) record.Record {
	r := record.Record{Run: httpapi.Run{
		ID: id, Team: namespace, Namespace: namespace, Trigger: "smoke", Environment: "staging", State: v1alpha1.ReasonPassed,
		Message: "The tests passed.", Attempt: 1, CreatedAt: created(minutes),
	}}
	for _, c := range change {
		c(&r.Run)
	}
	return r
}

func created(minutes int) time.Time {
	return noon.Truncate(time.Second).Add(time.Duration(minutes) * time.Minute)
}

// fakeNode has logs by pod/container, or errors.
type fakeNode map[string]any

func (n fakeNode) Open(ctx context.Context, _, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	switch log := n[pod+"/"+o.Container].(type) {
	case string:
		return io.NopCloser(strings.NewReader(lastLines(log, o.TailLines))), nil
	case error:
		return nil, log
	case func(context.Context) (io.ReadCloser, error):
		return log(ctx)
	default:
		return nil, fmt.Errorf("%w (test)", apierror.ErrLogGone)
	}
}

func lastLines(log string, n *int64) string {
	if n == nil {
		return log
	}
	lines := slices.Collect(bytes.Lines([]byte(log)))
	return string(bytes.Join(lines[max(0, len(lines)-int(*n)):], nil))
}

// withArchive is a setup with an archive.
func withArchive(a *fakeArchive) func(*Config) { return func(c *Config) { c.Runs.Archive = a } }
