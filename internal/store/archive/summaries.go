package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// Summarize brings the summary of a day up to date with the records of its runs. It reads only runs that the summary lacks, and writes
// nothing if there are none. What an interrupted call has left is replaced by the next one.
func (a *Archive) Summarize(ctx context.Context, team string, day time.Time) error {
	release, err := a.summarizing.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	name := day.UTC().Format(history.DayLayout)
	old, err := a.Day(ctx, team, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, history.ErrUnreadable) {
		return err
	}
	found, err := a.runsOf(ctx, team, day, nil)
	if err != nil {
		return err
	}
	runs, added, err := a.summaryRuns(ctx, found, old.Runs)
	if err != nil || len(added) == 0 && len(runs) == len(old.Runs) {
		return err
	}
	next := history.NewDay(team, name, runs, nil)
	var places []history.PlaceDay
	for _, p := range next.PlacesWithTests() {
		listed := next.RunsOf(p)
		if kept := history.Unchanged(&old, p, listed); kept != nil {
			places = append(places, *kept)
			continue
		}
		summary, err := a.summarizePlace(ctx, team, name, p, listed)
		if err != nil {
			return err
		}
		places = append(places, summary)
	}
	next = history.NewDay(team, name, runs, places)
	if err := a.put(ctx, record.SummaryKey(team, name), next.Encode()); err != nil {
		return err
	}
	return a.dropUnused(ctx, team, name, places)
}

// summaryRuns returns what the summary says of the runs that were found, and which of them it lacked.
func (a *Archive) summaryRuns(ctx context.Context, found []record.Run, known []history.Run) (all, added []history.Run, err error) {
	byID := map[string]history.Run{}
	for _, r := range known {
		byID[r.ID] = r
	}
	var missing []record.Run
	for _, r := range found {
		if k, ok := byID[r.ID]; ok {
			all = append(all, k)
		} else {
			missing = append(missing, r)
		}
	}
	for page := range slices.Chunk(missing, batch) {
		records, err := a.Summaries(ctx, page)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range records {
			h := history.RunOf(r)
			if h.Tests > 0 {
				if h.Listed, err = a.exists(ctx, record.Run{Team: r.Team, ID: r.ID, Created: r.CreatedAt}.TestsKey()); err != nil {
					return nil, nil, err
				}
			}
			added = append(added, h)
		}
	}
	return append(all, added...), added, nil
}

func (a *Archive) exists(ctx context.Context, key string) (bool, error) {
	_, err := a.Bucket.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (a *Archive) summarizePlace(
	ctx context.Context, team, day string, place httpapi.Place, listed []history.Run,
) (history.PlaceDay, error) {
	builder, chosen := history.NewPlaceBuilder(place, listed)
	for _, r := range chosen {
		created, err := r.Created()
		if err != nil {
			continue
		}
		builder.Begin(r.ID)
		_, err = a.Tests(ctx, record.Run{Team: team, ID: r.ID, Created: created}, builder.Add)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, history.ErrUnreadable) {
			return history.PlaceDay{}, err
		}
	}
	summary, content := builder.Finish()
	return summary, a.put(ctx, record.SummaryTestsKey(team, day, place, summary.Object), content)
}

// dropUnused deletes the tests of earlier summaries of the day. A reader of one of these reads the summary again.
func (a *Archive) dropUnused(ctx context.Context, team, day string, places []history.PlaceDay) error {
	used := map[string]bool{}
	for _, p := range places {
		used[record.SummaryTestsKey(team, day, p.Place, p.Object)] = true
	}
	var unused []string
	for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.SummaryTestsPrefix(team, day)}) {
		if err != nil {
			return err
		}
		if !used[object.Key] {
			unused = append(unused, object.Key)
		}
	}
	return a.Bucket.Delete(ctx, unused...)
}

// OpenDay opens the summary of a day, such as 2026-11-21.
func (a *Archive) OpenDay(ctx context.Context, team, day string) (content io.ReadCloser, bytes int64, err error) {
	return a.Bucket.Get(ctx, record.SummaryKey(team, day))
}

// Day returns the whole summary of a day.
func (a *Archive) Day(ctx context.Context, team, day string) (history.Day, error) {
	object, _, err := a.OpenDay(ctx, team, day)
	if err != nil {
		return history.Day{}, err
	}
	defer object.Close()
	return history.ReadDay(object)
}

// TestOn returns a test in a place on a day.
func (a *Archive) TestOn(
	ctx context.Context, team, day string, p *history.PlaceDay, name string,
) (t history.TestDay, found bool, err error) {
	from, to, ok := p.BlockOf(name)
	if !ok {
		return t, false, nil
	}
	block, err := a.Bucket.GetRange(ctx, record.SummaryTestsKey(team, day, p.Place, p.Object), from, to)
	if err != nil {
		return t, false, err
	}
	defer block.Close()
	return p.FindTest(block, name)
}

// TestsOn reads the tests in a place on a day that have a text in their line, by name.
func (a *Archive) TestsOn(ctx context.Context, team, day string, p *history.PlaceDay, text string, each func(history.TestDay)) error {
	object, _, err := a.Bucket.Get(ctx, record.SummaryTestsKey(team, day, p.Place, p.Object))
	if err != nil {
		return err
	}
	defer object.Close()
	return p.ReadTests(object, text, each)
}

// summaryDays returns the days that have a summary.
func (a *Archive) summaryDays(ctx context.Context, team string) ([]time.Time, error) {
	var days []time.Time
	for folder, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.SummariesPrefix(team), Folders: true}) {
		if err != nil {
			return nil, err
		}
		if day, err := record.ParseSummaryDay(team, folder.Key); err == nil {
			days = append(days, day)
		}
	}
	return days, nil
}

// ClearSummaries deletes the summaries of days that ended before the given time.
func (a *Archive) ClearSummaries(ctx context.Context, team string, before time.Time) error {
	days, err := a.summaryDays(ctx, team)
	if err != nil {
		return err
	}
	for _, day := range over(days, before) {
		var keys []string
		for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.SummaryPrefix(team, day.Format(history.DayLayout))}) {
			if err != nil {
				return err
			}
			keys = append(keys, object.Key)
		}
		if err := a.Bucket.Delete(ctx, keys...); err != nil {
			return err
		}
	}
	return nil
}
