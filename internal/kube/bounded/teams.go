package bounded

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// teams are the namespaces that have had a Team since the start. If a Team is deleted and created again, its Triggers stay cached.
type teams struct {
	owned map[string]bool
	known chan struct{} // closed once all are known that there were at the start
	all   bool
}

// claim notes that a Team has a namespace, which then has a bound of its own.
func (r *Roster) claim(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.teams.owned[namespace] {
		return
	}
	r.teams.owned[namespace] = true
	for _, b := range r.books {
		shared, own := b.accounts[""], r.account(b, namespace)
		for key, e := range shared.entries {
			if key.Namespace != namespace {
				continue
			}
			held, leftOut := e.held, e.leftOut
			shared.remove(e)
			e.told, e.Namespace = false, own.namespace // another reason, and one string for all
			own.put(e)
			own.leaveOut(e, leftOut)
			if e.held = held; held {
				own.held += e.bytes
			}
		}
		for s := range shared.untracked {
			own.seek(s)
		}
		r.wake(b, own)
		r.wake(b, shared)
	}
	r.wakeReporter()
}

func (r *Roster) knowsTeams() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.teams.all {
		r.teams.all = true
		close(r.teams.known)
	}
}

// awaitTeams returns when it is known which namespaces have a Team.
func (r *Roster) awaitTeams(ctx context.Context) error {
	r.mu.Lock()
	t := r.teams
	r.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// teamSource notes which namespaces have a Team.
type teamSource struct {
	origin
	roster *Roster
}

// ListWithContext reads all Teams.
func (s *teamSource) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.origin.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(o runtime.Object) error {
		s.claim(o)
		return nil
	})
	if page, problem := meta.ListAccessor(list); problem == nil && page.GetContinue() == "" {
		s.roster.knowsTeams()
	}
	return list, err
}

// WatchWithContext follows the Teams.
func (s *teamSource) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	inner, err := s.origin.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(inner, func(event watch.Event) (watch.Event, bool) {
		switch event.Type {
		case watch.Added, watch.Modified:
			s.claim(event.Object)
		case watch.Bookmark:
			s.roster.knowsTeams() // the first one follows all that there were
		}
		return event, true
	}), nil
}

func (s *teamSource) claim(o runtime.Object) {
	if team, ok := o.(*v1alpha1.Team); ok {
		s.roster.claim(team.NamespaceName())
	}
}
