package events

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// TakesApp reports whether the App of the manager sends events.
func (r *Receiver) TakesApp() bool { return r.App.Secret != nil }

// VerifyApp returns nil if GitHub has sent the event for the App of the manager.
func (r *Receiver) VerifyApp(d Delivery) error {
	if !r.TakesApp() {
		return ErrNotConfigured
	}
	secret, err := r.App.Secret()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := r.Formats[v1alpha1.EventsOfGitHub].Verify(secret, d.Header, d.Body, r.now()); err != nil {
		return fmt.Errorf("%w: %w", ErrNotVerified, err)
	}
	return nil
}

// DecodeApp returns what a verified event of the App means to a team that renames no environments.
func (r *Receiver) DecodeApp(d Delivery) (event.Event, error) {
	return r.Formats[v1alpha1.EventsOfGitHub].Decode(d.Header, d.Body, event.Options{OwnApp: r.App.ID})
}

// Covering returns the sources of the App's events of a repository, ordered by namespace and name: one of each Team that lists the
// repository and is not suspended.
func (r *Receiver) Covering(ctx context.Context, repository string) ([]Source, error) {
	var list v1alpha1.EventSourceList
	if err := r.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	target := report.Target{Host: v1alpha1.GitHub, Repository: repository}
	byNamespace := map[string]Source{}
	for i := range list.Items {
		s := &list.Items[i]
		if known, has := byNamespace[s.Namespace]; has && known.Object.Name < s.Name || !s.OfApp() || s.DeletionTimestamp != nil ||
			!event.Covers(s.Spec.Repositories, repository) {
			continue
		}
		team, err := index.Owner(ctx, r.Cache, s.Namespace)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if team != nil && !team.Spec.Suspended && report.Allowed(target, r.App.Host, team.Spec.Repositories) {
			byNamespace[s.Namespace] = Source{Object: s, Team: team}
		}
	}
	sources := make([]Source, 0, len(byNamespace))
	for _, s := range byNamespace {
		r.Used(s.Object)
		sources = append(sources, s)
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Object.Namespace, b.Object.Namespace) })
	return sources, nil
}
