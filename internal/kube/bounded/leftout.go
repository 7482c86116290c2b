package bounded

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// LeftOutTriggers returns the Triggers of a namespace that are not in the cache, which looks as if they did not exist. Those that will be
// there as soon as they are read are among them.
func (l *Ledger) LeftOutTriggers(namespace string) (left match.LeftOut) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(l.book(&v1alpha1.Trigger{}), namespace)
	left.Unknown = len(a.untracked) > 0
	if a.leftOut == 0 {
		return left
	}
	for _, q := range []queue{a.order, a.large} {
		for _, e := range q {
			switch {
			case !e.leftOut || e.Namespace != namespace:
			case len(left.Names) == match.MaxLeftOut:
				left.Others++
			default:
				left.Names = append(left.Names, e.Name)
			}
		}
	}
	return left
}
