package objectstore

import (
	"context"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// Info is what the store returns about an object.
type Info struct {
	Bytes    int64
	ETag     string
	Modified time.Time // when it was stored, in whole seconds of the store's clock
}

// Stat looks up an object. All methods return fs.ErrNotExist if there is none; other errors may pass, and continue "the store: ".
func (b *Bucket) Stat(ctx context.Context, key string) (found Info, err error) {
	err = b.ask(ctx, askTimeout, func(ctx context.Context) error {
		info, err := b.private.StatObject(ctx, b.options.Bucket, key, minio.StatObjectOptions{})
		found = Info{info.Size, info.ETag, info.LastModified}
		return err
	})
	return found, err
}

// Put stores an object, or replaces it. If the first attempt fails, it reads the content again.
func (b *Bucket) Put(ctx context.Context, key, contentType string, content io.ReadSeeker, size int64) error {
	return b.ask(ctx, putTimeout, func(ctx context.Context) error {
		_, err := b.private.PutObject(ctx, b.options.Bucket, key, content, size, minio.PutObjectOptions{
			ContentType:          contentType,
			DisableMultipart:     true,      // what fails leaves no parts behind
			DisableContentSha256: size == 0, // minio-go sends no valid stream of no bytes
		})
		return err
	})
}

// Get opens an object. Reading it may take any time, but fails while the store is silent.
func (b *Bucket) Get(ctx context.Context, key string) (content io.ReadCloser, size int64, err error) {
	return b.get(ctx, key, minio.GetObjectOptions{})
}

// GetRange is Get of the bytes of an object from one up to another, which is not included.
func (b *Bucket) GetRange(ctx context.Context, key string, from, to int64) (io.ReadCloser, error) {
	var o minio.GetObjectOptions
	if err := o.SetRange(from, to-1); err != nil {
		return nil, err
	}
	content, _, err := b.get(ctx, key, o)
	return content, err
}

func (b *Bucket) get(ctx context.Context, key string, o minio.GetObjectOptions) (content io.ReadCloser, size int64, err error) {
	if err := b.health.lastFailure(); err != nil {
		return nil, 0, err
	}
	w := watch(ctx, askTimeout)
	body, info, _, err := minio.Core{Client: b.private}.GetObject(w, b.options.Bucket, key, o)
	w.Pause()
	if err := b.result(ctx, w.Reason(err)); err != nil {
		w.End()
		return nil, 0, err
	}
	content = &watchedBody{resultReader{w.Reader(body), func(err error) error { return b.result(ctx, err) }}, body, w}
	return content, info.Size, nil
}

// Delete deletes objects until one fails; missing ones are no error. It sends one request each: some stores cannot delete many at once,
// and Ceph 16 allows that only to keys that may delete everything in the bucket.
func (b *Bucket) Delete(ctx context.Context, keys ...string) error {
	group, failed := errgroup.WithContext(ctx)
	group.SetLimit(deletesAtOnce)
	for _, key := range keys {
		if failed.Err() != nil {
			break // requests that were sent are not canceled, so that nothing happens after the return
		}
		group.Go(func() error {
			return b.ask(ctx, askTimeout, func(ctx context.Context) error {
				return b.private.RemoveObject(ctx, b.options.Bucket, key, minio.RemoveObjectOptions{})
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
