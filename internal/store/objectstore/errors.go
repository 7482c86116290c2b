package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// unavailable is an error that may pass. Its text contains no secrets; the cause is for errors.Is.
type unavailable struct {
	text  string
	cause error
}

func (e *unavailable) Error() string { return e.text }
func (e *unavailable) Unwrap() error { return e.cause }

// result records whether the store answered, and translates the error. A request that the caller canceled says nothing about the store.
func (b *Bucket) result(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &unavailable{text: "the request was given up", cause: ctx.Err()}
	}
	b.health.record(err)
	answer := minio.ToErrorResponse(err)
	switch {
	case err == nil:
		return nil
	case answer.Code == minio.NoSuchBucket:
		return &unavailable{text: noBucket, cause: err}
	case answer.StatusCode == http.StatusNotFound:
		return fs.ErrNotExist
	case answer.StatusCode == http.StatusForbidden:
		// Without the right to list, stores answer so for a missing object, too.
		return &unavailable{text: "it refuses the request; " + neededRights, cause: err}
	default:
		return &unavailable{text: publicMessage(err), cause: err}
	}
}

const (
	noBucket     = "it has no such bucket; create it, or set --store-create-bucket"
	neededRights = "the manager's key needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket"
)

// answered reports whether the store answered. minio-go leaves out the status of some errors.
func answered(err error) bool {
	answer := minio.ToErrorResponse(err)
	return err == nil || answer.StatusCode != 0 || answer.Code != ""
}

// publicMessage is the part of an error without addresses, keys and signatures: the code of the store's answer, or why there was none.
func publicMessage(err error) string {
	answer := minio.ToErrorResponse(err)
	switch {
	case !answered(err):
		return connectionMessage(err)
	case answer.StatusCode == 0:
		return "it answered " + answer.Code
	default:
		return strings.TrimSpace(fmt.Sprintf("it answered %d %s", answer.StatusCode, answer.Code))
	}
}

// connectionMessage returns why there was no answer. It quotes no error, because those contain addresses and signed URLs.
func connectionMessage(err error) string {
	if silent, ok := errors.AsType[silentError](err); ok {
		return silent.Error()
	}
	if source, ok := errors.AsType[*credentialsError](err); ok {
		return source.Error()
	}
	switch transfer.CauseOf(err) {
	case transfer.Refused:
		return "it refuses connections"
	case transfer.UnknownHost:
		return "its name cannot be resolved"
	case transfer.Untrusted:
		return "its TLS certificate is not trusted; set --store-ca-file"
	case transfer.Silent:
		return "it does not answer in time"
	default:
		return "the connection to it fails"
	}
}
