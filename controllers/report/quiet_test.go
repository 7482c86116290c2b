package controllers_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestNoErrorsOnTheUsualWay: three reconcilers write the status of a run when it ends. None of them is in the way of
// another one, and nobody reads of an error.
func TestNoErrorsOnTheUsualWay(t *testing.T) {
	t.Parallel()
	runs := 30
	if tier.Gate() {
		runs = 8
	}
	var mu sync.Mutex
	var errors []string
	w := newReportWorld(t, func(w *reportWorld) {
		w.clock.stop() // on a slow machine, the manager would look why a pod does not start
		w.shelf, w.node = newShelf(), w.Node(t, says)
		w.log = funcr.New(func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(line, `"error"=`) {
				errors = append(errors, line)
			}
		}, funcr.Options{}).GetSink()
	})
	name := func(i int) string { return fmt.Sprint("run-", i) }
	for i := range runs {
		w.create(aSuite(name(i), i%30, of("lab"), tests(fmt.Sprintf("%040x", i))))
	}
	for i := range runs {
		w.runs(name(i))
	}
	for i := range runs {
		w.exits(name(i), 1)
	}
	for i := range runs {
		w.archivedAs(name(i), v1alpha1.ReasonSaved, "")
		w.reports(name(i), v1alpha1.ReasonPosted, "")
	}
	w.stop()
	if len(errors) > 0 {
		t.Errorf("%d errors were logged, such as:\n%s", len(errors), errors[0])
	}
	fmt.Printf("WRITES status_writes_per_run=%.1f\n", float64(w.wire.count("PATCH suites/status"))/float64(runs))
}
