package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	leaseName = "postflight"

	// Long enough for a slow API server: stepping down would not help.
	leaseDuration = 60 * time.Second
	renewDeadline = 45 * time.Second
	retryPeriod   = 5 * time.Second
)

// electLeader lets one of several replicas reconcile. A replica with a name takes up its own lease after a
// restart, instead of waiting until it expires.
func electLeader(options *ctrl.Options, config *rest.Config, o options) error {
	options.LeaderElection = o.leaderElect
	options.LeaderElectionID = leaseName
	options.LeaderElectionNamespace = o.leaderElectionNamespace
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = new(leaseDuration), new(renewDeadline), new(retryPeriod)
	if !o.leaderElect || o.replicaName == "" {
		return nil
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, o.leaderElectionNamespace, leaseName,
		resourcelock.ResourceLockConfig{Identity: o.replicaName}, config, renewDeadline)
	if err != nil {
		return fmt.Errorf("create the leader's lock: %w", err)
	}
	options.LeaderElectionResourceLockInterface = lock
	return nil
}
