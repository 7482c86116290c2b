package flux

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	maxShown = 64 // of a value that a sentence repeats, in bytes
	info     = "info"

	kustomization = "Kustomization"
	helmRelease   = "HelmRelease"
)

// deployed are the reasons with which an object says that something was deployed, and is healthy if the object waits for that.
var deployed = map[[2]string][]string{
	{"kustomize.toolkit.fluxcd.io", kustomization}: {"ReconciliationSucceeded"},
	{"helm.toolkit.fluxcd.io", helmRelease}:        {"InstallSucceeded", "UpgradeSucceeded"},
}

// Decode reads an event that was verified.
func Decode(_ event.Header, body []byte, o event.Options) (event.Event, error) {
	p, err := read(body)
	if err != nil {
		return event.Event{}, err
	}
	e := event.Event{Type: plaintext.Line(p.Reason, maxShown), At: p.Timestamp.UTC()}
	reasons := deployed[[2]string{p.group(), p.Object.Kind}]
	switch {
	case p.Severity != info || !slices.Contains(reasons, p.Reason):
		e.Ignored = fmt.Sprintf("The event %s of a %s says nothing of a deployment. ReconciliationSucceeded of a Kustomization does, "+
			"and InstallSucceeded and UpgradeSucceeded of a HelmRelease.", e.Type, plaintext.Line(p.Object.Kind, maxShown))
		return e, nil
	case p.Object.Name == "", p.Timestamp.IsZero():
		return e, &event.InvalidError{Reason: "The event lacks the name of the object, or the timestamp."}
	}
	return p.deployment(e, o)
}

// deployment takes what the metadata says of the deployment, which people write into the Alert, or into annotations of the object. The
// commit of the application is more than the origin of an artifact, and that is more than the revision that Flux has applied.
func (p payload) deployment(e event.Event, o event.Options) (event.Event, error) {
	branch, sha := revision(cmp.Or(p.meta("sha"), p.meta("commit"), p.meta("originRevision"), p.meta("revision")))
	if sha == "" {
		e.Ignored = "The event names no revision, so that nobody knows what was deployed."
		return e, nil
	}
	n, err := event.NewNotification(map[string]string{
		"sha": sha, "branch": cmp.Or(p.meta("branch"), branch), "deployment_type": p.deploymentType(o),
		"deployment_url": p.meta("deployment_url"), "repository": p.meta("repository"), "service": p.meta("service"),
		"commit_url": p.meta("commit_url"), "hosting_service": p.meta("hosting_service"),
	})
	if err != nil {
		return e, err
	}
	e.Notification, e.Repository, e.Key = n, n.Repository, p.digest("")
	e.ID = "flux/" + e.Key
	if p.Object.Kind == helmRelease { // It may be upgraded with the same chart. A Kustomization says the same again at each interval.
		e.Key = p.digest(p.Timestamp.String())
		e.ID = "flux/" + e.Key
	}
	return e, nil
}

func (p payload) deploymentType(o event.Options) string {
	return cmp.Or(p.meta("deployment_type"), o.DeploymentType(cmp.Or(p.meta("environment"), p.Object.Name)))
}
