package main

import (
	"cmp"
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/eventsource"
	githubhost "github.com/postflight-dev/postflight/internal/codehost/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/flux"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/events"
)

// formats are the formats of events by the type of the EventSource.
var formats = map[v1alpha1.EventSourceType]event.Format{
	v1alpha1.EventsOfGitHub: github.Format(),
	v1alpha1.EventsOfGitLab: gitlab.Format(),
	v1alpha1.EventsOfFlux:   flux.Format(),
}

func newEvents(mgr ctrl.Manager, o options, probe *auth.APIServerProbe, env surroundings, b backend) (*events.Receiver, error) {
	app := events.App{ID: o.codeHosts.gitHubAppID, Host: o.codeHosts.gitHubHost()}
	if o.codeHosts.gitHubWebhookSecretFile != "" {
		app.Secret = o.codeHosts.webhookSecret
	}
	return events.New(events.Config{
		Dispatcher: b.dispatcher, Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Formats: formats, App: app,
		Reports:   report.Options{PublicURL: o.publicURL, ClusterName: o.codeHosts.clusterName},
		CodeHosts: askedHosts(mgr.GetAPIReader(), o),
		Used:      b.usage.RecordEvent, Clock: env.steady, ServerTime: probe.ServerTime,
	})
}

// askedHosts are the code hosts of the reports, with the same credentials.
func askedHosts(live client.Reader, o options) events.CodeHosts {
	hosts := events.CodeHosts{
		ByName: map[v1alpha1.HostingService]events.CodeHostConfig{},
		Credentials: func(
			ctx context.Context, host v1alpha1.HostingService, secret client.ObjectKey,
		) (report.Credentials, string, error) {
			return reconcile.CodeHostCredentials(ctx, live, host, secret, "spec.repository of the Trigger")
		},
	}
	for name, host := range o.codeHosts.config(o.publicURL).Hosts {
		if asked, ok := host.CodeHost.(events.CodeHost); ok {
			hosts.ByName[name] = events.CodeHostConfig{CodeHost: asked, Name: host.Name, Own: host.Own}
		}
	}
	return hosts
}

// eventsOfApp says whether the App of the manager sends events, and reaches its webhook.
func eventsOfApp(o options) eventsource.Config {
	c := eventsource.Config{Formats: formats, TakesApp: o.codeHosts.gitHubWebhookSecretFile != ""}
	if c.TakesApp && o.codeHosts.gitHubAppID != 0 {
		host := githubhost.New(cmp.Or(o.codeHosts.gitHubURL, defaultGitHubURL), outbound.New())
		c.Hook = &githubhost.Hook{Host: host, Credentials: o.codeHosts.ownGitHub()}
	}
	return c
}
