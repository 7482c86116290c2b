package controllers_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/kube/lead"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/tier"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// TestTermsLeaveNothing: a process leads again and again. In each term it starts a run, and what its terms leave behind
// does not grow.
func TestTermsLeaveNothing(t *testing.T) { // not parallel: it counts the goroutines of the process
	terms := 20
	if tier.Gate() {
		terms = 6
	}
	w := world.Empty(t)
	w.Archive, w.Announce = world.NewArchive(), world.ToLoopback("") // so that there are all controllers
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	mgr := w.NewManager(w.CacheOptions())
	w.Run(mgr)
	config := w.Controllers(mgr)
	after := 0
	for term := range terms {
		end := leads(w, lead.NewTerm(mgr), config)
		name := fmt.Sprintf("term-%d", term)
		w.Start(build.Suite(name, term))
		end()
		if term == 2 { // connections and caches that the first terms open stay
			after = runtime.NumGoroutine()
		}
	}
	last := 0
	w.Eventually("as many goroutines as in the beginning", func() string {
		if last = runtime.NumGoroutine(); last <= after+5 {
			return ""
		}
		return fmt.Sprintf("%d of %d", last, after)
	})
	fmt.Printf("TERMS terms=%d goroutines_after_third=%d goroutines_after_last=%d\n", terms, after, last)
}

// leads runs a term until the function that it returns is called.
func leads(w *world.World, term *lead.Term, config controllers.Config) (end func()) {
	w.T.Helper()
	w.Must(controllers.Setup(term, config))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- term.Run(ctx) }()
	return func() {
		cancel()
		w.Must(<-ended)
	}
}
