package report_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/tier"
	"github.com/postflight-dev/postflight/test/world"
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
		w.Clock.Stop() // on a slow machine, the manager would look why a pod does not start
		w.Archive, w.NodeName = world.NewArchive(), w.Node(t, world.PrintsName)
		w.Log = funcr.New(func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(line, `"error"=`) {
				errors = append(errors, line)
			}
		}, funcr.Options{}).GetSink()
	})
	name := func(i int) string { return fmt.Sprint("run-", i) }
	for i := range runs {
		w.Create(build.Suite(name(i), i%30, build.OfTrigger("lab"), tests(fmt.Sprintf("%040x", i))))
	}
	for i := range runs {
		w.Runs(name(i))
	}
	for i := range runs {
		w.Exits(name(i), 1)
	}
	for i := range runs {
		w.ArchivedAs(name(i), v1alpha1.ReasonSaved, "")
		w.reports(name(i), v1alpha1.ReasonPosted, "")
	}
	w.Stop()
	if len(errors) > 0 {
		t.Errorf("%d errors were logged, such as:\n%s", len(errors), errors[0])
	}
	fmt.Printf("WRITES status_writes_per_run=%.1f\n", float64(w.Wire.Count("PATCH suites/status"))/float64(runs))
}
