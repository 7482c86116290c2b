package archive

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// Summaries returns runs as the HTTP API shows them, in the given order, without those whose record is missing or unreadable: one must not
// hide all others. They need little memory.
func (a *Archive) Summaries(ctx context.Context, runs []record.Run) ([]httpapi.Run, error) {
	found := make([]*httpapi.Run, len(runs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, r := range runs {
		group.Go(func() error {
			content := &httpapi.Run{}
			err := a.read(ctx, r, content)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnreadable) {
				return nil
			}
			found[i] = content
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []httpapi.Run
	for _, content := range found {
		if content != nil {
			all = append(all, *content)
		}
	}
	return all, nil
}

// Runs returns a team's runs, newest first, and with before (of any team) only older ones. Stores list forwards, so days are listed whole.
func (a *Archive) Runs(ctx context.Context, team string, before *record.Run) iter.Seq2[record.Run, error] {
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
		r, err := record.ParseDirectory(team, folder.Key)
		if err != nil {
			continue
		}
		if before != nil && r.Compare(*before) >= 0 {
			break
		}
		runs = append(runs, r)
	}
	return runs, nil
}
