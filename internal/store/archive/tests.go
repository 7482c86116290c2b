package archive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// SaveTests makes the object with all tests of a run from the logs of its pods. It does nothing if there are none.
func (a *Archive) SaveTests(ctx context.Context, r record.Run) error {
	release, err := a.merging.take(ctx) // a run of 200,000 tests needs some 100 MiB for a moment
	if err != nil {
		return err
	}
	defer release()
	var pods []history.PodTests
	room, missing := history.NewRoom(), false
	for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: r.PodTestsPrefix()}) {
		if err != nil {
			return err
		}
		pod, ok := r.ParsePodTestsKey(object.Key)
		if !ok || !validName(pod) {
			continue
		}
		if object.Bytes > record.MaxTestsBytes || len(pods) == record.MaxComparedPods {
			missing = true
			continue
		}
		tests, err := a.podTests(ctx, object.Key, pod, room)
		switch {
		case errors.Is(err, history.ErrUnreadable), errors.Is(err, fs.ErrNotExist):
			missing = true
		case err != nil:
			return err
		default:
			pods = append(pods, tests)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	all := history.MergePods(r.ID, pods)
	all.Incomplete = all.Incomplete || missing
	return a.put(ctx, r.TestsKey(), all.Encode())
}

func (a *Archive) podTests(ctx context.Context, key, pod string, room *history.Room) (history.PodTests, error) {
	object, _, err := a.Bucket.Get(ctx, key)
	if err != nil {
		return history.PodTests{}, err
	}
	defer object.Close()
	return history.ReadPod(pod, object, room)
}

func (a *Archive) put(ctx context.Context, key string, packed []byte) error {
	return a.Bucket.Put(ctx, key, "application/gzip", bytes.NewReader(packed), int64(len(packed)))
}

// Tests reads all tests of a run, by name. It returns fs.ErrNotExist if the run's tests are not known.
func (a *Archive) Tests(ctx context.Context, r record.Run, each func(httpapi.Test)) (history.RunHeader, error) {
	object, _, err := a.Bucket.Get(ctx, r.TestsKey())
	if err != nil {
		return history.RunHeader{}, err
	}
	defer object.Close()
	return history.ReadRun(object, each)
}
