package main

import (
	"cmp"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/event"
	"github.com/postflight-dev/postflight/internal/core/event/github"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/events"
)

// formats are those of the types of EventSources.
var formats = map[v1alpha1.EventSourceType]event.Format{
	v1alpha1.EventsOfGitHub: github.Format(),
}

func newEvents(mgr ctrl.Manager, o options, probe *auth.APIServerProbe, in surroundings, b backend) (*events.Receiver, error) {
	app := events.App{ID: o.codeHosts.gitHubAppID, Host: report.HostOf(v1alpha1.GitHub, cmp.Or(o.codeHosts.gitHubURL, defaultGitHubURL))}
	if o.codeHosts.gitHubWebhookSecretFile != "" {
		app.Secret = o.codeHosts.webhookSecret
	}
	return events.New(events.Config{
		Dispatcher: b.dispatcher, Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Formats: formats, App: app,
		Reports: report.Options{PublicURL: o.publicURL, ClusterName: o.codeHosts.clusterName},
		Used:    b.usage.RecordEvent, Clock: in.steady, ServerTime: probe.ServerTime,
	})
}
