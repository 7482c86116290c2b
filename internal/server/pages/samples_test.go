package pages_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// run describes a run of the samples.
type run struct {
	id, trigger, environment, branch, sha string
	ago                                   time.Duration
	waited, took                          time.Duration
	condition                             metav1.Condition
	results                               *v1alpha1.TestResults
	change                                func(*v1alpha1.Suite)
}

func (r run) suite() *v1alpha1.Suite {
	received := time.Now().Add(-r.ago)
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: r.id, Namespace: team, UID: types.UID(r.id), CreationTimestamp: metav1.NewTime(received)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: r.trigger, UID: types.UID(r.trigger)}, Environment: r.environment, Attempt: 1,
			Deployment: v1alpha1.Deployment{Branch: r.branch, SHA: r.sha, URL: "https://" + r.environment + ".shop.example.com", Type: r.environment,
				Repository: "acme/shop", HostingService: v1alpha1.GitHub},
			Variables:  v1alpha1.Variables{"GREP": "@smoke", "REGION": "eu-west-1", "NPM_TOKEN": "hunter2"},
			ReceivedAt: new(metav1.NewMicroTime(received.Truncate(time.Microsecond))),
		},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{r.condition}, Results: r.results, JobName: r.id},
	}
	if r.took > 0 {
		s.Status.StartTime = new(metav1.NewTime(received.Add(r.waited)))
	}
	if r.condition.Status != metav1.ConditionUnknown {
		s.Status.CompletionTime = new(metav1.NewTime(received.Add(r.waited + r.took)))
	}
	if r.change != nil {
		r.change(s)
	}
	return s
}

// commit is a SHA that starts with these digits.
func commit(start string) string { return fmt.Sprintf("%s%0*d", start, 40-len(start), 7) }

func failures() *v1alpha1.TestResults {
	return &v1alpha1.TestResults{
		Tests: 120, Passed: 117, Failed: 2, Skipped: 1, NewFailures: 1, KnownFailures: 1, ComparedWith: "smoke-0a1b2c3d4e5f",
		Failures: []v1alpha1.TestFailure{
			{Name: "account › deletes an address", File: "account.spec.ts", Line: 88, History: v1alpha1.FailureKnown,
				Message: "Timed out 5000ms waiting for expect(locator).toBeHidden()"},
			{Name: "checkout › pays with a saved card", File: "checkout.spec.ts", Line: 31, History: v1alpha1.FailureNew,
				Message: "Error: expect(locator).toBeVisible() failed"},
		},
	}
}

func passed(n int32) *v1alpha1.TestResults { return &v1alpha1.TestResults{Tests: n, Passed: n} }

func ofPay(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "acme/pay" }

const minute = time.Minute

