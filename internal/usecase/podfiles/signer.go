// Package podfiles decides which files the pods of runs may upload, and signs the URLs to upload them to.
package podfiles

import (
	"context"
	"fmt"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Store is the store of what tests write.
type Store interface {
	// Stored are the files of a run. It ends with an error.
	Stored(ctx context.Context, r record.Run) iter.Seq2[record.Artifact, error]
	// SignCollect signs the upload of exactly so many bytes; so do SignResults for the results document, and SignTests for the log of all
	// tests.
	SignCollect(ctx context.Context, r record.Run, pod, path string, bytes int64) (string, error)
	SignResults(ctx context.Context, r record.Run, pod string, bytes int64) (string, error)
	SignTests(ctx context.Context, r record.Run, pod string, bytes int64) (string, error)
	// SignPreviousResults signs the downloads of the results documents of an earlier run.
	SignPreviousResults(ctx context.Context, r record.Run) ([]string, error)
}

// Runs finds the runs of a Trigger and an Environment that ended last with results, the last one first.
type Runs interface {
	WithResults(of *v1alpha1.Suite) []*v1alpha1.Suite
}

// Config is what a Signer needs.
type Config struct {
	Store         Store
	Runs          Runs
	Cache, Live   client.Reader
	LookupTimeout time.Duration // for the API server to return a run
}

// Signer signs URLs for the pods of runs.
type Signer struct {
	Config
	signed *signedFiles
}

// New returns a Signer.
func New(c Config) *Signer { return &Signer{Config: c, signed: newSignedFiles()} }

// Sign answers what a pod asks. Its errors are those of the store.
func (s *Signer) Sign(ctx context.Context, r *Run, request *httpapi.CollectRequest) (*httpapi.CollectAnswer, error) {
	answer := &httpapi.CollectAnswer{Run: r.Suite.Name}
	var err error
	if answer.Files, err = s.signFiles(ctx, r, request.Files); err != nil {
		return nil, err
	}
	if request.ResultsBytes > 0 {
		return answer, s.signDocuments(ctx, r, request, answer)
	}
	answer.Previous, err = s.previousResults(ctx, r)
	return answer, err
}

func (s *Signer) signDocuments(ctx context.Context, r *Run, request *httpapi.CollectRequest, answer *httpapi.CollectAnswer) error {
	url, err := s.Store.SignResults(ctx, r.record(), r.Name, request.ResultsBytes)
	if err != nil {
		return err
	}
	answer.Results = &httpapi.CollectURL{URL: url}
	if request.TestsBytes > 0 {
		url, err = s.Store.SignTests(ctx, r.record(), r.Name, request.TestsBytes)
		answer.Tests = &httpapi.CollectURL{URL: url}
	}
	return err
}

// signFiles counts what the run has stored and what was signed for the pod. Pods that ask at once do not see each other's files.
func (s *Signer) signFiles(ctx context.Context, r *Run, files []httpapi.CollectFile) ([]httpapi.CollectURL, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var own []record.Artifact
	var others usage
	for f, err := range s.Store.Stored(ctx, r.record()) {
		switch {
		case err != nil:
			return nil, err
		case f.Pod == r.Name:
			own = append(own, f)
		default:
			others = others.plus(usage{1, f.Bytes})
		}
	}
	urls := s.admit(r.UID, own, others, files)
	var err error
	for i, f := range files {
		if urls[i].Problem != "" {
			continue
		}
		if urls[i].URL, err = s.Store.SignCollect(ctx, r.record(), r.Name, f.Path, f.Bytes); err != nil {
			return nil, err
		}
	}
	return urls, nil
}

func (s *Signer) admit(pod types.UID, own []record.Artifact, others usage, files []httpapi.CollectFile) []httpapi.CollectURL {
	urls := make([]httpapi.CollectURL, len(files))
	s.signed.update(pod, func(pod *podFiles) {
		for _, f := range own {
			pod.add(f.Path, f.Bytes)
		}
		for i, f := range files {
			urls[i].Path = f.Path
			if urls[i].Problem = refusal(f, pod.beside(f.Path).plus(others)); urls[i].Problem == "" {
				pod.add(f.Path, f.Bytes)
			}
		}
	})
	return urls
}

// refusal returns why a file cannot be kept, as a sentence, or "".
func refusal(f httpapi.CollectFile, beside usage) string {
	err := inputpath.Check(f.Path)
	switch {
	case err != nil:
		return fmt.Sprintf("The path %s.", err)
	case f.Bytes > record.MaxArtifactBytes:
		return fmt.Sprintf("The file has %s, and at most %s are kept.", plaintext.Bytes(f.Bytes), plaintext.Bytes(record.MaxArtifactBytes))
	case beside.count >= record.MaxArtifacts:
		return fmt.Sprintf("The run has %d files, and no more are kept.", beside.count)
	case beside.bytes+f.Bytes > record.MaxRunBytes:
		return fmt.Sprintf("With this file, the run would have more than the %s that are kept.", plaintext.Bytes(record.MaxRunBytes))
	default:
		return ""
	}
}

// previousResults returns those of the last run of the Trigger, Environment and service that the store has; nil if there are none. It
// lacks those of a run that ended while it was unavailable.
func (s *Signer) previousResults(ctx context.Context, r *Run) (*httpapi.PreviousResults, error) {
	for _, last := range s.Runs.WithResults(r.Suite) {
		urls, err := s.Store.SignPreviousResults(ctx, record.Of(r.Team.Name, last))
		if err != nil {
			return nil, err
		}
		if len(urls) > 0 {
			return &httpapi.PreviousResults{Run: last.Name, URLs: urls}, nil
		}
	}
	return nil, nil
}
