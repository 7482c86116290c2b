package runs

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
)

const (
	maxFileLists = 64               // bounds the lists of files in memory, each with up to 1,000 files and 100 KiB
	filesFor     = 15 * time.Second // how long a list of files is kept: a live page asks for it at each change
)

type fileLists struct{ *cache.LRUExpireCache }

func newFileLists() *fileLists { return &fileLists{cache.NewLRUExpireCache(maxFileLists)} }

type fileListKey struct {
	run   record.Run
	after string
	limit int
}

type fileList struct {
	files []record.Artifact
	next  string
}

// Artifacts returns the files of a run by pod and path, and where the next page starts. Without an archive there are none.
func (r *Reader) Artifacts(ctx context.Context, run *Run, after string, limit int) (files []record.Artifact, next string, err error) {
	if r.Archive == nil {
		return nil, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
	defer cancel()
	files, next, err = r.Archive.Artifacts(ctx, run.ID, after, limit)
	if err != nil {
		return nil, "", archiveError(err)
	}
	r.files.Add(fileListKey{run.ID, after, limit}, fileList{files, next}, filesFor)
	return files, next, nil
}

// RecentArtifacts returns Artifacts that may have been read a moment ago.
func (r *Reader) RecentArtifacts(ctx context.Context, run *Run, after string, limit int) (files []record.Artifact, next string, err error) {
	if known, ok := r.files.Get(fileListKey{run.ID, after, limit}); ok {
		list := known.(fileList)
		return list.files, list.next, nil
	}
	return r.Artifacts(ctx, run, after, limit)
}

// OpenArtifact opens a file of a pod of a run. The error is fs.ErrNotExist if there is none.
func (r *Reader) OpenArtifact(ctx context.Context, run *Run, pod, path string) (record.File, error) {
	return r.Archive.OpenArtifact(ctx, run.ID, pod, path)
}

// SignArtifacts returns URLs to GET the files from, without those that no pod can have written.
func (r *Reader) SignArtifacts(ctx context.Context, run *Run, files []record.Artifact) (signed []httpapi.Artifact, err error) {
	for _, f := range files {
		url, err := r.Archive.SignArtifact(ctx, run.ID, f.Pod, f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, archiveError(err)
		}
		signed = append(signed, httpapi.Artifact{Path: f.Path, Pod: f.Pod, Bytes: f.Bytes, URL: url})
	}
	return signed, nil
}