// sampleRuns have every state.
func sampleRuns() []run {
	b776, c9c1, d77d := commit("b776998c"), commit("9c1d2e3f"), commit("77d01b5e")
	return []run{
		{id: "checkout-3f9c2k7q5x0a", trigger: "checkout", environment: "staging", branch: "feature/pay", sha: c9c1, ago: 80 * time.Second,
			waited: 8 * time.Second, took: 1,
			condition: v1alpha1.Running("The tests are running."), results: nil},
		{id: "mobile-77aa", trigger: "mobile", environment: "device-lab", branch: "feature/pay", sha: c9c1, ago: 85 * time.Second,
			condition: v1alpha1.Starting("Its pod waits for a node with a free device.")},
		{id: "visual-5d2m", trigger: "visual", environment: "staging", branch: "feature/pay", sha: c9c1, ago: 90 * time.Second,
			condition: v1alpha1.Queued("Waiting for a slot of Trigger visual, at position 2 in the queue.")},
		{id: "smoke-4cplqekpnk1gtdjr", trigger: "smoke", environment: "production", branch: "main", sha: b776, ago: 12 * minute,
			waited: 13 * time.Second, took: 4*minute + 3*time.Second,
			condition: v1alpha1.Failed("2 of 120 tests failed, 1 of them new, the first: checkout › pays with a saved card."), results: failures(), change: func(s *v1alpha1.Suite) {
				s.Spec.Deployment.PullRequestNumber = 318
				s.Spec.Deployment.CommitMessage, s.Spec.Deployment.CommitAuthor = "Pay with a saved card in one step", "Anna Lee"
				s.Spec.Attempt = 2
				s.Status.Artifacts = &v1alpha1.Artifacts{Count: 5, Bytes: 4 << 20, Prefix: "shop/x/"}
				s.Status.Inputs = []v1alpha1.SuiteInput{{Path: "builds/app-318.apk", Size: 48 << 20, ETag: "9f86d081884c7d65"}}
			}},
		{id: "smoke-1sta", trigger: "smoke", environment: "staging", branch: "main", sha: b776, ago: 26 * minute, waited: 9 * time.Second,
			took:      3*minute + 58*time.Second,
			condition: v1alpha1.Passed("The run passed in 3m58s."), results: &v1alpha1.TestResults{Tests: 120, Passed: 119, Skipped: 1, Fixed: 1},
			change: func(s *v1alpha1.Suite) {
				s.Status.AnsweredOther = &v1alpha1.OtherDeployment{NotifiedAt: metav1.NewTime(time.Now().Add(-4 * minute)),
					URL: "https://canary.shop.example.com", Differs: []v1alpha1.Difference{v1alpha1.DifferentURL}}
			}},
		{id: "smoke-2sup", trigger: "smoke", environment: "staging", branch: "main", sha: commit("41aa90c2"), ago: 31 * minute,
			waited: 5 * time.Second, took: 48 * time.Second,
			condition: v1alpha1.Superseded("Superseded by smoke-1sta, a newer deployment of main to staging."),
			change:    func(s *v1alpha1.Suite) { s.Status.SupersededBy = "smoke-1sta" }},
		{id: "load-9ttt", trigger: "load", environment: "staging", branch: "release/4.2", sha: d77d, ago: 2 * time.Hour,
			waited: 5 * time.Second, took: 30 * minute,
			condition: v1alpha1.TimedOut("The run took longer than its timeout of 30m and was stopped. The last line: waiting for /healthz"),
			results:   &v1alpha1.TestResults{Tests: 40, Passed: 12, Failed: 1}, change: ofPay},
		{id: "mobile-3err", trigger: "mobile", environment: "device-lab", branch: "main", sha: b776, ago: 3 * time.Hour,
			condition: v1alpha1.Error("The image registry.example.com/e2e:41 does not exist. Fix the jobTemplate of Trigger mobile.")},
		{id: "smoke-8pr3", trigger: "smoke", environment: "pr-318", branch: "fix/cart-badge", sha: commit("0d4c77e1"), ago: 4 * time.Hour,
			waited: 7 * time.Second, took: 4*minute + 11*time.Second,
			condition: v1alpha1.Passed("The run passed in 4m11s (exit code only).")},
		{id: "release-acceptance-6c", trigger: "release-acceptance", environment: "staging", branch: "release/4.2", sha: d77d,
			ago: 5 * time.Hour, waited: 4 * time.Second, took: 2*minute + 40*time.Second,
			condition: v1alpha1.Canceled("Canceled by anna@example.com."), change: func(s *v1alpha1.Suite) {
				ofPay(s)
				s.Spec.Cancel = true
				s.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: "anna@example.com"}
			}},
		{id: "smoke-0a1b2c3d4e5f", trigger: "smoke", environment: "production", branch: "main", sha: commit("b2f00d1a"), ago: 26 * time.Hour,
			waited: 6 * time.Second, took: 4 * minute,
			condition: v1alpha1.Failed("1 of 120 tests failed."),
			results: &v1alpha1.TestResults{Tests: 120, Passed: 119, Failed: 1, KnownFailures: 1,
				Failures: []v1alpha1.TestFailure{{Name: "account › deletes an address", History: v1alpha1.FailureKnown}}}},
		{id: "smoke-first-attempt", trigger: "smoke", environment: "production", branch: "main", sha: b776, ago: 40 * minute,
			condition: v1alpha1.Error("The node of its pod is unreachable.")},
	}
}

