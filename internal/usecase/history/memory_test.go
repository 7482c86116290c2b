package history_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	core "github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	busyRuns = 5000      // a day, as docs/operations/sizing.md recommends at most
	ballast  = 160 << 20 // what a manager with so many runs holds beside answers: 15,000 runs of three days take 90 MiB
	limit    = 256 << 20 // of the process, as the manager has

	daysOfProcess = "POSTFLIGHT_HISTORY_DAYS" // tells a process of this test to answer
)

// TestAnswersFitBesideAManager: four answers at once, from days of 5,000 runs, some with long texts, keep a process with the ballast of a
// manager below its limit.
func TestAnswersFitBesideAManager(t *testing.T) {
	if days := os.Getenv(daysOfProcess); days != "" {
		n, err := strconv.Atoi(days)
		if err != nil {
			t.Fatal(err)
		}
		answerBesideBallast(t, n)
		return
	}
	days := history.MaxDays
	if tier.Gate() {
		days = 4
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", daysOfProcess, days), "GOMEMLIMIT=230MiB", "GOMAXPROCS=2")
	output, err := cmd.CombinedOutput()
	peak := regexp.MustCompile(`PEAK bytes=(\d+)`).FindSubmatch(output)
	if err != nil || peak == nil {
		t.Fatalf("%v\n%s", err, output)
	}
	used, err := strconv.Atoi(string(peak[1]))
	if err != nil || used < ballast || used > limit {
		t.Errorf("the process used %d MiB, want its ballast of %d and at most %d", used>>20, ballast>>20, limit>>20)
	}
	t.Logf("%d and as many days before, of %d runs each: %d MiB with a ballast of %d", days, busyRuns, used>>20, ballast>>20)
}

func answerBesideBallast(t *testing.T, days int) {
	held := bytes.Repeat([]byte{1}, ballast)
	group, ctx := errgroup.WithContext(t.Context())
	archive := busyArchive{"acme": busy("acme", 20), "rivals": busy("rivals", 1000)}
	r := history.NewReader(archive, clocktesting.NewFakePassiveClock(now), time.Hour)
	for team := range archive {
		owner := &v1alpha1.Team{}
		owner.Name = team
		query := history.Query{Days: days, Limit: 20}
		group.Go(func() error {
			i, err := r.Insights(ctx, owner, query)
			if err == nil && (i.Period.Runs != days*busyRuns || i.Before.Runs != days*busyRuns || i.Problem != "" || len(i.LeastReliable) != 10) {
				err = fmt.Errorf("%s: insights of %d runs, and %d tests: %s", team, i.Period.Runs, len(i.LeastReliable), i.Problem)
			}
			return err
		})
		group.Go(func() error {
			h, err := r.Test(ctx, owner, "keeps items 7", query)
			if err == nil && (len(h.Places) != 1 || h.Places[0].Runs != days*busyRuns || h.Problem != "") {
				err = fmt.Errorf("%s: the history of %d places: %s", team, len(h.Places), h.Problem)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kib, err := strconv.Atoi(string(peak[1]))
	if err != nil || held[len(held)-1] != 1 {
		t.Fatal(err)
	}
	fmt.Printf("PEAK bytes=%d\n", kib<<10)
}

// busyArchive has the same runs of a team each day.
type busyArchive map[string]busyDay

type busyDay struct{ day, tests []byte }

func busy(team string, text int) busyDay {
	place := httpapi.Place{Namespace: team, Trigger: "smoke", Environment: "staging"}
	runs := make([]core.Run, busyRuns)
	for i := range runs {
		id := fmt.Sprintf("smoke-%08d", i)
		long := id + strings.Repeat("x", text)
		runs[i] = core.Run{
			ID: id, Place: place, CreatedAt: now.Truncate(24 * time.Hour).Add(time.Duration(i) * time.Second).Format(time.RFC3339), State: "Passed",
			Repository: "acme/shop", SHA: fmt.Sprintf("%040x", i*7919), Branch: long, CommitURL: "https://example.com/" + long,
			DurationSeconds: float64(i) / 10, VerdictSeconds: float64(i) / 5, Tests: 20, Listed: true,
		}
	}
	b, _ := core.NewPlaceBuilder(place, runs)
	for i := range runs {
		b.Begin(runs[i].ID)
		for j := range 20 {
			test := httpapi.Test{Name: fmt.Sprintf("keeps items %d", j), State: httpapi.TestPassed, Milliseconds: int64(i * j % 5000)}
			if i%(100+j) == 0 {
				test.State, test.Message = httpapi.TestFailed, "expected 200"
			}
			b.Add(test)
		}
	}
	summary, tests := b.Finish()
	day := core.NewDay(team, now.Format(time.DateOnly), runs, []core.PlaceDay{summary})
	return busyDay{day.Encode(), tests}
}

func (a busyArchive) OpenDay(_ context.Context, team, _ string) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(a[team].day)), int64(len(a[team].day)), nil
}

func (a busyArchive) TestOn(_ context.Context, team, _ string, p *core.PlaceDay, name string) (core.TestDay, bool, error) {
	from, to, ok := p.BlockOf(name)
	if !ok {
		return core.TestDay{}, false, nil
	}
	return p.FindTest(bytes.NewReader(a[team].tests[from:to]), name)
}

func (a busyArchive) TestsOn(_ context.Context, team, _ string, p *core.PlaceDay, text string, each func(core.TestDay)) error {
	return p.ReadTests(bytes.NewReader(a[team].tests), text, each)
}
