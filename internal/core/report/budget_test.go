package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func gitHubBudget() *report.Budget {
	return (&report.Budgets{}).Of("a", report.LimitsOf(v1alpha1.GitHub), noon)
}

// TestBudget writes as fast as it may for a day, and counts in each minute and each hour.
func TestBudget(t *testing.T) {
	b, sent := gitHubBudget(), []time.Time{}
	for now := noon; now.Before(noon.Add(24 * time.Hour)); {
		if wait := b.Take(100, now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		sent = append(sent, now)
		b.Done(nil, now)
	}
	within := func(window time.Duration) (most int) {
		first := 0
		for i := range sent {
			for sent[i].Sub(sent[first]) >= window {
				first++
			}
			most = max(most, i-first+1)
		}
		return most
	}
	if minute, hour := within(time.Minute), within(time.Hour); minute != 80 || hour != 500 {
		t.Errorf("%d writes in a minute and %d in an hour, want 80 and 500", minute, hour)
	}
	if len(sent) != 24*500 {
		t.Errorf("%d writes in a day, want %d", len(sent), 24*500)
	}
}

// TestLeastUsefulFirst: what is needed least has no room first.
func TestLeastUsefulFirst(t *testing.T) {
	b := gitHubBudget()
	allowed := map[string]int{}
	for _, state := range []metav1.Condition{v1alpha1.Queued(""), v1alpha1.Running(""), v1alpha1.Superseded(""), v1alpha1.Failed("")} {
		for b.Take(report.Share(report.Checks, aSuite(in(state))), noon) == 0 {
			allowed[state.Reason]++
			b.Done(nil, noon)
		}
	}
	want := map[string]int{"Queued": 20, "Running": 20, "Superseded": 20, "Failed": 20}
	if diff := cmp.Diff(want, allowed); diff != "" {
		t.Errorf("writes within a minute (-want +got):\n%s", diff)
	}
}

func TestBudgetAfterFailures(t *testing.T) {
	take := func(b *report.Budget, now time.Time) time.Duration { return b.Take(100, now) }
	unavailable := &report.Error{Kind: report.Unavailable}

	b := gitHubBudget()
	for range 4 {
		if wait := take(b, noon); wait != 0 {
			t.Fatalf("waits for %s", wait)
		}
	}
	if wait := b.Wait(100, noon); wait != time.Second {
		t.Errorf("before a fifth request at once, Wait says %s", wait)
	}
	if wait := take(b, noon); wait != time.Second {
		t.Errorf("a fifth request at once waits for %s", wait)
	}
	for range 4 {
		b.Done(unavailable, noon)
	}
	if wait := take(b, noon); wait != 8*time.Second {
		t.Errorf("after four failures, the host is left alone for %s", wait)
	}
	now := after(8 * time.Second)
	if first, second := take(b, now), take(b, now); first != 0 || second != time.Second {
		t.Errorf("one request tries the host: got waits of %s and %s", first, second)
	}
	b.Done(nil, now)
	if first, second := take(b, now), take(b, now); first != 0 || second != 0 {
		t.Errorf("after a success: got waits of %s and %s", first, second)
	}
	b.Done(&report.Error{Kind: report.Limited, RetryAfter: 10 * time.Minute}, now)
	if wait := take(b, now); wait != 10*time.Minute {
		t.Errorf("after Retry-After, waits for %s", wait)
	}

	b = gitHubBudget()
	for i := range 20 {
		now = now.Add(time.Hour)
		if wait := take(b, now); wait != 0 {
			t.Fatalf("failure %d waits for %s an hour later", i, wait)
		}
		b.Done(unavailable, now)
	}
	if wait := take(b, now); wait != 30*time.Second {
		t.Errorf("the longest wait is %s", wait)
	}

	b = gitHubBudget()
	take(b, noon)
	b.Done(&report.Error{Kind: report.Rejected}, noon)
	if wait := take(b, noon); wait != 0 {
		t.Errorf("a rejected request holds up others for %s", wait)
	}
}

// TestWaitTakesNothing: a look at a Budget is no write.
func TestWaitTakesNothing(t *testing.T) {
	b := (&report.Budgets{}).Of("a", report.Limits{PerMinute: 1, PerHour: 1, InFlight: 1}, noon)
	for range 3 {
		if wait := b.Wait(100, noon); wait != 0 {
			t.Fatalf("waits for %s", wait)
		}
	}
	if wait := b.Take(100, noon); wait != 0 {
		t.Errorf("waits for %s", wait)
	}
	if wait := b.Wait(100, noon); wait != time.Hour {
		t.Errorf("after the only write of an hour, waits for %s", wait)
	}
}

func TestBudgetsAreApart(t *testing.T) {
	all := &report.Budgets{}
	limits := report.Limits{PerMinute: 1, PerHour: 1, InFlight: 1}
	a, b := all.Of("a", limits, noon), all.Of("b", limits, noon)
	if a.Take(100, noon) != 0 || b.Take(100, noon) != 0 || a.Take(100, noon) == 0 {
		t.Error("a credential uses the budget of another")
	}
	if all.Of("a", limits, noon) != a {
		t.Error("a budget is forgotten")
	}
	a.Done(nil, noon)
	all.Of("c", limits, after(2*time.Hour))
	if all.Of("a", limits, after(2*time.Hour)) == a {
		t.Error("a budget that is not used is kept")
	}
	if all.Of("b", limits, after(2*time.Hour)) != b {
		t.Error("a budget with a request in flight is forgotten")
	}
}

func TestParseSecret(t *testing.T) {
	cases := map[string]struct {
		service v1alpha1.HostingService
		data    map[string]string
		want    report.Credentials
		problem string
	}{
		"a token":                     {v1alpha1.GitHub, map[string]string{"token": "t0k\n"}, report.Credentials{Token: "t0k"}, ""},
		"a token of GitLab":           {v1alpha1.GitLab, map[string]string{"token": "t0k"}, report.Credentials{Token: "t0k"}, ""},
		"an App":                      {v1alpha1.GitHub, map[string]string{"githubAppID": "12", "githubAppPrivateKey": "pem"}, report.Credentials{AppID: 12, PrivateKey: []byte("pem")}, ""},
		"an App and its installation": {v1alpha1.GitHub, map[string]string{"githubAppID": "12", "githubAppInstallationID": "34", "githubAppPrivateKey": "pem"}, report.Credentials{AppID: 12, InstallationID: 34, PrivateKey: []byte("pem")}, ""},
		"an App without a key":        {v1alpha1.GitHub, map[string]string{"githubAppID": "12"}, report.Credentials{}, "no key githubAppPrivateKey"},
		"an App without a number":     {v1alpha1.GitHub, map[string]string{"githubAppID": "s3cret", "githubAppPrivateKey": "pem"}, report.Credentials{}, "githubAppID is not a positive number"},
		"an App on GitLab":            {v1alpha1.GitLab, map[string]string{"githubAppID": "12", "githubAppPrivateKey": "pem"}, report.Credentials{}, "no key token"},
		"two lines":                   {v1alpha1.GitHub, map[string]string{"token": "s3cret\nX-Evil: 1"}, report.Credentials{}, "of its key token, it holds no token"},
		"an empty token":              {v1alpha1.GitHub, map[string]string{"token": " "}, report.Credentials{}, "of its key token, it holds no token"},
		"nothing":                     {v1alpha1.GitHub, nil, report.Credentials{}, "neither the key token nor"},
		"other keys":                  {v1alpha1.GitHub, map[string]string{"password": "s3cret"}, report.Credentials{}, "neither the key token nor"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range tc.data {
				data[key] = []byte(value)
			}
			got, problem := report.ParseSecret(tc.service, data)
			if diff := cmp.Diff(tc.want, got); diff != "" || !strings.Contains(problem, tc.problem) || (problem == "") != (tc.problem == "") {
				t.Errorf("got the problem %q and (-want +got):\n%s", problem, diff)
			}
			if strings.Contains(problem+got.Key(), "s3cret") {
				t.Errorf("%q reveals the secret", problem)
			}
		})
	}
	a, same, b := report.Credentials{Token: "a"}, report.Credentials{Token: "a"}, report.Credentials{Token: "b"}
	if a.Key() == b.Key() || a.Key() != same.Key() {
		t.Errorf("the keys are %q, %q and %q", a.Key(), same.Key(), b.Key())
	}
}

// TestBurstWithinLimits: 500 runs that start and end at once on GitHub. The outcomes of all are shown within the hour
// in which GitHub accepts 500 writes and the one after it, and nobody waits long for those of the first.
func TestBurstWithinLimits(t *testing.T) {
	b := gitHubBudget()
	running, ended := aSuite(in(v1alpha1.Running(""))), aSuite(in(v1alpha1.Failed("")))
	shown, started, now := 0, 0, noon
	for ; b.Take(report.Share(report.Checks, running), now) == 0; started++ {
		b.Done(nil, now)
	}
	for shown < 500 {
		if wait := b.Take(report.Share(report.Checks, ended), now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		b.Done(nil, now)
		shown++
	}
	t.Logf("REPORT_LIMITED runs=500 in_progress=%d posts_per_run=%.2f converge_seconds=%.0f", started, float64(started+shown)/500, now.Sub(noon).Seconds())
	if took := now.Sub(noon); started != 40 || took > 61*time.Minute {
		t.Errorf("%d runs are shown in progress, and all ends after %s", started, took)
	}
}
