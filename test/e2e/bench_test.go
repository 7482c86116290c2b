package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// BenchmarkNotification measures what a pipeline waits for: from the request to the answer, to the
// Job, and to the end of a run whose test does nothing. Each run is of a branch of its own, so that
// none supersedes another, and starts when the one before has ended.
func BenchmarkNotification(b *testing.B) {
	c := useCluster(b)
	tm := newTeam(b, c)
	tm.trigger("nothing", runs("true"))
	m := runManager(b, c, options{})
	measure(tm, m) // the first one opens connections, and does not count

	const runs = 20
	var answers, jobs, ends []time.Duration
	for b.Loop() {
		for range runs {
			answer, job, end := measure(tm, m)
			answers, jobs, ends = append(answers, answer), append(jobs, job), append(ends, end)
		}
	}
	b.ReportMetric(milliseconds(answers), "answer-ms")
	b.ReportMetric(milliseconds(jobs), "job-ms")
	b.ReportMetric(milliseconds(ends), "finished-ms")
	figure(b, "NOTIFY_TO_END runs=%d median_answer_ms=%.1f median_job_ms=%.1f median_finished_ms=%.1f",
		len(answers), milliseconds(answers), milliseconds(jobs), milliseconds(ends))
}

func measure(tm *team, m *manager) (answer, job, end time.Duration) {
	tm.t.Helper()
	began := time.Now()
	id := tm.run(m, notification{"branch": "bench/" + random(4), "sha": sha()})
	answer = time.Since(began)
	tm.awaitState(id, v1alpha1.ReasonPassed)
	var h history
	poll.True(tm.t, "the watches tell of the run", func() bool {
		h = tm.history(id)
		return !h.ended.IsZero() && !h.jobSeen.IsZero()
	})
	return answer, h.jobSeen.Sub(began), h.ended.Sub(began)
}

// milliseconds of the median.
func milliseconds(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}
