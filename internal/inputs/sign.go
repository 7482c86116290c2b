package inputs

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/postflight-dev/postflight/internal/inputpath"
)

// uploadHeaders are signed, so that the store refuses an upload of another content type.
var uploadHeaders = http.Header{"Content-Type": {"application/octet-stream"}}

// SignUpload returns a URL with which anyone can PUT a file to the path of the team.
func (s *Store) SignUpload(ctx context.Context, team, path string) (string, error) {
	return s.sign(ctx, s.public, http.MethodPut, team, path, s.options.UploadLifetime, uploadHeaders)
}

// SignDownload returns a URL by which a pod can GET a file of the team.
func (s *Store) SignDownload(ctx context.Context, team, path string, lifetime time.Duration) (string, error) {
	return s.sign(ctx, s.private, http.MethodGet, team, path, min(max(lifetime, MinLifetime), MaxLifetime), nil)
}

func (s *Store) sign(ctx context.Context, c *minio.Client, method, team, path string, lifetime time.Duration, headers http.Header) (string, error) {
	key, err := inputpath.Key(team, path)
	if err != nil {
		return "", err
	}
	u, err := c.PresignHeader(ctx, method, s.options.Bucket, key, lifetime, nil, headers)
	if err != nil {
		return "", &unavailable{text: fmt.Sprintf("no URL can be signed: %s", connectionMessage(err)), cause: err}
	}
	return u.String(), nil
}
