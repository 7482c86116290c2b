package lead

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Candidate stands for election until its context ends. It is a Runnable of the manager.
type Candidate struct {
	// Lock is the lease; nil: there is no election, and this process leads.
	Lock resourcelock.Interface

	// Name is the label of the metric leader_election_master_status.
	Name string

	Timing Timing

	// Lead returns when its context has ended and everything it started has stopped, or earlier with an error, which ends the process.
	Lead func(ctx context.Context) error

	// TermEnd bounds how long Lead may take to stop; 0 means 30 s.
	TermEnd time.Duration
}

const (
	// defaultTermEnd is longer than everything takes that heeds its context.
	defaultTermEnd = 30 * time.Second

	// releaseTimeout is short: without a release, the lease expires.
	releaseTimeout = 5 * time.Second
)

// NeedLeaderElection is false: it is the election.
func (c *Candidate) NeedLeaderElection() bool { return false }

// Start leads term by term until the context ends.
func (c *Candidate) Start(ctx context.Context) error {
	if c.Lock == nil {
		return c.Lead(ctx)
	}
	for ctx.Err() == nil {
		if err := c.stand(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stand returns when the term has ended and nothing of it runs any more.
func (c *Candidate) stand(ctx context.Context) error {
	electing, resign := context.WithCancel(logr.NewContext(ctx, log.FromContext(ctx).WithName("leaderelection")))
	defer resign()
	lock, ended := &renewedLock{Interface: c.Lock}, make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: c.Name, LeaseDuration: c.Timing.Lease, RenewDeadline: c.Timing.Renew, RetryPeriod: c.Timing.Retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer resign() // in case of an error
				log.FromContext(ctx).Info("this replica leads")
				go lock.expire(leading, c.Timing.Renew, resign)
				ended <- c.Lead(withFence(leading, lock, c.Timing.fenced()))
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("stand for election: %w", err)
	}
	elector.Run(electing)
	if lock.renewed().IsZero() { // it has never led
		return nil
	}
	err = c.awaitEnd(ctx, ended)
	if (ctx.Err() != nil || err != nil) && !errors.Is(err, errStillWorking) {
		release(c.Lock)
	}
	return err
}

// errStillWorking ends the process: nobody else may begin before the work has stopped, so the lease has to expire.
var errStillWorking = errors.New("the leader's work did not stop")

// The end of a term is no error unless it ends by itself.
func (c *Candidate) awaitEnd(ctx context.Context, ended <-chan error) error {
	if ctx.Err() == nil {
		log.FromContext(ctx).Info("this replica has lost the lead, and stands for election again")
	}
	patience := c.TermEnd
	if patience == 0 {
		patience = defaultTermEnd
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%w within %s", errStillWorking, patience)
	}
}

// release spares the others the wait for the lease to expire. It must follow the end of the term, so the elector does not do it.
func release(lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity != lock.Identity() {
		return
	}
	if err == nil {
		now := metav1.Now()
		err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now, LeaderTransitions: record.LeaderTransitions,
		})
	}
	if err != nil {
		log.Log.Info("the lease is not released, so it has to expire", "problem", err.Error())
	}
}
