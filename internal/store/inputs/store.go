package inputs

import (
	"context"
	"io/fs"
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// Store keeps the files of all teams in a bucket.
type Store struct {
	Bucket *objectstore.Bucket
}

// SignUpload returns a URL to PUT a file of the team, and when it ends. The content type is signed, and the size too unless it is negative.
func (s *Store) SignUpload(ctx context.Context, team, path string, bytes int64) (string, time.Time, error) {
	key, err := inputpath.Key(team, path)
	if err != nil {
		return "", time.Time{}, err
	}
	upload := objectstore.Upload(key, bytes)
	upload.Public = true
	return s.Bucket.SignUntil(ctx, upload)
}

// SignDownload returns a URL by which a pod can GET a file of the team.
func (s *Store) SignDownload(ctx context.Context, team, path string, lifetime time.Duration) (string, error) {
	key, err := inputpath.Key(team, path)
	if err != nil {
		return "", err
	}
	return s.Bucket.Sign(ctx, objectstore.Request{Method: http.MethodGet, Key: key, Lifetime: max(lifetime, objectstore.MinLifetime)})
}

// Stat returns fs.ErrNotExist if there is no such file, or if it belongs to an earlier Team of this name. Other errors may pass, and
// continue "the store: ".
func (s *Store) Stat(ctx context.Context, team *v1alpha1.Team, path string) (v1alpha1.SuiteInput, error) {
	key, err := inputpath.Key(team.Name, path)
	if err != nil {
		return v1alpha1.SuiteInput{}, err
	}
	found, err := s.Bucket.Stat(ctx, key)
	if err != nil {
		return v1alpha1.SuiteInput{}, err
	}
	if !team.Owns(found.Modified) {
		return v1alpha1.SuiteInput{}, fs.ErrNotExist
	}
	return v1alpha1.SuiteInput{Path: path, Size: found.Bytes, ETag: found.ETag}, nil
}
