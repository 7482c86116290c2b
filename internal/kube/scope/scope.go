// Package scope limits a manager to some namespaces: its cache, its client and its list of Teams.
package scope

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Scope is the part of the cluster that a manager reads and writes; the zero value is all of it.
type Scope struct {
	// Namespaces are the only ones; empty: all.
	Namespaces []string

	// Teams own these namespaces. The manager may not read the Teams of the cluster.
	Teams []v1alpha1.Team
}

// Limited reports whether the Scope is a part of the cluster.
func (s Scope) Limited() bool { return len(s.Namespaces) > 0 }

// Limit makes the cache and the client of a manager leave everything else alone.
func (s Scope) Limit(options *ctrl.Options) {
	if !s.Limited() {
		return
	}
	options.Cache.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range s.Namespaces {
		options.Cache.DefaultNamespaces[namespace] = cache.Config{}
	}
	options.Cache.NewInformer = s.informers(options.Cache.NewInformer)
	options.NewClient = s.newClient
}

// Watched returns the namespaces to watch one by one, or all at once.
func (s Scope) Watched() []string {
	if s.Limited() {
		return s.Namespaces
	}
	return []string{corev1.NamespaceAll}
}

// newInformer makes an informer; see cache.Options.
type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

func (s Scope) informers(next newInformer) newInformer {
	if next == nil {
		next = toolscache.NewSharedIndexInformer
	}
	return func(
		source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		switch kind.(type) {
		case *v1alpha1.Team:
			source = fixedTeams(s.Teams)
		case *v1alpha1.TriggerClass:
			source = noClasses{} // they are of the cluster, too
		}
		return next(source, kind, resync, indexers)
	}
}

// fixedTeams are listed as the API server would, and never change.
type fixedTeams []v1alpha1.Team

func (f fixedTeams) List(metav1.ListOptions) (runtime.Object, error) {
	list := &v1alpha1.TeamList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, team := range f {
		team.ResourceVersion = "1"
		list.Items = append(list.Items, team)
	}
	return list, nil
}

func (f fixedTeams) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported makes a reflector call List.
func (f fixedTeams) IsWatchListSemanticsUnSupported() bool { return true }

type noClasses struct{ fixedTeams }

func (noClasses) List(metav1.ListOptions) (runtime.Object, error) {
	return &v1alpha1.TriggerClassList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}
