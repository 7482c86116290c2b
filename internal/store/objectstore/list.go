package objectstore

import (
	"context"
	"iter"
	"strings"

	"github.com/minio/minio-go/v7"
)

// Listing says which objects to list.
type Listing struct {
	Prefix  string // of all keys
	After   string // a key that sorts before all that are listed
	Folders bool   // list no objects, but the beginnings of their keys up to the first slash after the prefix, each once
	Page    int    // how many keys one request lists; 0: as many as the store allows, which is 1,000
}

// Object is an entry of a listing. A folder has no size.
type Object struct {
	Key   string
	Bytes int64
}

// List lists objects in the order of their keys, in as many requests as that takes. An error is the last entry.
func (b *Bucket) List(ctx context.Context, l Listing) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if err := b.health.lastFailure(); err != nil {
			yield(Object{}, err)
			return
		}
		w := watch(ctx, askTimeout)
		defer w.End()
		for entry := range b.private.ListObjectsIter(w, b.options.Bucket, minio.ListObjectsOptions{
			Prefix: l.Prefix, StartAfter: l.After, Recursive: !l.Folders, MaxKeys: l.Page, FetchOwner: new(false),
		}) {
			if entry.Err != nil {
				yield(Object{}, b.result(ctx, w.Reason(entry.Err)))
				return
			}
			if l.Folders && !strings.HasSuffix(entry.Key, "/") {
				continue // of each page, all objects come before all folders
			}
			if l.After != "" && entry.Key <= l.After {
				continue // rclone begins with the first key if there is no object of that name
			}
			w.Pause() // while the caller is busy
			if !yield(Object{Key: entry.Key, Bytes: entry.Size}, nil) {
				return
			}
			w.Moved()
		}
		if err := w.Err(); err != nil { // a canceled listing ends without an error
			yield(Object{}, b.result(ctx, w.Reason(err)))
			return
		}
		b.health.record(nil)
	}
}