// samples are a team with everything that the pages show.
func samples() []client.Object {
	objects := emptyTeams()
	for _, r := range sampleRuns() {
		objects = append(objects, r.suite())
	}
	for i := range 40 { // history
		condition, results := v1alpha1.Passed("All 64 tests passed."), passed(64)
		if i%9 == 4 {
			condition, results = v1alpha1.Failed("1 of 64 tests failed."), &v1alpha1.TestResults{Tests: 64, Passed: 63, Failed: 1,
				Failures: []v1alpha1.TestFailure{{Name: "cart › keeps items"}}}
		}
		if i%11 == 6 {
			results = &v1alpha1.TestResults{Tests: 64, Passed: 64, Flaky: 2}
		}
		objects = append(objects, run{id: fmt.Sprintf("checkout-old%02d", i), trigger: "checkout", environment: "staging", branch: "main",
			sha: commit(fmt.Sprintf("e90b%04d", i)), ago: time.Duration(30+7*i) * time.Hour, waited: 4 * time.Second,
			took: 2*minute + time.Duration(i*i%70)*time.Second, condition: condition, results: results}.suite())
	}
	objects = append(objects, &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Name: "ci", Namespace: team},
		Spec: v1alpha1.APIKeySpec{ExpiresAt: new(metav1.NewTime(time.Now().Add(130 * time.Hour)))}})
	failed := metav1.NewTime(time.Now().Add(-12*minute + 4*minute + 12*time.Second))
	objects = append(objects, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke-4cplqekpnk1gtdjr", Namespace: team,
			CreationTimestamp: metav1.NewTime(time.Now().Add(-12*minute + 8*time.Second))},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, LastTransitionTime: failed}}},
	})
	for name, spec := range map[string]v1alpha1.TriggerSpec{
		"checkout": {Environment: "staging", Match: v1alpha1.TriggerMatch{Branches: []string{"main", "feature/**"}}},
		"visual": {Environment: "staging",
			Match: v1alpha1.TriggerMatch{Branches: []string{"feature/**"}, DeploymentTypes: []string{"staging"}}},
		"smoke": {Environment: "production",
			Match: v1alpha1.TriggerMatch{DeploymentTypes: []string{"production"}, Repositories: []string{"acme/shop"}}},
		"load": {Environment: "staging",
			Match: v1alpha1.TriggerMatch{Branches: []string{"release/**"}, Expression: "notification.variables['region'] == 'eu'"}},
		"mobile":             {Environment: "device-lab"},
		"release-acceptance": {Environment: "staging", Paused: true, Match: v1alpha1.TriggerMatch{Branches: []string{"release/**"}}},
	} {
		objects = append(objects,
			&v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team, UID: types.UID(name), Generation: 1}, Spec: spec})
	}
	objects = append(objects, &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: team, UID: "nightly", Generation: 1},
		Spec: v1alpha1.TriggerSpec{Environment: "perf"},
		Status: v1alpha1.TriggerStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
			Reason: "EnvironmentMissing", Message: noEnvironment}}}})
	return append(append(objects, sampleEnvironments()...), sampleCommit()...)
}

const noEnvironment = `There is no Environment "perf" in this namespace; notifications that match get a failure_reason. Create it.`

// emptyTeams are two teams that have nothing yet.
func emptyTeams() []client.Object {
	return []client.Object{
		&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: team}},
		&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "rival"}},
	}
}

// sampleShared is a leader and a store.
func sampleShared(c *pages.Config) {
	c.StoreProblem = func() string { return "" }
	c.Lease = func(context.Context) (*coordinationv1.Lease, error) {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("postflight-7j4w8"), LeaseDurationSeconds: new(int32(14)), RenewTime: new(metav1.NowMicro()),
			AcquireTime: new(metav1.NewMicroTime(time.Now().Add(-150 * time.Hour))),
		}}, nil
	}
}

