package objectstore

import (
	"context"
	"io"

	"github.com/minio/minio-go/v7"
)

// Stat is the size and the ETag of an object. If there is no such object, the error is fs.ErrNotExist. Any other
// error may pass, and completes a sentence that starts with "the store:". This holds for all methods.
func (b *Bucket) Stat(ctx context.Context, key string) (size int64, etag string, err error) {
	err = b.ask(ctx, askTimeout, func(ctx context.Context) error {
		info, err := b.private.StatObject(ctx, b.options.Bucket, key, minio.StatObjectOptions{})
		size, etag = info.Size, info.ETag
		return err
	})
	return size, etag, err
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
	if err := b.health.lastFailure(); err != nil {
		return nil, 0, err
	}
	w := watch(ctx, askTimeout)
	body, info, _, err := minio.Core{Client: b.private}.GetObject(w.ctx, b.options.Bucket, key, minio.GetObjectOptions{})
	w.pause()
	if err := b.result(ctx, w.reason(err)); err != nil {
		w.end()
		return nil, 0, err
	}
	result := func(err error) error { return b.result(ctx, err) }
	return &watchedBody{body: body, watchdog: w, result: result}, info.Size, nil
}

// Delete deletes objects. Those that do not exist are no error.
func (b *Bucket) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return b.ask(ctx, deleteTimeout, func(ctx context.Context) error {
		objects := func(yield func(minio.ObjectInfo) bool) {
			for _, key := range keys {
				if !yield(minio.ObjectInfo{Key: key}) {
					return
				}
			}
		}
		results, err := b.private.RemoveObjectsWithIter(ctx, b.options.Bucket, objects, minio.RemoveObjectsOptions{})
		if err != nil {
			return err
		}
		for r := range results {
			if r.Err != nil {
				return r.Err
			}
		}
		return ctx.Err()
	})
}
