package archive

import (
	"context"
	"errors"
	"time"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// Clear deletes the archive's objects of runs on days that ended before the given time, and returns the number of those runs.
func (a *Archive) Clear(ctx context.Context, team string, before time.Time) (runs int, err error) {
	days, err := a.days(ctx, team)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, day := range over(days, before) {
		n, err := a.clearDay(ctx, team, day)
		runs += n
		errs = append(errs, err)
	}
	return runs, errors.Join(errs...)
}

// over returns the days that ended by the given time.
func over(days []time.Time, before time.Time) (all []time.Time) {
	for _, day := range days {
		if !day.AddDate(0, 0, 1).After(before) {
			all = append(all, day)
		}
	}
	return all
}

func (a *Archive) clearDay(ctx context.Context, team string, day time.Time) (runs int, err error) {
	d := &deletion{bucket: a.Bucket}
	for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.DayPrefix(team, day)}) {
		if err != nil {
			return d.runs, err
		}
		if r, err := record.ParseDirectory(team, object.Key); err == nil && r.Owns(object.Key) {
			d.add(r, object.Key)
		}
		if len(d.objects) == batch {
			if err := d.flush(ctx); err != nil {
				return d.runs, err
			}
		}
	}
	err = d.flush(ctx)
	return d.runs, err
}

// deletion collects keys of a day until a batch is full.
type deletion struct {
	bucket           *objectstore.Bucket
	indexes, objects []string
	last             record.Run
	runs             int // that lost objects
}

func (d *deletion) add(r record.Run, key string) {
	if r != d.last {
		d.last = r
		d.indexes = append(d.indexes, r.IndexKey())
	}
	d.objects = append(d.objects, key)
}

// flush deletes the indexes first: without the other objects, nothing would lead to them.
func (d *deletion) flush(ctx context.Context) error {
	for _, keys := range [][]string{d.indexes, d.objects} {
		if err := d.bucket.Delete(ctx, keys...); err != nil {
			return err
		}
	}
	d.runs += len(d.indexes)
	d.indexes, d.objects = nil, nil
	return nil
}
