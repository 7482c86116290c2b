package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/otlp"
	"github.com/postflight-dev/postflight/test/picture"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/prometheus"
	"github.com/postflight-dev/postflight/test/tier"
)

// envPictures names the folder for pictures for docs.
const envPictures = "POSTFLIGHT_SCREENSHOTS"

const (
	pipelineTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	pipelineParent = "00-" + pipelineTrace + "-00f067aa0ba902b7-01"
)

// runTracedManager sends its traces to a collector of the test.
func runTracedManager(t *testing.T, c *cluster) (*manager, *otlp.Collector) {
	t.Helper()
	collector := otlp.HTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	return runManager(t, c, options{}), collector
}

// TestTrace follows a deployment from the pipeline's notification to the end of its tests in a real pod, which know the
// trace.
func TestTrace(t *testing.T) {
	tier.All(t, "it needs a manager that traces, and a pod of some seconds")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("smoke", runs(`echo "parent=$TRACEPARENT"; sleep 3`))
	m, collector := runTracedManager(t, c)
	a, err := tm.tryNotify(m, notification{"sha": sha(), "branch": "main"}, "Traceparent", pipelineParent)
	if err != nil || len(a.Results) != 1 {
		t.Fatalf("%v: %s", err, a.body)
	}
	run := a.Results[0].Created
	tm.awaitLog(run, "parent=00-"+pipelineTrace+"-")
	if s := tm.awaitEnd(run); s.State() != v1alpha1.ReasonPassed {
		t.Fatalf("%s: %s", s.State(), message(s))
	}
	spans := awaitTrace(t, collector, 7)
	tests := spans["tests"]
	if took := tests.End.Sub(tests.Start); took < 2*time.Second || tests.Parent != spans["run smoke"].ID {
		t.Errorf("the tests of 3 s have the span %+v, in the run %+v", tests, spans["run smoke"])
	}
	if folder := os.Getenv(envPictures); folder != "" {
		picture.Trace(t, filepath.Join(folder, "trace.png"), spans)
	}
}

func awaitTrace(t *testing.T, collector *otlp.Collector, spans int) (got map[string]otlp.Span) {
	t.Helper()
	poll.Until(t, fmt.Sprintf("the collector has %d spans", spans), func() string {
		if got = collector.Trace(pipelineTrace); len(got) < spans {
			return fmt.Sprintf("%+v", got)
		}
		return ""
	})
	return got
}

// TestDashboardPicture draws the dashboard after two minutes of runs in real pods, for docs.
func TestDashboardPicture(t *testing.T) {
	folder := os.Getenv(envPictures)
	if folder == "" {
		t.Skip(envPictures + " names no folder")
	}
	c := useCluster(t)
	m := runManager(t, c, options{})
	prom := prometheus.Start(t, filepath.Join(root(), "bin", "prometheus"), m.metrics)
	began := time.Now()
	for i, script := range []string{"sleep 1", "sleep 4", "sleep 1; exit 1"} {
		tm := newTeam(t, c)
		tm.trigger([]string{"smoke", "checkout", "mobile"}[i], runs(script))
		go func() {
			for time.Since(began) < 2*time.Minute {
				_, _ = tm.tryNotify(m, notification{"sha": sha(), "branch": random(2)}) // an error is in the picture
				time.Sleep(time.Duration(2+i) * time.Second)
			}
		}()
	}
	time.Sleep(2*time.Minute + 5*time.Second)
	picture.Dashboard(t, filepath.Join(folder, "dashboard.png"),
		filepath.Join(root(), "charts/postflight/files/monitoring/dashboard.json"), prom, began)
}
