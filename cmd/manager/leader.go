package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/kube/lead"
)

const (
	leaseName = "postflight"

	// defaultLease replaces a leader that was killed within 10 s, also on a machine that is busy.
	defaultLease = 6 * time.Second
)

type leaderOptions struct {
	elect       bool
	namespace   string
	replicaName string
	lease       time.Duration
}

func (o *leaderOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.elect, "leader-elect", true, "let only one of several replicas reconcile; turn it off for a single process")
	f.StringVar(&o.namespace, "leader-election-namespace", "postflight-system", "namespace of the leader's Lease")
	f.DurationVar(&o.lease, "leader-elect-lease-duration", defaultLease,
		"how long the other replicas wait for a leader that does not answer, in whole seconds from 3s to 5m; "+
			"a leader stops reconciling after 11/12 of it without the API server")
	f.StringVar(&o.replicaName, "replica-name", os.Getenv("POD_NAME"),
		"unique name of this replica, by which it recognizes its own Lease after a restart; default: $POD_NAME")
}

func (o *leaderOptions) validate() error {
	if err := lead.NewTiming(o.lease).Validate(); o.elect && err != nil {
		return fmt.Errorf("--leader-elect-lease-duration %s: %w", o.lease, err)
	}
	return nil
}

// A named replica resumes its own lease after its container restarts, instead of waiting until the lease expires.
func (o *leaderOptions) lock(config *rest.Config) (resourcelock.Interface, error) {
	if !o.elect {
		return nil, nil
	}
	host, _ := os.Hostname() // for people who look at the Lease
	identity := resourcelock.ResourceLockConfig{Identity: cmp.Or(o.replicaName, host+"_"+string(uuid.NewUUID()))}
	lock, err := resourcelock.NewFromKubeconfig(
		resourcelock.LeasesResourceLock, o.namespace, leaseName, identity, config, lead.NewTiming(o.lease).Renew)
	if err != nil {
		return nil, fmt.Errorf("create the leader's lock: %w", err)
	}
	return lock, nil
}

// reader is nil without an election.
func (o *leaderOptions) reader(cluster client.Reader) func(context.Context) (*coordinationv1.Lease, error) {
	if !o.elect {
		return nil
	}
	return func(ctx context.Context) (*coordinationv1.Lease, error) {
		lease := &coordinationv1.Lease{}
		err := cluster.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: leaseName}, lease)
		return lease, err
	}
}

func setupLead(mgr ctrl.Manager, o leaderOptions, config controllers.Config, others ...manager.Runnable) error {
	lock, err := o.lock(mgr.GetConfig())
	if err != nil {
		return err
	}
	return mgr.Add(&lead.Candidate{Lock: lock, Name: leaseName, Timing: lead.NewTiming(o.lease), Lead: func(ctx context.Context) error {
		config.Metrics.BeginTerm()
		defer config.Metrics.EndTerm()
		term := lead.NewTerm(mgr)
		errs := []error{controllers.Setup(term, config)}
		for _, r := range others {
			errs = append(errs, term.Add(r))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return term.Run(ctx)
	}})
}
