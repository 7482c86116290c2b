package report_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
)

// TestLeastUsefulFirst has a host that accepts 8 writes an hour, and runs that ask for more. What people need least is
// left out, every write is accepted, and the last ones are outcomes.
func TestLeastUsefulFirst(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t, func(w *reportWorld) {
		host := w.CodeHosts.Hosts[v1alpha1.GitHub]
		host.Limits = report.Limits{PerMinute: 1 << 20, PerHour: 8, InFlight: 4}
		w.CodeHosts.Hosts[v1alpha1.GitHub] = host
		w.gitHub.PerMinute, w.gitHub.PerHour = 1<<20, 8
	})
	name := func(i int) string { return fmt.Sprint("run-", i) }
	isShown := func(want map[string]int) {
		t.Helper()
		w.Eventually(fmt.Sprintf("the host shows %v", want), func() string {
			got := map[string]int{}
			for _, write := range w.gitHub.Writes() {
				got[write.State]++
			}
			return cmp.Diff(want, got)
		})
	}
	for i := range 5 {
		w.Create(build.Suite(name(i), i, build.OfTrigger("token"), tests(fmt.Sprintf("%040x", i))))
		w.Runs(name(i))
	}
	isShown(map[string]int{"pending": 4}) // half of the budget
	cancel := func(i int) {
		w.Cancel(name(i), "jo")
		w.Stops(name(i))
		w.Reaches(name(i), v1alpha1.ReasonCanceled, "")
	}
	cancel(0)
	isShown(map[string]int{"pending": 4, "error": 1})
	w.Passes(name(1))
	w.Passes(name(2))
	isShown(map[string]int{"pending": 4, "error": 1, "success": 2})
	cancel(3) // beyond three quarters
	w.Passes(name(4))
	isShown(map[string]int{"pending": 4, "error": 1, "success": 3})
	if posts := calls(w.gitHub)["POST /repos/acme/shop/statuses/SHA"]; posts != 8 {
		t.Errorf("%d posts, of which the host accepts 8", posts)
	}
}
