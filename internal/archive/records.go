package archive

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/internal/objectstore"
	"github.com/postflight-dev/postflight/internal/record"
)

// Records are those of a team's runs, newest first; with before, only those older than it. There are fewer than limit
// only if there are no more.
func (a *Archive) Records(ctx context.Context, team string, before *record.Run, limit int) ([]record.Record, error) {
	var all []record.Record
	next, stop := iter.Pull2(a.runs(ctx, team, before))
	defer stop()
	for len(all) < limit {
		var page []record.Run
		for len(page) < limit-len(all) {
			r, err, more := next()
			if err != nil {
				return nil, err
			}
			if !more {
				break
			}
			page = append(page, r)
		}
		if len(page) == 0 {
			break
		}
		found, err := a.readAll(ctx, page)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// readAll leaves out runs that have no record yet, and records that cannot be read: one must not hide all others.
func (a *Archive) readAll(ctx context.Context, runs []record.Run) ([]record.Record, error) {
	records := make([]record.Record, len(runs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, r := range runs {
		group.Go(func() (err error) {
			records[i], err = a.read(ctx, r)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnreadable) {
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(records, func(r record.Record) bool { return r.ID == "" }), err
}

// runs are those of a team, newest first. Stores list only forwards, so each day is listed as a whole.
func (a *Archive) runs(ctx context.Context, team string, before *record.Run) iter.Seq2[record.Run, error] {
	return func(yield func(record.Run, error) bool) {
		days, err := a.days(ctx, team)
		if err != nil {
			yield(record.Run{}, err)
			return
		}
		for _, day := range slices.Backward(days) {
			if before != nil && day.After(before.Created) {
				continue
			}
			runs, err := a.runsOf(ctx, team, day, before)
			if err != nil {
				yield(record.Run{}, err)
				return
			}
			for _, r := range slices.Backward(runs) {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// days on which there is anything, oldest first.
func (a *Archive) days(ctx context.Context, team string) ([]time.Time, error) {
	var days []time.Time
	for folder, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.DaysPrefix(team), Folders: true}) {
		if err != nil {
			return nil, err
		}
		if day, err := record.ParseDay(team, folder.Key); err == nil {
			days = append(days, day)
		}
	}
	return days, nil
}

// runsOf a day, oldest first.
func (a *Archive) runsOf(ctx context.Context, team string, day time.Time, before *record.Run) ([]record.Run, error) {
	var runs []record.Run
	for folder, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.DayPrefix(team, day), Folders: true}) {
		if err != nil {
			return nil, err
		}
		if before != nil && folder.Key >= before.Directory() {
			break
		}
		if r, err := record.ParseDirectory(team, folder.Key); err == nil {
			runs = append(runs, r)
		}
	}
	return runs, nil
}
