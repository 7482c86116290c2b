package inputs

import (
	"context"
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/internal/inputpath"
	"github.com/postflight-dev/postflight/internal/objectstore"
)

// Store keeps the files of all teams in a bucket.
type Store struct {
	Bucket *objectstore.Bucket
}

// SignUpload returns a URL with which anyone can PUT a file to the path of the team. The content type is signed, so
// that the store refuses an upload of another one.
func (s *Store) SignUpload(ctx context.Context, team, path string) (string, error) {
	key, err := inputpath.Key(team, path)
	if err != nil {
		return "", err
	}
	return s.Bucket.Sign(ctx, objectstore.Request{
		Method: http.MethodPut, Key: key, Public: true, Header: http.Header{"Content-Type": {"application/octet-stream"}},
	})
}

// SignDownload returns a URL by which a pod can GET a file of the team.
func (s *Store) SignDownload(ctx context.Context, team, path string, lifetime time.Duration) (string, error) {
	key, err := inputpath.Key(team, path)
	if err != nil {
		return "", err
	}
	return s.Bucket.Sign(ctx, objectstore.Request{Method: http.MethodGet, Key: key, Lifetime: max(lifetime, objectstore.MinLifetime)})
}

// Stat asks the store for the size and the ETag of a team's file. If there is no such file, the error is
// fs.ErrNotExist. Any other error may pass, and completes a sentence that starts with "the store:".
func (s *Store) Stat(ctx context.Context, team, path string) (size int64, etag string, err error) {
	key, err := inputpath.Key(team, path)
	if err != nil {
		return 0, "", err
	}
	return s.Bucket.Stat(ctx, key)
}
