package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestLargeResults uploads as much as a run may keep, in files of as much as a file may have. The rest is told.
func TestLargeResults(t *testing.T) {
	tier.All(t, "it uploads 2 GiB")
	c := useCluster(t)
	tm := newTeam(t, c)
	// Of two files of 1 GiB, one has room beside a small file and one that leaves 6 bytes. The last is too large.
	tm.trigger("video", keeps(nothing), timeout(10*time.Minute), grace(300), runs(`cd "$POSTFLIGHT_RESULTS_DIR"; echo small >small.txt
write() { dd if=/dev/zero of="$1" bs=1 count=0 seek="$2" 2>/dev/null; }
write a.bin 1073741818; write b.bin 1073741824; write c.bin 1073741824; write d.bin 1073741825`))
	m := runManager(t, c, options{})
	began := time.Now()
	s := tm.awaitFor(10*time.Minute, tm.failing(m, ""), "ended", (*v1alpha1.Suite).Finished)
	t.Cleanup(func() { _ = os.RemoveAll(tm.storedAt(s)) }) // 2 GiB
	story(t, "after %s: %s\n%s", time.Since(began), message(s), collectedMessage(s))
	figure(t, "LARGE_RESULTS bytes=%d seconds=%.1f", s.Status.Artifacts.Bytes, time.Since(began).Seconds())
	if s.State() != v1alpha1.ReasonPassed || s.Status.Artifacts.Count != 3 || s.Status.Artifacts.Bytes != 2<<30 {
		t.Errorf("%s with %+v, want three files of 2 GiB together", s.State(), *s.Status.Artifacts)
	}
	for _, lost := range []string{"beyond the 2 GiB", "d.bin was not kept: larger than 1 GiB"} {
		if !strings.Contains(collectedMessage(s), lost) {
			t.Errorf("the condition does not say %q", lost)
		}
	}
	if files := tm.sizes(s); files["small.txt"] != 6 || files["a.bin"] != 1<<30-6 || files["b.bin"]+files["c.bin"] != 1<<30 {
		t.Errorf("the store has %v", files)
	}
}

// sizes are those of the stored files of a run with one pod, by path.
func (tm *team) sizes(s *v1alpha1.Suite) map[string]int64 {
	tm.t.Helper()
	sizes := map[string]int64{}
	entries, err := os.ReadDir(filepath.Join(tm.storedAt(s), tm.pods(s.Name)[0].Name))
	if err != nil {
		tm.t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			tm.t.Fatal(err)
		}
		sizes[e.Name()] = info.Size()
	}
	return sizes
}

// BenchmarkResults measures from the end of the test to the end of the run, with results and without.
func BenchmarkResults(b *testing.B) {
	c := useCluster(b)
	tm := newTeam(b, c)
	const shots = `for i in 1 2 3 4 5 6 7 8 9; do head -c 200000 /dev/urandom >"$POSTFLIGHT_RESULTS_DIR/$i.png"; done; `
	const sayWhen = `cut -d " " -f 1 /proc/uptime >/dev/termination-log`
	tm.trigger("without", branches("without-*"), runs(`POSTFLIGHT_RESULTS_DIR=/tmp; `+report+shots+sayWhen), func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.TerminationGracePeriodSeconds = nil
	})
	tm.trigger("with", branches("with-*"), keeps(), runs(report+shots+sayWhen))
	m := runManager(b, c, options{})
	took := map[string][]time.Duration{}
	const runs = 10
	for b.Loop() {
		for _, kind := range []string{"without", "with"} {
			for range runs {
				took[kind] = append(took[kind], tm.afterTest(m, kind+"-"+random(4)))
			}
		}
	}
	figure(b, "RESULTS runs=%d files=10 bytes=1800000 median_ms_without=%.0f median_ms_with=%.0f max_ms_without=%.0f max_ms_with=%.0f", runs,
		milliseconds(took["without"]), milliseconds(took["with"]), largest(took["without"]), largest(took["with"]))
}

// afterTest is how long after the end of its test a run ended. The test says when, in seconds since the boot of the
// machine, which is that of the node.
func (tm *team) afterTest(m *manager, branch string) time.Duration {
	tm.t.Helper()
	s := tm.awaitState(tm.run(m, notification{"branch": branch, "sha": sha()}), v1alpha1.ReasonPassed)
	content, err := os.ReadFile("/proc/uptime")
	now := time.Now()
	if err != nil {
		tm.t.Fatal(err)
	}
	var uptime, ended float64
	_, said, _ := strings.Cut(message(s), "passed in ")
	_, said, _ = strings.Cut(said, ": ")
	if _, err := fmt.Sscan(said, &ended); err != nil {
		tm.t.Fatalf("%q does not say when the test ended: %v", message(s), err)
	}
	if _, err := fmt.Fscan(bytes.NewReader(content), &uptime); err != nil {
		tm.t.Fatal(err)
	}
	boot := now.Add(-time.Duration(uptime * float64(time.Second)))
	return tm.history(s.Name).ended.Sub(boot.Add(time.Duration(ended * float64(time.Second))))
}

func largest(all []time.Duration) float64 {
	return float64(slices.Max(all).Microseconds()) / 1000
}
