package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
)

// File is an object that can be read from any offset. It sends a request at the first read after Open or Seek.
type File struct {
	Bytes    int64
	ETag     string // with its quotes
	Modified time.Time

	bucket *Bucket
	ctx    context.Context // of all requests
	key    string
	at     int64
	body   io.ReadCloser // from at on; nil before it is read
}

// Open looks up the object. Reading fails if the object changes meanwhile.
func (b *Bucket) Open(ctx context.Context, key string) (*File, error) {
	f := &File{bucket: b, ctx: ctx, key: key}
	err := b.ask(ctx, askTimeout, func(ctx context.Context) error {
		info, err := b.private.StatObject(ctx, b.options.Bucket, key, minio.StatObjectOptions{})
		f.Bytes, f.ETag, f.Modified = info.Size, `"`+info.ETag+`"`, info.LastModified
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) Read(p []byte) (int, error) {
	if f.at >= f.Bytes {
		return 0, io.EOF
	}
	if f.body == nil {
		if err := f.open(); err != nil {
			return 0, err
		}
	}
	n, err := f.body.Read(p)
	f.at += int64(n)
	return n, err
}

func (f *File) open() error {
	o := minio.GetObjectOptions{}
	err := o.SetMatchETag(f.ETag[1 : len(f.ETag)-1])
	if f.at > 0 {
		err = errors.Join(err, o.SetRange(f.at, 0))
	}
	if err != nil {
		return err
	}
	f.body, _, err = f.bucket.get(f.ctx, f.key, o)
	return err
}

// Seek sends no request.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.Bytes
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek %s: there is nothing before its start", f.key)
	}
	if offset == f.at {
		return offset, nil
	}
	f.at = offset
	return offset, f.Close()
}

// Close ends the request. A file can be read again.
func (f *File) Close() error {
	if f.body == nil {
		return nil
	}
	body := f.body
	f.body = nil
	return body.Close()
}
