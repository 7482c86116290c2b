package bounded

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// teamSource notes which namespaces have a Team.
type teamSource struct {
	origin
	ledger *Ledger
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
	if of, problem := meta.ListAccessor(list); problem == nil && of.GetContinue() == "" {
		s.ledger.knowsTeams()
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
			s.ledger.knowsTeams() // the first one follows all that there were
		}
		return event, true
	}), nil
}

func (s *teamSource) claim(o runtime.Object) {
	if team, ok := o.(*v1alpha1.Team); ok {
		s.ledger.claim(team.NamespaceName())
	}
}
