package main

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/deploymentgate"
	"github.com/postflight-dev/postflight/controllers/report"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// gates reads with the client of the reconcilers, whose reads wait for what the leader itself has written.
func gates(mgr ctrl.Manager, reports report.Config, env surroundings, now clock.PassiveClock) deploymentgate.Config {
	return deploymentgate.Config{
		Hosts: approvers(reports.Hosts), PublicURL: reports.PublicURL,
		Verdicts: verdicts.OfGates{Reader: &verdicts.Reader{
			Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), LeftOut: env.bounds.LeftOutTriggers, Now: now.Now,
		}},
		Opener: events.Reviews{Cache: mgr.GetCache(), Writer: mgr.GetClient()},
	}
}

// approvers are the code hosts as deciders of deployments.
func approvers(hosts map[v1alpha1.HostingService]report.CodeHostConfig) map[v1alpha1.HostingService]deploymentgate.CodeHostConfig {
	all := map[v1alpha1.HostingService]deploymentgate.CodeHostConfig{}
	for name, host := range hosts {
		if approver, ok := host.CodeHost.(deploymentgate.CodeHost); ok {
			all[name] = deploymentgate.CodeHostConfig{CodeHost: approver, Name: host.Name, Limits: host.Limits, Own: host.Own}
		}
	}
	return all
}
