package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// Archive keeps what runs left behind. Methods return fs.ErrNotExist for what is missing. Other errors may
// pass; their text is public, and continues "the store: ".
type Archive struct {
	Bucket *objectstore.Bucket

	merging, summarizing turn // one at a time each, because they need much memory
}

// turn is a mutex that can be waited for with a context. The zero value is free.
type turn struct {
	once sync.Once
	free chan struct{}
}

func (t *turn) take(ctx context.Context) (release func(), err error) {
	t.once.Do(func() { t.free = make(chan struct{}, 1) })
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// SaveRecord stores the record of a run, and the index object that leads from its id to it.
func (a *Archive) SaveRecord(ctx context.Context, rec record.Record) error {
	content, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	r := record.Run{Team: rec.Team, ID: rec.ID, Created: rec.CreatedAt}
	if err := a.Bucket.Put(ctx, r.RecordKey(), "application/json", bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	return a.Bucket.Put(ctx, r.IndexKey(), "application/octet-stream", bytes.NewReader(nil), 0)
}

// Record returns the record of the newest run with this id.
func (a *Archive) Record(ctx context.Context, team, id string) (record.Record, error) {
	if !validName(id) {
		return record.Record{}, fs.ErrNotExist
	}
	var newest record.Run
	for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.IndexPrefix(team, id)}) {
		if err != nil {
			return record.Record{}, err
		}
		if r, err := record.ParseIndexKey(team, id, object.Key); err == nil {
			newest = r // keys are in the order of time
		}
	}
	if newest.ID == "" {
		return record.Record{}, fs.ErrNotExist
	}
	var rec record.Record
	err := a.read(ctx, newest, &rec)
	return rec, err
}

// errUnreadable means that an object is no record, or not one of this version.
var errUnreadable = errors.New("the record of the run cannot be read")

// read decodes the record of a run. It returns fs.ErrNotExist for a run that has none yet.
func (a *Archive) read(ctx context.Context, r record.Run, into any) error {
	object, size, err := a.Bucket.Get(ctx, r.RecordKey())
	if err != nil {
		return err
	}
	defer object.Close()
	if size > maxRecord {
		return fmt.Errorf("%w: it has %d bytes, and at most %d are read", errUnreadable, size, maxRecord)
	}
	content, err := io.ReadAll(io.LimitReader(object, maxRecord))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

// validName reports whether a run, pod or container can have the name. Others could lead to foreign keys.
func validName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// validFile reports whether a pod can have stored a file under the path.
func validFile(pod, path string) bool { return validName(pod) && inputpath.Check(path) == nil }
