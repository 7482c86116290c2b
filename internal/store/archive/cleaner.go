package archive

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// Cleaner deletes what runs left behind when its lifetime is over, and what is known of deployments that were over by then.
type Cleaner struct {
	// EnvironmentExists says whether a team has an Environment; nil: deployments are not looked at.
	EnvironmentExists func(ctx context.Context, team, environment string) (bool, error)

	archive   *Archive
	lifetimes func(context.Context) (map[string]time.Duration, error)
	clock     clock.PassiveClock
	deleted   prometheus.Counter
}

// NewCleaner returns a Cleaner. lifetimes returns the lifetime of each team's records; the clock also set the times of the runs.
func NewCleaner(a *Archive, lifetimes func(context.Context) (map[string]time.Duration, error), c clock.PassiveClock) *Cleaner {
	return &Cleaner{archive: a, lifetimes: lifetimes, clock: c, deleted: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "postflight_records_deleted_total",
		Help: "Runs whose record, logs and files were deleted from the object store because their lifetime was over.",
	})}
}

// Register adds the metric.
func (c *Cleaner) Register(r prometheus.Registerer) error { return r.Register(c.deleted) }

// NeedLeaderElection is true: one replica is enough.
func (c *Cleaner) NeedLeaderElection() bool { return true }

// Start clears up periodically until the context ends.
func (c *Cleaner) Start(ctx context.Context) error {
	for wait := clearAfter; transfer.Sleep(ctx, wait) == nil; wait = clearEvery {
		c.Clean(ctx)
	}
	return nil
}

// Clean deletes expired records. After an error it continues with the next team: the next call deletes what remains.
func (c *Cleaner) Clean(ctx context.Context) {
	log := log.FromContext(ctx)
	lifetimes, err := c.lifetimes(ctx)
	if err != nil {
		log.Info("old records are not deleted, because the teams cannot be listed", "problem", err.Error())
	}
	for team, lifetime := range lifetimes {
		before := c.clock.Now().Add(-lifetime)
		runs, err := c.archive.Clear(ctx, team, before)
		c.deleted.Add(float64(runs))
		if runs > 0 {
			log.Info("deleted the records of old runs", "team", team, "runs", runs, "before", before.UTC().Format(time.RFC3339))
		}
		if err != nil && ctx.Err() == nil {
			log.Info("not all records of old runs could be deleted", "team", team, "problem", err.Error())
		}
		if err := c.archive.ClearSummaries(ctx, team, before); err != nil && ctx.Err() == nil {
			log.Info("not all old summaries could be deleted", "team", team, "problem", err.Error())
		}
		if err := c.archive.ClearNotifications(ctx, team, before); err != nil && ctx.Err() == nil {
			log.Info("not all lines of old notifications could be deleted", "team", team, "problem", err.Error())
		}
		c.cleanDeployments(ctx, team, before)
	}
}

func (c *Cleaner) cleanDeployments(ctx context.Context, team string, before time.Time) {
	if c.EnvironmentExists == nil {
		return
	}
	exists := func(ctx context.Context, environment string) (bool, error) {
		return c.EnvironmentExists(ctx, team, environment)
	}
	deleted, err := c.archive.ClearDeployments(ctx, team, before, c.clock.Now(), exists)
	if deleted > 0 {
		log.FromContext(ctx).Info("deleted what was known of old deployments",
			"team", team, "deployments", deleted, "before", before.UTC().Format(time.RFC3339))
	}
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Info("not all old deployments could be looked at", "team", team, "problem", err.Error())
	}
}
