package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
)

// outage is long enough for the longest pause between attempts.
const outage = time.Minute

// BenchmarkReport has a host that is down while runs start and end, and measures how long after its recovery it shows
// all ends. The limits of the host are lifted: TestBurstWithinLimits computes what they cost.
func BenchmarkReport(b *testing.B) {
	for _, runs := range []int{1, 500} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			for b.Loop() {
				measureReports(b, runs)
			}
		})
	}
}

func measureReports(b *testing.B, runs int) {
	w := newReportWorld(b, func(w *reportWorld) {
		host := w.CodeHosts.Hosts[v1alpha1.GitHub]
		host.Limits = report.Limits{PerMinute: 1 << 20, PerHour: 1 << 20, InFlight: host.Limits.InFlight}
		w.CodeHosts.Hosts[v1alpha1.GitHub] = host
		w.gitHub.PerMinute, w.gitHub.PerHour = 1<<20, 1<<20
	})
	w.gitHub.Fail(&codehost.Fault{Status: 503})
	down := time.Now()
	for i := range runs {
		w.Create(build.Suite(fmt.Sprint("run-", i), i%30, tests(fmt.Sprintf("%040x", i))))
	}
	for i := range runs {
		w.HasJob(fmt.Sprint("run-", i))
	}
	for i := range runs {
		w.Cancel(fmt.Sprint("run-", i), "")
	}
	for i := range runs {
		w.Stops(fmt.Sprint("run-", i))
	}
	w.Reaches(fmt.Sprint("run-", runs-1), v1alpha1.ReasonCanceled, "")
	time.Sleep(time.Until(down.Add(outage)))
	w.gitHub.Fail(nil)
	recovered := time.Now()
	for i := range runs {
		w.reports(fmt.Sprint("run-", i), v1alpha1.ReasonPosted, "")
	}
	writes := w.gitHub.Writes()
	each := func(request string) float64 { return float64(w.Wire.Count(request)) / float64(runs) }
	fmt.Printf("REPORT runs=%d posts_per_run=%.2f converge_seconds=%.1f requests_per_run=%.2f get_secrets_per_run=%.2f get_suites_per_run=%.2f\n",
		runs, float64(len(writes))/float64(runs), writes[len(writes)-1].At.Sub(recovered).Seconds(),
		float64(len(w.gitHub.Requests()))/float64(runs), each("GET secrets"), each("GET suites"))
	w.Stop()
}
