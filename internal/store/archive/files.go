package archive

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// Artifact is a file that the tests of a run wrote.
type Artifact = record.Artifact

// Artifacts returns a page of a run's files, ordered by pod and path. The next page follows next, which is empty on the last one.
func (a *Archive) Artifacts(ctx context.Context, r record.Run, after string, limit int) (page []Artifact, next string, err error) {
	listing := objectstore.Listing{Prefix: r.ArtifactsPrefix(), Page: min(limit+1, batch)}
	if after != "" {
		listing.After = r.ArtifactsPrefix() + after
	}
	last := ""
	for object, err := range a.Bucket.List(ctx, listing) {
		if err != nil {
			return nil, "", err
		}
		if len(page) == limit {
			return page, last, nil
		}
		last = strings.TrimPrefix(object.Key, r.ArtifactsPrefix())
		if pod, path, ok := r.ParseArtifactKey(object.Key); ok {
			page = append(page, Artifact{Pod: pod, Path: path, Bytes: object.Bytes})
		}
	}
	return page, "", nil
}

// Stored returns all artifacts of a run.
func (a *Archive) Stored(ctx context.Context, r record.Run) iter.Seq2[Artifact, error] {
	return func(yield func(Artifact, error) bool) {
		for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: r.ArtifactsPrefix()}) {
			if err != nil {
				yield(Artifact{}, err)
				return
			}
			pod, path, _ := r.ParseArtifactKey(object.Key)
			if !yield(Artifact{Pod: pod, Path: path, Bytes: object.Bytes}, nil) {
				return
			}
		}
	}
}

// OpenArtifact opens a file of a run.
func (a *Archive) OpenArtifact(ctx context.Context, r record.Run, pod, path string) (record.File, error) {
	if !validFile(pod, path) {
		return record.File{}, fs.ErrNotExist
	}
	f, err := a.Bucket.Open(ctx, r.ArtifactKey(pod, path))
	if err != nil {
		return record.File{}, err
	}
	return record.File{ReadSeekCloser: f, Modified: f.Modified, ETag: f.ETag}, nil
}

// SignArtifact returns a URL that browsers only save: a page that tests wrote must not run with the rights of the store's site.
func (a *Archive) SignArtifact(ctx context.Context, r record.Run, pod, file string) (string, error) {
	if !validFile(pod, file) {
		return "", fs.ErrNotExist
	}
	return a.Bucket.Sign(ctx, objectstore.Request{
		Method: http.MethodGet, Key: r.ArtifactKey(pod, file), Public: true, Lifetime: downloadLifetime,
		Query: url.Values{
			"response-content-type":        {"application/octet-stream"},
			"response-content-disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(file)})},
		},
	})
}

// SignCollect returns a URL with which the pod can PUT one file, of exactly this length.
func (a *Archive) SignCollect(ctx context.Context, r record.Run, pod, path string, bytes int64) (string, error) {
	if !validFile(pod, path) {
		return "", fs.ErrInvalid
	}
	return a.Bucket.Sign(ctx, objectstore.Upload(r.ArtifactKey(pod, path), bytes))
}

// SignTests returns a URL with which the pod can PUT the log of its tests, of exactly this length.
func (a *Archive) SignTests(ctx context.Context, r record.Run, pod string, bytes int64) (string, error) {
	if !validName(pod) {
		return "", fs.ErrInvalid
	}
	return a.Bucket.Sign(ctx, objectstore.Upload(r.PodTestsKey(pod), bytes))
}

// SignResults returns a URL with which the pod can PUT its results, of exactly this length.
func (a *Archive) SignResults(ctx context.Context, r record.Run, pod string, bytes int64) (string, error) {
	if !validName(pod) {
		return "", fs.ErrInvalid
	}
	return a.Bucket.Sign(ctx, objectstore.Upload(r.ResultsKey(pod), bytes))
}

// Results returns the results documents of a run, ordered by pod, without those that no pod can have stored.
func (a *Archive) Results(ctx context.Context, r record.Run) iter.Seq2[record.Results, error] {
	return func(yield func(record.Results, error) bool) {
		for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: r.ResultsPrefix(), Page: record.MaxComparedPods}) {
			if err != nil {
				yield(record.Results{}, err)
				return
			}
			pod, ok := r.ParseResultsKey(object.Key)
			if !ok || !validName(pod) || object.Bytes > record.MaxResultsBytes {
				continue
			}
			content, err := a.content(ctx, object.Key)
			if !yield(record.Results{Pod: pod, Content: content}, err) || err != nil {
				return
			}
		}
	}
}

func (a *Archive) content(ctx context.Context, key string) ([]byte, error) {
	object, _, err := a.Bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	return io.ReadAll(io.LimitReader(object, record.MaxResultsBytes))
}

// SignPreviousResults returns URLs of all results of a run, or none if it has more pods than are compared: failures would look new.
func (a *Archive) SignPreviousResults(ctx context.Context, r record.Run) ([]string, error) {
	var urls []string
	for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: r.ResultsPrefix(), Page: record.MaxComparedPods + 1}) {
		if err != nil {
			return nil, err
		}
		if len(urls) == record.MaxComparedPods {
			return nil, nil
		}
		url, err := a.Bucket.Sign(ctx, objectstore.Request{Method: http.MethodGet, Key: object.Key})
		if err != nil {
			return nil, err
		}
		urls = append(urls, url)
	}
	return urls, nil
}
