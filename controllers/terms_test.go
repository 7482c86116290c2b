package controllers_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/kube/lead"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestTermsLeaveNothing: a process leads again and again. In each term it starts a run, and what its terms leave behind
// does not grow.
func TestTermsLeaveNothing(t *testing.T) { // not parallel: it counts the goroutines of the process
	terms := 20
	if tier.Gate() {
		terms = 6
	}
	w := emptyWorld(t)
	w.shelf, w.tells = newShelf(), toLoopback() // so that there are all controllers
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	mgr := w.newManager(w.cacheOptions())
	w.run(mgr)
	config := w.controllers(mgr)
	after := 0
	for term := range terms {
		end := w.leads(lead.NewTerm(mgr), config)
		name := fmt.Sprintf("term-%d", term)
		w.create(aSuite(name, term))
		w.runs(name)
		end()
		if term == 2 { // connections and caches that the first terms open stay
			after = runtime.NumGoroutine()
		}
	}
	last := 0
	w.eventually("as many goroutines as in the beginning", func() string {
		if last = runtime.NumGoroutine(); last <= after+5 {
			return ""
		}
		return fmt.Sprintf("%d of %d", last, after)
	})
	fmt.Printf("TERMS terms=%d goroutines_after_third=%d goroutines_after_last=%d\n", terms, after, last)
}

// leads runs a term until the function that it returns is called.
func (w *world) leads(term *lead.Term, config controllers.Config) (end func()) {
	w.t.Helper()
	w.must(controllers.Setup(term, config))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- term.Run(ctx) }()
	return func() {
		cancel()
		w.must(<-ended)
	}
}
