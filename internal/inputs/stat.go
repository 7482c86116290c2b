package inputs

import (
	"context"
	"io/fs"
	"net/http"

	"github.com/minio/minio-go/v7"

	"github.com/postflight-dev/postflight/internal/inputpath"
)

// Stat asks the store for the size and the ETag of a team's file. If there is no such file, the error is
// fs.ErrNotExist. Any other error may pass, and completes a sentence that starts with "the store:".
func (s *Store) Stat(ctx context.Context, team, path string) (size int64, etag string, err error) {
	key, err := inputpath.Key(team, path)
	if err != nil {
		return 0, "", err
	}
	if err := s.health.lastFailure(); err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	info, err := s.private.StatObject(ctx, s.options.Bucket, key, minio.StatObjectOptions{})
	s.health.record(err)
	switch {
	case err == nil:
		return info.Size, info.ETag, nil
	case minio.ToErrorResponse(err).StatusCode == http.StatusNotFound:
		return 0, "", fs.ErrNotExist
	case minio.ToErrorResponse(err).StatusCode == http.StatusForbidden:
		// Without the right to list, stores answer so for a missing file, too.
		return 0, "", &unavailable{text: "it refuses to show the file; the manager's key needs s3:GetObject and s3:ListBucket", cause: err}
	default:
		return 0, "", &unavailable{text: publicMessage(err), cause: err}
	}
}
