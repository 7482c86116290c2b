package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

const (
	// maxSeries bounds the repositories of an Environment that an answer looks at. Its status has at most 50 at a time.
	maxSeries = 100

	fewKeys = 20 // bounds a listing for its first key: one would do, but rclone begins with the first of all

	maxDeployment = 256 << 10 // bounds a line that is read, in bytes: 20 workloads with 16 digests of 256 bytes have 100 KiB
)

// SaveDeployment stores the line of a deployment, unless it is there. What is known once stays known.
func (a *Archive) SaveDeployment(ctx context.Context, d record.Deployment) error {
	stored, err := a.deployment(ctx, d.Key())
	switch {
	case err == nil:
		if d = stored.Merge(d); d.Equal(stored) {
			return nil
		}
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errUnreadable):
		return err
	}
	return a.putDeployment(ctx, d)
}

func (a *Archive) putDeployment(ctx context.Context, d record.Deployment) error {
	content, err := json.Marshal(d)
	if err != nil {
		return err
	}
	content = append(content, '\n')
	return a.Bucket.Put(ctx, d.Key(), "application/json", bytes.NewReader(content), int64(len(content)))
}

func (a *Archive) deployment(ctx context.Context, key string) (d record.Deployment, err error) {
	object, _, err := a.Bucket.Get(ctx, key)
	if err != nil {
		return d, err
	}
	defer object.Close()
	content, err := io.ReadAll(io.LimitReader(object, maxDeployment))
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(content, &d); err != nil {
		return d, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return d, nil
}

// DeploymentsAt returns what an Environment had of each repository at a time, with a few requests for each, however many there were. It
// returns fs.ErrNotExist if the archive knows nothing of the Environment.
func (a *Archive) DeploymentsAt(ctx context.Context, team, environment string, at time.Time) ([]record.Deployment, error) {
	var keys []record.DeploymentKey
	err := a.eachSeries(ctx, team, environment, func(ctx context.Context, s record.Series, add func(func())) error {
		for k, err := range a.deploymentKeys(ctx, objectstore.Listing{Prefix: s.Prefix(), After: s.From(at), Page: fewKeys}, team) {
			if err == nil && !k.Deleted {
				add(func() { keys = append(keys, k) })
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.readDeployments(ctx, keys)
}

// DeploymentHistory returns what an Environment had in a span, newest first, and whether there is more than the limit. It lists the keys of
// all later ones, because stores list forwards.
func (a *Archive) DeploymentHistory(
	ctx context.Context, team, environment string, span record.Span, limit int,
) (all []record.Deployment, more bool, err error) {
	page := min(limit+2, batch)
	if !span.Before.IsZero() {
		page = batch
	}
	var keys []record.DeploymentKey
	until := map[string]time.Time{}
	err = a.eachSeries(ctx, team, environment, func(ctx context.Context, s record.Series, add func(func())) error {
		var ended time.Time
		found := 0
		for k, err := range a.deploymentKeys(ctx, objectstore.Listing{Prefix: s.Prefix(), Page: page}, team) {
			if err != nil {
				return err
			}
			end := ended
			if ended = k.At; !k.Deleted && (span.Before.IsZero() || k.At.Before(span.Before)) {
				found++
				add(func() { keys, until[k.Key] = append(keys, k), end })
			}
			if !k.At.After(span.After) || found > limit {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(keys, func(a, b record.DeploymentKey) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Key, b.Key)) })
	more = len(keys) > limit
	all, err = a.readDeployments(ctx, keys[:min(len(keys), limit)])
	for i := range all {
		if end := until[all[i].Key()]; !end.IsZero() {
			all[i].Until = &end
		}
	}
	return all, more, err
}

// eachSeries looks at the repositories of an Environment, several at once. What add is given runs alone.
func (a *Archive) eachSeries(
	ctx context.Context, team, environment string, look func(ctx context.Context, s record.Series, add func(func())) error,
) error {
	if !validName(environment) {
		return fs.ErrNotExist
	}
	var all []record.Series
	prefix := record.DeploymentsPrefix(team, environment)
	for folder, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: prefix, Folders: true, Page: maxSeries}) {
		if err != nil {
			return err
		}
		if s, ok := record.ParseSeries(team, environment, folder.Key); ok {
			all = append(all, s)
		}
		if len(all) == maxSeries {
			break
		}
	}
	if len(all) == 0 {
		return fs.ErrNotExist
	}
	var mu sync.Mutex
	add := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, s := range all {
		group.Go(func() error { return look(ctx, s, add) })
	}
	return group.Wait()
}

// deploymentKeys lists what has the form of a key.
func (a *Archive) deploymentKeys(ctx context.Context, l objectstore.Listing, team string) iter.Seq2[record.DeploymentKey, error] {
	return func(yield func(record.DeploymentKey, error) bool) {
		for object, err := range a.Bucket.List(ctx, l) {
			if err != nil {
				yield(record.DeploymentKey{}, err)
				return
			}
			if k, ok := record.ParseDeploymentKey(team, object.Key); ok && !yield(k, nil) {
				return
			}
		}
	}
}

// readDeployments reads lines in the order of their keys. It skips those that were deleted or cannot be read.
func (a *Archive) readDeployments(ctx context.Context, keys []record.DeploymentKey) ([]record.Deployment, error) {
	found := make([]*record.Deployment, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, k := range keys {
		group.Go(func() error {
			d, err := a.deployment(ctx, k.Key)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnreadable) || err == nil && d.Key() != k.Key {
				return nil
			}
			found[i] = &d
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []record.Deployment
	for _, d := range found {
		if d != nil {
			all = append(all, *d)
		}
	}
	return all, nil
}

// EndDeployments notes that an Environment was deleted, once.
func (a *Archive) EndDeployments(ctx context.Context, team, environment string, at time.Time) error {
	err := a.eachSeries(ctx, team, environment, func(ctx context.Context, s record.Series, _ func(func())) error {
		for k, err := range a.deploymentKeys(ctx, objectstore.Listing{Prefix: s.Prefix(), Page: fewKeys}, team) {
			if err != nil || k.Deleted {
				return err
			}
			return a.end(ctx, k, at)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// end writes after the newest deployment of a repository that the Environment is gone.
func (a *Archive) end(ctx context.Context, newest record.DeploymentKey, at time.Time) error {
	last, err := a.deployment(ctx, newest.Key)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnreadable) || err == nil && last.Key() != newest.Key {
		return nil // there is nothing to end
	}
	if err != nil {
		return err
	}
	if !at.After(newest.At) { // the clock was set back
		at = newest.At.Add(time.Second)
	}
	return a.putDeployment(ctx, last.Deletion(at))
}

// ClearDeployments deletes the lines of deployments that were over before the given time, and returns their number. It also ends what was
// deployed to Environments that no longer exist, if that was not done when they were deleted.
func (a *Archive) ClearDeployments(
	ctx context.Context, team string, before, now time.Time, exists func(ctx context.Context, environment string) (bool, error),
) (deleted int, err error) {
	var series record.Series
	var over bool // what follows in the series was over before that time
	var expired []string
	flush := func() error {
		err := a.Bucket.Delete(ctx, expired...)
		if err == nil {
			deleted += len(expired)
		}
		expired = nil
		return err
	}
	for k, err := range a.deploymentKeys(ctx, objectstore.Listing{Prefix: record.AllDeploymentsPrefix(team)}, team) {
		if err != nil {
			return deleted, errors.Join(err, flush())
		}
		if k.Series != series {
			series, over = k.Series, false
			if err := a.endForgotten(ctx, k, now, exists); err != nil {
				return deleted, errors.Join(err, flush())
			}
		}
		old := !k.At.After(before)
		if over || old && k.Deleted {
			expired = append(expired, k.Key)
		}
		over = over || old
		if len(expired) == batch {
			if err := flush(); err != nil {
				return deleted, err
			}
		}
	}
	return deleted, flush()
}

// endForgotten looks at the newest line of a repository.
func (a *Archive) endForgotten(
	ctx context.Context, newest record.DeploymentKey, now time.Time, exists func(ctx context.Context, environment string) (bool, error),
) error {
	if newest.Deleted {
		return nil
	}
	found, err := exists(ctx, newest.Environment)
	if err != nil || found {
		return err
	}
	return a.end(ctx, newest, now)
}
