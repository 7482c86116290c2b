package apitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/build"
)

// FakeArchive is an archive in memory. Fill it before the test.
type FakeArchive struct {
	Records   []record.Record // in any order
	LogTexts  map[string]string
	artifacts []record.Artifact // in the order of pod and path
	Documents []record.Results
	Bundles   map[string][]byte // signed verdicts by run
	Err       error             // of everything
	Hang      bool              // until the caller gives up

	Asked, Read atomic.Int32 // requests, and records
}

func (a *FakeArchive) ask(ctx context.Context) error {
	a.Asked.Add(1)
	if a.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return a.Err
}

func idOf(r httpapi.Run) record.Run { return record.Run{Team: r.Team, ID: r.ID, Created: r.CreatedAt} }

// Runs returns the runs before another, newest first.
func (a *FakeArchive) Runs(ctx context.Context, team string, before *record.Run) iter.Seq2[record.Run, error] {
	return func(yield func(record.Run, error) bool) {
		if err := a.ask(ctx); err != nil {
			yield(record.Run{}, err)
			return
		}
		var all []record.Run
		for _, r := range a.Records {
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

// Summaries returns what lists show of runs.
func (a *FakeArchive) Summaries(ctx context.Context, runs []record.Run) (found []httpapi.Run, err error) {
	a.Read.Add(int32(len(runs)))
	for _, want := range runs {
		for _, r := range a.Records {
			if idOf(r.Run) == want {
				found = append(found, r.Run)
			}
		}
	}
	return found, a.ask(ctx)
}

// Record returns the newest record of a run.
func (a *FakeArchive) Record(ctx context.Context, team, id string) (newest record.Record, err error) {
	if err := a.ask(ctx); err != nil {
		return newest, err
	}
	err = fs.ErrNotExist
	for _, r := range a.Records {
		if r.Team == team && r.ID == id && !r.CreatedAt.Before(newest.CreatedAt) {
			newest, err = r, nil
		}
	}
	return newest, err
}

// Logs returns the names of the logs of a run.
func (a *FakeArchive) Logs(ctx context.Context, r record.Run) (logs []record.Log, err error) {
	for key := range a.LogTexts {
		if log, ok := r.ParseLogKey(key); ok {
			log.Bytes = 1
			logs = append(logs, log)
		}
	}
	return logs, a.ask(ctx)
}

// OpenLog opens a log, if the archive has it.
func (a *FakeArchive) OpenLog(ctx context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error) {
	if err := a.ask(ctx); err != nil {
		return nil, err
	}
	log, ok := a.LogTexts[r.LogKey(pod, container, previous)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(log)), nil
}

// Artifacts returns a page of files.
func (a *FakeArchive) Artifacts(ctx context.Context, _ record.Run, after string, limit int) (page []record.Artifact, next string,
	err error) {
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

// OpenArtifact is for pages only.
func (a *FakeArchive) OpenArtifact(context.Context, record.Run, string, string) (record.File, error) {
	return record.File{}, fs.ErrNotExist
}

// Results returns what the reports of a run say.
func (a *FakeArchive) Results(ctx context.Context, _ record.Run) iter.Seq2[record.Results, error] {
	return func(yield func(record.Results, error) bool) {
		if err := a.ask(ctx); err != nil {
			yield(record.Results{}, err)
			return
		}
		for _, d := range a.Documents {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Attestation is the signed verdict of a run.
func (a *FakeArchive) Attestation(ctx context.Context, r record.Run) ([]byte, error) {
	if err := a.ask(ctx); err != nil {
		return nil, err
	}
	if bundle, ok := a.Bundles[r.ID]; ok {
		return bundle, nil
	}
	return nil, fs.ErrNotExist
}

// SignArtifact returns the URL of a file.
func (a *FakeArchive) SignArtifact(_ context.Context, r record.Run, pod, path string) (string, error) {
	return "https://s3.example.com/" + r.ArtifactKey(pod, path) + "?X-Amz-Signature=secret", nil
}

// Archived is the record of a run that was created that many minutes after noon.
func Archived(id string, minutes int, change ...func(*httpapi.Run)) record.Record {
	r := record.Record{Run: httpapi.Run{
		ID: id, Team: Namespace, Namespace: Namespace, Trigger: "smoke", Environment: "staging", State: v1alpha1.ReasonPassed,
		Message: "The tests passed.", Attempt: 1, CreatedAt: Created(minutes),
	}}
	for _, c := range change {
		c(&r.Run)
	}
	return r
}

// Created returns the time that many minutes after noon.
func Created(minutes int) time.Time {
	return Noon.Truncate(time.Second).Add(time.Duration(minutes) * time.Minute)
}

// FakeNode has logs by pod/container, or errors.
type FakeNode map[string]any

// Open returns the log of a container.
func (n FakeNode) Open(ctx context.Context, _, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
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

// WithArchive is a setup with an archive.
func WithArchive(a *FakeArchive) func(*api.Config) { return func(c *api.Config) { c.Runs.Archive = a } }

// What pods of runs send.
const (
	collectPath = "/api/v0/collect"
	PodToken    = "the.token.of-the-pod"
)

// ArtifactStore has stored some files, and records what it signs.
type ArtifactStore struct {
	StoredFiles []record.Artifact
	Signed      []string
	Err         error
	None        bool   // the results of earlier runs are gone
	Lost        string // those of this run are
}

func (s *ArtifactStore) sign(what string) (string, error) {
	s.Signed = append(s.Signed, what)
	return "https://s3.example.com/" + fmt.Sprint(len(s.Signed)), s.Err
}

// Stored returns the files that are there before the test.
func (s *ArtifactStore) Stored(context.Context, record.Run) iter.Seq2[record.Artifact, error] {
	return func(yield func(record.Artifact, error) bool) {
		if s.Err != nil {
			yield(record.Artifact{}, s.Err)
			return
		}
		for _, f := range s.StoredFiles {
			if !yield(f, nil) {
				return
			}
		}
	}
}

// SignCollect signs the upload of a file.
func (s *ArtifactStore) SignCollect(_ context.Context, r record.Run, pod, path string, bytes int64) (string, error) {
	return s.sign(fmt.Sprintf("%s %d", r.ArtifactKey(pod, path), bytes))
}

// SignResults signs the upload of results.
func (s *ArtifactStore) SignResults(_ context.Context, r record.Run, pod string, bytes int64) (string, error) {
	return s.sign(fmt.Sprintf("%s %d", r.ResultsKey(pod), bytes))
}

// SignTests signs the upload of the tests of results.
func (s *ArtifactStore) SignTests(_ context.Context, r record.Run, pod string, bytes int64) (string, error) {
	return s.sign(fmt.Sprintf("%s %d", r.PodTestsKey(pod), bytes))
}

// SignPreviousResults signs what a rerun reads.
func (s *ArtifactStore) SignPreviousResults(_ context.Context, r record.Run) ([]string, error) {
	if s.None || r.ID == s.Lost {
		return nil, nil
	}
	url, err := s.sign("previous " + r.ID)
	return []string{url}, err
}

// CollectRequest is what a pod sends.
func CollectRequest(body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, collectPath, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+PodToken)
	r.Header.Set("Content-Type", "application/json")
	return build.With(r, change...)
}

// Signer records what it signs.
type Signer struct {
	Signed []string
	Err    error
}

// SignUpload fails if the Signer has an error.
func (s *Signer) SignUpload(_ context.Context, team, path string, bytes int64) (string, time.Time, error) {
	s.Signed = append(s.Signed, fmt.Sprintf("%s/%s %d", team, path, bytes))
	return "https://s3.example.com/bucket?X-Amz-Signature=secret&a=b", Noon.Add(4*time.Minute + time.Millisecond), s.Err
}

// Get is a request with the key of the team.
func Get(target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("Authorization", "Bearer "+GoodKey)
	return r
}
