package live

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPaces: the live pages of a team are rendered so often a second, however many there are, and other teams' pages do not wait for them.
func TestPaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, seconds = 10, 3
		p := NewPaces(perSecond)
		rendered := map[string]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		watch := func(team string, pages int) {
			for range pages {
				all.Go(func() {
					turn, leave := p.Join(team)
					defer leave()
					for turn(ctx) == nil {
						mu.Lock()
						rendered[team]++
						mu.Unlock()
						time.Sleep(time.Second) // until the next change
					}
				})
			}
		}
		watch("busy", 500)
		watch("other", 1)
		all.Wait()
		if n := rendered["busy"]; n > perSecond*(seconds+1) || n < perSecond*seconds {
			t.Errorf("the busy team has %d versions in %d seconds, want %d a second", n, seconds, perSecond)
		}
		if n := rendered["other"]; n < seconds {
			t.Errorf("the other team has %d versions, want one a second", n)
		}
		if len(p.byTeam) > 0 {
			t.Errorf("%d teams are left behind", len(p.byTeam))
		}
	})
}
