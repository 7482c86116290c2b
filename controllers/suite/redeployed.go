package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/redeployed"
	"github.com/postflight-dev/postflight/internal/core/suite"
)

// Notifications are lines of what was received, in the store. Of a day, they are in the order of time, up to a limit; more says that there are
// others. Errors may pass.
type Notifications interface {
	NotificationsOn(ctx context.Context, team string, day time.Time, limit int) (all []record.NotificationsObject, more bool, err error)
	Notifications(ctx context.Context, o record.NotificationsObject) ([]record.Notification, error)
}

const (
	// maxSearched bounds the objects that are read for a run: three replicas make 500 in a week, and more only if a team sends 1,300 notifications
	// in an hour. maxListed is for those of a day, also before the run.
	maxSearched, maxListed = 600, 2000

	day           = 24 * time.Hour
	searchAtOnce  = 8                // objects: at 40 ms each, 600 take 3 s. They have 4 MiB at worst, and a few KiB mostly
	searchTimeout = 20 * time.Second // bounds expressions, too, which take 20 ms for a notification at worst
)

// findDeployment looks for a deployment of another commit that left no Suite, or whose Suite was deleted.
func (r *Reconciler) findDeployment(ctx context.Context, o *suite.Observation) error {
	if o.Team == nil {
		o.Redeployed = &suite.Redeployed{NotWhole: "The Team was deleted, so that nobody knows what was deployed meanwhile."}
		return nil
	}
	triggers := &v1alpha1.TriggerList{}
	if err := r.List(ctx, triggers, client.InNamespace(o.Suite.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	all := make([]*v1alpha1.Trigger, len(triggers.Items))
	for i := range triggers.Items {
		all[i] = &triggers.Items[i]
	}
	search := redeployed.New(o.Suite, o.Plan.Since, all)
	within, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	found, err := r.search(within, o, search)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		found = &suite.Redeployed{Unavailable: clause(err)}
	}
	o.Redeployed = found
	return nil
}

// search reads what was notified since the run that ran all tests. An error may pass.
func (r *Reconciler) search(ctx context.Context, o *suite.Observation, s *redeployed.Search) (*suite.Redeployed, error) {
	release, err := r.reading.Acquire(ctx, o.Team.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	root, now := cmp.Or(o.Plan.Root, o.Plan.Of), r.Clock.Now()
	first, left, damaged := o.Plan.Since.UTC().Truncate(time.Hour), maxSearched, 0
	if problem := redeployed.TooLongAgo(root, o.Plan.Since, now, o.Team.RecordLifetime()); problem != "" {
		return &suite.Redeployed{NotWhole: problem}, nil
	}
	for d := first.Truncate(day); !d.After(now); d = d.Add(day) {
		objects, more, err := r.Notifications.NotificationsOn(ctx, o.Team.Name, d, maxListed)
		if err != nil {
			return nil, err
		}
		objects = slices.DeleteFunc(objects, func(object record.NotificationsObject) bool { return object.Hour.Before(first) })
		for some := range slices.Chunk(objects[:min(len(objects), left)], searchAtOnce) {
			lines, cut, err := r.readNotifications(ctx, some)
			if err != nil {
				return nil, err
			}
			damaged += cut
			if other, err := otherOf(ctx, o.Team, s, lines); other != nil || err != nil {
				return &suite.Redeployed{NotWhole: redeployed.Describe(other, root)}, err
			}
		}
		if left -= len(objects); left < 0 || more {
			return &suite.Redeployed{NotWhole: fmt.Sprintf("Since the run %s, there were more notifications than are looked at.", root)}, nil
		}
	}
	if damaged > 0 {
		return &suite.Redeployed{NotWhole: fmt.Sprintf("Some notifications since the run %s cannot be read, because objects of the archive are damaged.", root)}, nil
	}
	return &suite.Redeployed{}, nil
}

// readNotifications returns the lines before the damage of damaged objects, and how many of these there are. Other errors may pass.
func (r *Reconciler) readNotifications(ctx context.Context, objects []record.NotificationsObject) (lines []record.Notification, damaged int, err error) {
	var cut atomic.Int32
	read := make([][]record.Notification, len(objects))
	group, reading := errgroup.WithContext(ctx)
	for i, object := range objects {
		group.Go(func() (err error) {
			read[i], err = r.Notifications.Notifications(reading, object)
			if errors.Is(err, record.ErrDamaged) {
				cut.Add(1)
				return nil
			}
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(read...), int(cut.Load()), err
}

// otherOf leaves out what an earlier team of the name was notified.
func otherOf(ctx context.Context, team *v1alpha1.Team, s *redeployed.Search, lines []record.Notification) (*record.Notification, error) {
	for i := range lines {
		if err := ctx.Err(); err != nil {
			return nil, errors.New("it takes too long")
		}
		if n := &lines[i]; team.Owns(n.At) && s.IsOther(n) {
			return n, nil
		}
	}
	return nil, nil
}
