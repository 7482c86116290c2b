package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/record/replay"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

type page struct {
	*Reader
	Query
	httpapi.Replay
	began       time.Time
	comparisons []*replay.Comparison
	damaged     int // objects
}

func (p *page) compare(ctx context.Context, t *v1alpha1.Trigger) error {
	namespace := p.Team.NamespaceName()
	if t.Namespace != "" && t.Namespace != namespace {
		return &replay.InvalidError{Message: fmt.Sprintf(
			"The Trigger %q is in the namespace %s, and your team has %s. Leave out metadata.namespace, or use the key of the other team.",
			t.Name, t.Namespace, namespace)}
	}
	t = t.DeepCopy()
	t.Namespace = namespace
	existing := &v1alpha1.Trigger{}
	err := p.cache.Get(ctx, client.ObjectKeyFromObject(t), existing)
	if apierror.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		existing = nil
	}
	c, err := replay.New(t, existing)
	if err != nil {
		return &replay.InvalidError{Message: fmt.Sprintf("The Trigger %q is not valid. %v", t.Name, err)}
	}
	c.Counts.Warnings, err = p.warnings(ctx, t)
	p.comparisons = append(p.comparisons, c)
	return err
}

// warnings says why a match would start no run, as far as the Trigger itself shows it.
func (p *page) warnings(ctx context.Context, t *v1alpha1.Trigger) (all []string, err error) {
	_, problem, err := index.Complete(ctx, p.cache, t)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		all = append(all, problem)
	}
	name := client.ObjectKey{Namespace: t.Namespace, Name: t.Spec.Environment}
	err = p.cache.Get(ctx, name, &v1alpha1.Environment{})
	switch {
	case apierror.NotFound(err):
		all = append(all, fmt.Sprintf("The Environment %q does not exist now, so no run would start.", t.Spec.Environment))
	case err != nil:
		return nil, err
	}
	if t.Spec.Paused {
		all = append(all, "The Trigger is paused, so it matches nothing.")
	}
	return all, nil
}

// readDays reads days and their hours, the newest first, until the page is full.
func (p *page) readDays(ctx context.Context) error {
	day := p.Before.UTC().Truncate(24 * time.Hour)
	for days := 0; day.Add(24 * time.Hour).After(p.Since); day, days = day.AddDate(0, 0, -1), days+1 {
		if days == pageDays {
			p.Next = p.From.UTC().Format(time.RFC3339Nano)
			return nil
		}
		objects, more, err := p.archive.NotificationsOn(ctx, p.Team.Name, day, maxObjects)
		if err != nil {
			return &ArchiveError{err}
		}
		if more {
			p.Problems = append(p.Problems, fmt.Sprintf("%s has more notifications than are read.", day.Format(time.DateOnly)))
		}
		for _, b := range p.batches(day, objects) {
			if p.full() {
				p.Next = p.From.UTC().Format(time.RFC3339Nano)
				return nil
			}
			for chunk := range slices.Chunk(b.objects, readsAtOnce) {
				if err := p.readAll(ctx, chunk); err != nil {
					return err
				}
			}
			p.From = latest(b.begin, p.Since)
		}
	}
	p.From = p.Since
	return nil
}

// full is false until an hour was read, so that each page comes further.
func (p *page) full() bool {
	if !p.From.Before(p.To) {
		return false
	}
	return p.Notifications >= pageOf || p.clock.Since(p.began) > pageTime
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// batch is a number of whole hours.
type batch struct {
	begin   time.Time
	objects []record.NotificationsObject
}

// batches splits the hours of a day that are asked for, the newest first, so that each has up to readsAtOnce objects, if an hour has no
// more.
func (p *page) batches(day time.Time, objects []record.NotificationsObject) (all []batch) {
	byHour := map[time.Time][]record.NotificationsObject{}
	for _, o := range objects {
		byHour[o.Hour.UTC()] = append(byHour[o.Hour.UTC()], o)
	}
	for hour := day.Add(23 * time.Hour); !hour.Before(day); hour = hour.Add(-time.Hour) {
		if !hour.Before(p.Before) || !hour.Add(time.Hour).After(p.Since) {
			continue
		}
		last := len(all) - 1
		if last < 0 || len(all[last].objects)+len(byHour[hour]) > readsAtOnce {
			all = append(all, batch{hour, byHour[hour]})
			continue
		}
		all[last].begin, all[last].objects = hour, append(all[last].objects, byHour[hour]...)
	}
	return all
}

func (p *page) readAll(ctx context.Context, objects []record.NotificationsObject) error {
	read := make([][]record.Notification, len(objects))
	damaged := make([]bool, len(objects))
	group, reading := errgroup.WithContext(ctx)
	for i, o := range objects {
		group.Go(func() (err error) {
			read[i], damaged[i], err = p.read(reading, o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, lines := range read {
		if damaged[i] {
			p.damaged++
		}
		if err := p.add(ctx, lines); err != nil {
			return err
		}
	}
	return nil
}

// read returns no lines of an object that was deleted meanwhile, and those before damage.
func (p *page) read(ctx context.Context, o record.NotificationsObject) (lines []record.Notification, damaged bool, err error) {
	lines, err = p.archive.Notifications(ctx, o)
	damaged = errors.Is(err, record.ErrDamaged)
	if err != nil && !damaged && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, &ArchiveError{err}
	}
	return lines, damaged, nil
}

// stopEvery is after how many notifications the clock is read: with 20 expensive expressions, that takes a few seconds.
const stopEvery = 16

func (p *page) add(ctx context.Context, lines []record.Notification) error {
	for i := range lines {
		n := &lines[i]
		if n.At.Before(p.Since) || !n.At.Before(p.Before) || !p.Team.Owns(n.At) {
			continue
		}
		if p.Notifications++; p.Notifications%stopEvery == 0 && (ctx.Err() != nil || p.clock.Since(p.began) > maxTime) {
			return ErrExpensive
		}
		for _, c := range p.comparisons {
			change := c.Add(n)
			switch {
			case change == nil:
			case len(p.Changes) == maxChanges:
				p.MoreChanges++
			default:
				p.Changes = append(p.Changes, *change)
			}
		}
	}
	return nil
}

func (p *page) answer() httpapi.Replay {
	for _, c := range p.comparisons {
		p.Replay.Triggers = append(p.Replay.Triggers, c.Counts)
	}
	slices.SortStableFunc(p.Changes, func(a, b httpapi.ReplayChange) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Trigger, b.Trigger), cmp.Compare(a.SHA, b.SHA))
	})
	if p.damaged > 0 {
		p.Problems = append(p.Problems, fmt.Sprintf("%d objects of the archive cannot be read as a whole. Their notifications are missing here.",
			p.damaged))
	}
	return p.Replay
}