// sampleLog has colours, groups and a failure.
func sampleLog() string {
	log := "$ npx playwright test --grep @smoke\n::group::Install browsers\nchromium 141 is installed\nfirefox 144 is installed\n::endgroup::\nRunning 120 tests using 4 workers\n"
	for i := range 83 {
		log += fmt.Sprintf("  \x1b[32m✓\x1b[0m  %d \x1b[2mcatalog.spec.ts:%d › catalog › shows product %d\x1b[0m (0.%ds)\n", i+1, i+3, i, i%9+1)
	}
	return log + "  \x1b[31m✘\x1b[0m  84 checkout.spec.ts:31 › checkout › pays with a saved card \x1b[2m(12.4s)\x1b[0m\n" +
		"    \x1b[31mError: expect(locator).toBeVisible() failed\x1b[39m\n      \x1b[90mat checkout.spec.ts:44:33\x1b[0m\n" +
		"  \x1b[33m⚠\x1b[0m  85 cart.spec.ts:12 › cart › keeps items \x1b[2mpassed on retry\x1b[0m\n\x1b[1m2 failed\x1b[22m, 117 passed, 1 skipped\n"
}

// sampleExplanation is what the reports of the failed run say.
func sampleExplanation(*runs.Run) (results.Explanation, error) {
	of := failures().Failures
	text := "Error: expect(locator).toBeVisible() failed\n\nLocator:  getByText('Paid')\nExpected: visible\nReceived: <element(s) not found>\nTimeout:  5000ms\n\n" +
		"  42 |   await page.getByRole('button', { name: 'Pay' }).click();\n  43 |\n> 44 |   await expect(page.getByText('Paid')).toBeVisible();\n     |                                        ^\n" +
		"    at checkout.spec.ts:44:40\n"
	return results.Explanation{
		Failures: []results.Explained{
			{Failure: results.Failure{TestFailure: of[0]}},
			{Failure: results.Failure{TestFailure: of[1], Text: text},
				Files: []results.File{{Path: "screenshots/pays-with-a-saved-card.png", Bytes: 7 << 10}, {Path: "trace.zip", Bytes: 2 << 20}}},
		},
		Flaky: []string{"cart › keeps items"},
	}, nil
}

// sampleFiles are what tests write.
func sampleFiles() map[string][]byte {
	return map[string][]byte{
		"report/index.html":                      []byte("<!doctype html><title>Report</title><style>body{font:15px sans-serif;margin:32px}</style><h1>2 of 120 failed</h1><p>checkout › pays with a saved card<p>account › deletes an address"),
		"screenshots/pays-with-a-saved-card.png": drawing(640, 360),
		"screenshots/deletes-an-address.png":     drawing(640, 360),
		"trace.zip":                              []byte("PK\x05\x06" + string(make([]byte, 18))),
		"results.xml":                            []byte("<testsuites/>"),
	}
}

// drawing is a picture that looks a bit like a shop.
func drawing(width, height int) []byte {
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	fill := func(x0, y0, x1, y1 int, c color.RGBA) { // in percent
		area := image.Rect(x0*width/100, y0*height/100, x1*width/100, y1*height/100)
		draw.Draw(picture, area, image.NewUniform(c), image.Point{}, draw.Src)
	}
	grey := func(n uint8) color.RGBA { return color.RGBA{n, n, n + 3, 255} }
	fill(0, 0, 100, 100, grey(248))
	fill(0, 0, 100, 12, color.RGBA{38, 50, 84, 255})
	fill(4, 4, 16, 8, grey(250))
	for i := range 3 {
		fill(4+i*20, 20, 21+i*20, 62, grey(226))
		fill(4+i*20, 66, 17+i*20, 70, grey(200))
		fill(4+i*20, 73, 11+i*20, 76, grey(216))
	}
	fill(68, 20, 96, 76, grey(252))
	fill(71, 25, 90, 29, grey(190))
	fill(71, 34, 93, 38, grey(224))
	fill(71, 50, 93, 60, color.RGBA{253, 226, 224, 255})
	fill(71, 65, 93, 73, color.RGBA{196, 52, 45, 255})
	var out bytes.Buffer
	_ = png.Encode(&out, picture) // into memory
	return out.Bytes()
}
