package archive

import (
	"compress/gzip"
	"context"
	"io"
	"io/fs"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// SaveLog stores a log compressed, without its middle if it is too long. If reading fails, it stores what it has read, if anything, and
// sets the Problem: the error is only about storing.
func (a *Archive) SaveLog(ctx context.Context, r record.Run, pod, container string, previous bool, log io.Reader) (record.Log, error) {
	saved := record.Log{Pod: pod, Container: container, Previous: previous}
	s, err := newSpool()
	if err != nil {
		return saved, err
	}
	defer s.close()
	failure, err := s.fill(log)
	switch {
	case err != nil:
		return saved, err
	case ctx.Err() != nil:
		return saved, ctx.Err()
	case failure != nil:
		saved.Problem = record.BrokenLog
	}
	if saved.Bytes = s.size; s.size == 0 && failure != nil {
		return saved, nil // an empty log would claim that the container wrote nothing
	}
	saved.Omitted, err = s.compress(failure != nil)
	if err != nil {
		return saved, err
	}
	return saved, a.Bucket.Put(ctx, r.LogKey(pod, container, previous), "application/gzip", s.packed, s.packedSize)
}

// Logs are the saved logs of a run, with their compressed sizes.
func (a *Archive) Logs(ctx context.Context, r record.Run) ([]record.Log, error) {
	var logs []record.Log
	for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: r.LogsPrefix()}) {
		if err != nil {
			return nil, err
		}
		if log, ok := r.ParseLogKey(object.Key); ok {
			log.Bytes = object.Bytes
			logs = append(logs, log)
		}
	}
	return logs, nil
}

// OpenLog opens a saved log, and decompresses it while it is read.
func (a *Archive) OpenLog(ctx context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error) {
	if !validName(pod) || !validName(container) {
		return nil, fs.ErrNotExist
	}
	object, _, err := a.Bucket.Get(ctx, r.LogKey(pod, container, previous))
	if err != nil {
		return nil, err
	}
	text, err := gzip.NewReader(object)
	if err != nil {
		object.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{text, object}, nil
}
