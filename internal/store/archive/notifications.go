package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
)

// NotificationsOn returns the objects with lines of a day, in the order of time, up to a limit, and whether there are more.
func (a *Archive) NotificationsOn(
	ctx context.Context, team string, day time.Time, limit int,
) (all []record.NotificationsObject, more bool, err error) {
	for object, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.NotificationsDay(team, day)}) {
		if err != nil {
			return nil, false, err
		}
		hour, ok := record.ParseNotificationsKey(team, object.Key)
		if !ok {
			continue
		}
		if len(all) == limit {
			return all, true, nil
		}
		all = append(all, record.NotificationsObject{Key: object.Key, Hour: hour})
	}
	return all, false, nil
}

// Notifications reads the lines of an object. It also returns those before damage. It tries twice, because some stores fail while an object
// is replaced.
func (a *Archive) Notifications(ctx context.Context, o record.NotificationsObject) (all []record.Notification, err error) {
	for range 2 {
		all, err = a.readNotifications(ctx, o)
		if !errors.Is(err, record.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return all, err
}

func (a *Archive) readNotifications(ctx context.Context, o record.NotificationsObject) ([]record.Notification, error) {
	object, _, err := a.Bucket.Get(ctx, o.Key)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	packed, err := io.ReadAll(io.LimitReader(object, maxSegment))
	if err != nil {
		return nil, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", record.ErrDamaged, err)
	}
	var all []record.Notification
	lines := bufio.NewScanner(io.LimitReader(unpacked, maxSegment))
	lines.Buffer(nil, maxNotification)
	for lines.Scan() {
		var n record.Notification
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			return all, fmt.Errorf("%w: %w", record.ErrDamaged, err)
		}
		all = append(all, n)
	}
	if err := lines.Err(); err != nil {
		return all, fmt.Errorf("%w: %w", record.ErrDamaged, err)
	}
	return all, nil
}

// ClearNotifications deletes the lines of days that ended before the given time.
func (a *Archive) ClearNotifications(ctx context.Context, team string, before time.Time) error {
	var days []time.Time
	for folder, err := range a.Bucket.List(ctx, objectstore.Listing{Prefix: record.NotificationsPrefix(team), Folders: true}) {
		if err != nil {
			return err
		}
		if day, err := record.ParseNotificationsDay(team, folder.Key); err == nil {
			days = append(days, day)
		}
	}
	for _, day := range over(days, before) {
		if err := a.clearNotifications(ctx, team, day); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) clearNotifications(ctx context.Context, team string, day time.Time) error {
	for more := true; more; {
		objects, rest, err := a.NotificationsOn(ctx, team, day, batch)
		if err != nil {
			return err
		}
		keys := make([]string, len(objects))
		for i, o := range objects {
			keys[i] = o.Key
		}
		if err := a.Bucket.Delete(ctx, keys...); err != nil {
			return err
		}
		more = rest
	}
	return nil
}
