package rerun_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// answeredAgain is a run with whose result a notification was answered so many seconds after the beginning.
func answeredAgain(s *v1alpha1.Suite, seconds int) *v1alpha1.Suite {
	s.Status.AnsweredAgainAt = new(metav1.NewMicroTime(t0.Add(time.Duration(seconds) * time.Second)))
	return s
}

func TestFailedProblem(t *testing.T) {
	for name, tc := range map[string]struct {
		s    *v1alpha1.Suite
		says string
	}{
		"failed":              {failedRun("r1", 0, "ppff"), ""},
		"unfinished":          {aSuite("r1", 0, inState(v1alpha1.Running(""))), "has not ended"},
		"passed":              {failedRun("r1", 0, "pppp", inState(v1alpha1.Passed(""))), "it passed"},
		"timed out":           {failedRun("r1", 0, "pppf", inState(v1alpha1.TimedOut(""))), "ended as TimedOut"},
		"error":               {failedRun("r1", 0, "pppf", inState(v1alpha1.Error(""))), "ended as Error"},
		"inconclusive":        {failedRun("r1", 0, "pppf", inState(v1alpha1.Inconclusive(""))), "ended as Inconclusive"},
		"no commit":           {failedRun("r1", 0, "pppf", commit("")), "has no commit"},
		"no results":          {failedRun("r1", 0, "pppf", func(s *v1alpha1.Suite) { s.Status.Results = nil }), "has no report"},
		"none failed":         {failedRun("r1", 0, "pppp"), "has no report that names failed tests"},
		"too many":            {failedRun("r1", 0, "pppf", func(s *v1alpha1.Suite) { s.Status.Results.Failed = 401 }), "at most 400"},
		"a crash, too":        {failedRun("r1", 0, "pppf", func(s *v1alpha1.Suite) { s.Status.Results.OnlyTestsFailed = false }), "More than tests failed"},
		"a failed repetition": {failedRun("r2", 0, "f", onlyFailedOf(failedRun("r1", 0, "ppff"))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := rerun.FailedProblem(tc.s)
			if got != "" != (tc.says != "") || !strings.Contains(got, tc.says) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestNextFailed(t *testing.T) {
	s := failedRun("r1", 0, "ppff")
	s.Annotations = map[string]string{}
	next, problem := rerun.NextFailed(s, aTrigger(), "ada")
	whole, _ := rerun.NextAttempt(s, aTrigger(), "ada")
	if problem != "" || next.Spec.OnlyFailedOf.Name != "r1" || next.Spec.OnlyFailedOf.UID != "uid-r1" || next.Name != whole.Name || next.Origin() != v1alpha1.OriginRerun {
		t.Fatalf("%q: %+v", problem, next)
	}
	recreated := aTrigger()
	recreated.UID = "other"
	if _, problem := rerun.NextFailed(s, recreated, "ada"); !strings.Contains(problem, "created again") {
		t.Errorf("a Trigger of the same name: %q", problem)
	}
	if _, problem := rerun.NextFailed(s, nil, "ada"); !strings.Contains(problem, "does not exist any more") {
		t.Errorf("no Trigger: %q", problem)
	}
	// The name of the attempt is the same, whatever it runs.
	if problem := rerun.NextProblem(next, whole, nil); !strings.Contains(problem, "only the failed tests of r1") {
		t.Errorf("all tests while only the failed ones run: %q", problem)
	}
	if problem := rerun.NextProblem(whole, next, nil); !strings.Contains(problem, "repeats all tests") {
		t.Errorf("the failed tests while all run: %q", problem)
	}
	if again := suite.Rerun(next, "uid-smoke", 3, "request"); again.Spec.OnlyFailedOf != nil {
		t.Error("another attempt of a partial run does not run all tests")
	}
}

// TestNextProblemNamesTheNewest: who asks for another attempt of an old run is led to the newest one at once, with the same question.
func TestNextProblemNamesTheNewest(t *testing.T) {
	attempt := func(n int32) func(*v1alpha1.Suite) { return func(s *v1alpha1.Suite) { s.Spec.Attempt = n } }
	ended := inState(v1alpha1.Failed(""))
	first := failedRun("r1", 0, "ppff", commit("a"), attempt(1))
	second := failedRun("r2", 60, "ppff", commit("a"), attempt(2))
	partial := failedRun("r2", 60, "pf", commit("a"), attempt(2), onlyFailedOf(first))
	all, failed := aSuite("r2", 60, commit("a"), attempt(2)), aSuite("r2", 60, commit("a"), attempt(2), onlyFailedOf(first))
	third := failedRun("r3", 120, "ppff", commit("a"), attempt(3))
	for name, tc := range map[string]struct {
		existing, desired *v1alpha1.Suite
		known             []*v1alpha1.Suite
		want              string
	}{
		"the next is the newest": {second, failed, []*v1alpha1.Suite{first, second},
			"The next attempt, r2, repeated all tests, and ended as Failed. Rerun that one: postflight runs rerun --failed r2 -n demo"},
		"none else is known": {second, failed, nil,
			"The next attempt, r2, repeated all tests, and ended as Failed. Rerun that one: postflight runs rerun --failed r2 -n demo"},
		"a third failed": {second, failed, []*v1alpha1.Suite{third, first, second},
			"The next attempt, r2, repeated all tests, and ended as Failed. Rerun the newest one: postflight runs rerun --failed r3 -n demo"},
		"all tests are wanted": {partial, all, []*v1alpha1.Suite{first, partial, third},
			"The next attempt, r2, repeated only the failed tests of r1, and ended as Failed. Rerun the newest one: postflight runs rerun r3 -n demo"},
		"the newest continues": {second, failed, []*v1alpha1.Suite{second, aSuite("r3", 120, commit("a"), attempt(3), inState(v1alpha1.Running("")))},
			"The newest attempt is r3. The run r3 has not ended. Wait for its end, or cancel it."},
		"the newest passed": {second, failed, []*v1alpha1.Suite{second, aSuite("r3", 120, commit("a"), attempt(3), inState(v1alpha1.Passed("")))},
			"The newest attempt is r3. No test of the run r3 is to be repeated: it passed."},
		"attempts of others": {second, failed, []*v1alpha1.Suite{aSuite("b", 120, commit("b"), attempt(3), ended),
			aSuite("c", 120, commit("a"), attempt(3), ended, inEnvironment("production")),
			aSuite("d", 120, commit("a"), attempt(3), ended, func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = "other" })},
			"The next attempt, r2, repeated all tests, and ended as Failed. Rerun that one: postflight runs rerun --failed r2 -n demo"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rerun.NextProblem(tc.existing, tc.desired, tc.known); got != tc.want {
				t.Errorf("%q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestClaimProblem: anyone who creates Suites may claim that one completes another.
func TestClaimProblem(t *testing.T) {
	root := failedRun("r1", 0, "ppff")
	second := failedRun("r2", 60, "pf", onlyFailedOf(root))
	claim := func(of *v1alpha1.Suite, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		return aSuite("r9", 120, append([]func(*v1alpha1.Suite){commit("a"), onlyFailedOf(of)}, change...)...)
	}
	change := func(f func(s *v1alpha1.Suite)) *v1alpha1.Suite { return claim(root, f) }
	long := []*v1alpha1.Suite{root}
	for i := range rerun.MaxFailedChain {
		long = append([]*v1alpha1.Suite{failedRun(fmt.Sprint("n", i), i, "f", onlyFailedOf(long[0]))}, long...)
	}
	for name, tc := range map[string]struct {
		s     *v1alpha1.Suite
		chain []*v1alpha1.Suite
		says  string
	}{
		"true":                  {claim(root), []*v1alpha1.Suite{root}, ""},
		"of a repetition":       {claim(second), []*v1alpha1.Suite{second, root}, ""},
		"all tests":             {aSuite("r9", 0), nil, ""},
		"nothing there":         {claim(root), nil, "does not exist any more"},
		"the first is gone":     {claim(second), []*v1alpha1.Suite{second}, "does not exist any more"},
		"a later Suite":         {claim(root), []*v1alpha1.Suite{failedRun("r1", 0, "ppff", func(s *v1alpha1.Suite) { s.UID = "other" })}, "does not exist any more"},
		"another commit":        {change(commit("b")), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"another Trigger":       {change(ofTrigger("visual")), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"a later Trigger":       {change(func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = "other" }), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"another Environment":   {change(inEnvironment("production")), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"another branch":        {change(branch("other")), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"other variables":       {change(func(s *v1alpha1.Suite) { s.Spec.Variables = v1alpha1.Variables{"GREP": "nothing"} }), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"another URL":           {change(func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = "https://x" }), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"not the next attempt":  {change(func(s *v1alpha1.Suite) { s.Spec.Attempt = 3 }), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"itself":                {change(func(s *v1alpha1.Suite) { s.Spec.Attempt = 1 }), []*v1alpha1.Suite{root}, "is not the attempt before"},
		"a restored one":        {claim(root), []*v1alpha1.Suite{failedRun("r1", 0, "ppff", restored)}, "is not the attempt before"},
		"one that goes":         {claim(root), []*v1alpha1.Suite{failedRun("r1", 0, "ppff", deleted)}, "does not exist any more"},
		"one that passed":       {claim(root), []*v1alpha1.Suite{failedRun("r1", 0, "pppp", inState(v1alpha1.Passed("")))}, "it passed"},
		"too many in a row":     {claim(long[0], func(s *v1alpha1.Suite) { s.Spec.Attempt = 12 }), long, "10 runs in a row"},
		"a claim within":        {claim(second), []*v1alpha1.Suite{second, failedRun("r1", 0, "ppff", commit("b"))}, "is not the attempt before"},
		"a broken run in a row": {claim(second), []*v1alpha1.Suite{second, failedRun("r1", 0, "ppff", inState(v1alpha1.TimedOut("")))}, "ended as TimedOut"},
	} {
		t.Run(name, func(t *testing.T) {
			got := rerun.ClaimProblem(tc.s, tc.chain)
			if got != "" != (tc.says != "") || !strings.Contains(got, tc.says) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestPlanFailed(t *testing.T) {
	type request = rerun.FailedRequest
	deploys := func(s ...*v1alpha1.Suite) func(*request) {
		return func(r *request) { r.Ledger = aLedger(append([]*v1alpha1.Suite{r.Suite, r.Chain[0].Suite}, s...)...) }
	}
	trigger := func(t *v1alpha1.Trigger) func(*request) { return func(r *request) { r.Trigger = t } }
	passedBefore := func(tests int32) func(*request) {
		return func(r *request) { r.Runs = []*v1alpha1.Suite{passedRun("r0", tests)} }
	}
	skipped := func(tests int32) func(*request) {
		return func(r *request) { r.Runs = []*v1alpha1.Suite{skips(passedRun("r0", 4), tests)} }
	}
	partly := func(r *request) {
		before := passedRun("r0", 1)
		before.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: "x", UID: "x"}
		r.Runs = []*v1alpha1.Suite{before}
	}
	nothing := withMinTests(0)
	nothing.Spec.Results.Require = v1alpha1.RequireNothing
	for name, tc := range map[string]struct {
		r          request
		names      string
		impossible string
		notWhole   string
	}{
		"two tests":                    {aFailedRequest("ppff"), "cd", "", ""},
		"skipped ones, as before":      {aFailedRequest("psff", trigger(withMinTests(3)), skipped(1)), "cd", "", ""},
		"more skipped than before":     {aFailedRequest("ssff", trigger(withMinTests(2)), skipped(1)), "", "", "some may have been skipped because another one failed"},
		"skipped, and none passed":     {aFailedRequest("psff", trigger(withMinTests(3))), "", "", "no run of the Trigger has passed that shows whether these are always skipped"},
		"all":                          {aFailedRequest("ffff"), "abcd", "", ""},
		"no documents":                 {aFailedRequest("ppff", func(r *request) { r.Chain[0].Documents = nil }), "", "are not known: the store has the reports of 0 tests", ""},
		"documents of half":            {aFailedRequest("ppff", func(r *request) { r.Chain[0].Documents = []results.Document{outcomes("-pff").Document("")} }), "", "are not known", ""},
		"one name for several":         {aFailedRequest("ppff", func(r *request) { r.Chain[0].Ambiguous = "c > same" }), "", `several of its tests have the name "c > same"`, ""},
		"a rollback":                   {aFailedRequest("ppff", deploys(answeredAgain(aSuite("b1", -30, commit("b")), 30))), "", "", "b was deployed to the Environment"},
		"a rollback before":            {aFailedRequest("ppff", deploys(answeredAgain(aSuite("b1", -30, commit("b")), -10))), "cd", "", ""},
		"no names":                     {aFailedRequest("ppff", func(r *request) { r.Chain[0].Documents[0].Failures = nil }), "", "name 0 of its 2", ""},
		"exit codes decide":            {aFailedRequest("ppff", trigger(nothing)), "", "reports of its tests decide", ""},
		"no results":                   {aFailedRequest("ppff", trigger(aTrigger())), "", "reports of its tests decide", ""},
		"other tests":                  {aFailedRequest("ppff", func(r *request) { r.Digest = "other" }), "", "", "was changed after"},
		"tests that nobody knows":      {aFailedRequest("ppff", func(r *request) { r.Chain[0].Digest = "" }), "", "", "is gone, so it is unknown"},
		"another input":                {aFailedRequest("ppff", func(r *request) { r.Inputs = []v1alpha1.SuiteInput{{Path: "app.apk"}} }), "", "", "input file was uploaded again"},
		"another commit":               {aFailedRequest("ppff", deploys(aSuite("b1", 30, commit("b")))), "", "", "b was deployed to the Environment"},
		"another commit after it":      {aFailedRequest("ppff", deploys(aSuite("b1", 90, commit("b")))), "", "", "b was deployed to the Environment"},
		"another branch there":         {aFailedRequest("ppff", deploys(aSuite("b1", 30, commit("b"), keyed("feature/staging")))), "", "", "b was deployed to the Environment"},
		"an older commit":              {aFailedRequest("ppff", deploys(aSuite("b1", -30, commit("b")))), "cd", "", ""},
		"another Trigger, same commit": {aFailedRequest("ppff", deploys(aSuite("b1", 30, commit("a"), ofTrigger("visual")))), "cd", "", ""},
		"an old commit, by schedule":   {aFailedRequest("ppff", deploys(aSuite("b1", 30, commit("b"), scheduled))), "cd", "", ""},
		"fewer than minTests":          {aFailedRequest("ppff", trigger(withMinTests(5))), "", "", "minTests of the Trigger is 5"},
		"nobody knows how many":        {aFailedRequest("ppff", trigger(withMinTests(0))), "", "", "Set results.minTests"},
		"only a partial run before":    {aFailedRequest("ppff", trigger(withMinTests(0)), partly), "", "", "Set results.minTests"},
		"as many as before":            {aFailedRequest("ppff", trigger(withMinTests(0)), passedBefore(4)), "cd", "", ""},
		"one less than before":         {aFailedRequest("ppff", trigger(withMinTests(0)), passedBefore(5)), "", "", "it may have stopped early"},
		"far less than before":         {aFailedRequest("ppff", passedBefore(10)), "", "", "it may have stopped early"},
	} {
		t.Run(name, func(t *testing.T) {
			got := rerun.PlanFailed(tc.r)
			if !strings.Contains(got.Impossible, tc.impossible) || !strings.Contains(got.NotWhole, tc.notWhole) ||
				(got.Impossible != "") != (tc.impossible != "") || (got.NotWhole != "") != (tc.notWhole != "") {
				t.Fatalf("%+v", got)
			}
			if got.Plan != nil != (tc.names != "") {
				t.Fatalf("%+v", got.Plan)
			}
			for _, name := range strings.Split(tc.names, "") {
				if !got.Plan.Names.Has("cart.spec.ts > " + name) {
					t.Errorf("%s is missing", name)
				}
			}
			if got.Plan != nil && got.Plan.Names.Len() != len(tc.names) {
				t.Errorf("%d names", got.Plan.Names.Len())
			}
		})
	}
}

// TestFailedObstacle: what could not be green is refused when it is requested, and with the sentence that the run would end with. What may
// be known later is not refused.
func TestFailedObstacle(t *testing.T) {
	type request = rerun.FailedRequest
	minTests := func(n int32) func(*request) { return func(r *request) { r.Trigger = withMinTests(n) } }
	runs := func(runs ...*v1alpha1.Suite) func(*request) { return func(r *request) { r.Runs = runs } }
	going := aSuite("r0", -100, commit("before"), inState(v1alpha1.Running("")))
	partial := aSuite("r0", -100, commit("before"), inState(v1alpha1.Running("")), func(s *v1alpha1.Suite) {
		s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: "x", UID: "x"}
	})
	paused, someBranches, undecided := withMinTests(4), withMinTests(4), withMinTests(0)
	paused.Spec.Paused, someBranches.Spec.Match.Branches = true, []string{"main"}
	undecided.Spec.Results.Require = v1alpha1.RequireNothing
	trigger := func(t *v1alpha1.Trigger) func(*request) { return func(r *request) { r.Trigger = t } }
	workloadsOf := func(service string) func(*request) {
		return func(r *request) {
			r.Environment = &v1alpha1.Environment{Spec: v1alpha1.EnvironmentSpec{Workloads: []v1alpha1.Workload{
				{Name: "web", Repository: r.Suite.Spec.Deployment.Repository, Service: service}}}}
		}
	}
	digest := func(then, now string) func(*request) {
		return func(r *request) { r.Chain[0].Digest, r.Digest = then, now }
	}
	workloads := func(r *request) {
		r.Environment = anEnvironment()
		r.Environment.Spec.Workloads = []v1alpha1.Workload{{Kind: "Deployment", Name: "shop"}}
	}
	tested := func(r *request) { r.Chain[0].Suite.Status.UnderTest = &v1alpha1.UnderTest{Workloads: shop} }
	unread := func(r *request) { r.Chain[0].Suite.Status.UnderTest = &v1alpha1.UnderTest{} }
	for name, tc := range map[string]struct {
		reason string
		change []func(*request)
		says   string
	}{
		"all is known":             {"it may be green", nil, ""},
		"no run passed":            {"nothing shows that the tests are all", []func(*request){minTests(0)}, "Set results.minTests"},
		"a run may pass":           {"it shows how many tests there are", []func(*request){minTests(0), runs(going)}, ""},
		"a partial run may pass":   {"it does not show how many", []func(*request){minTests(0), runs(partial)}, "Set results.minTests"},
		"a run elsewhere may pass": {"it has other tests", []func(*request){minTests(0), runs(aSuite("r0", -9, inEnvironment("production")))}, "Set results.minTests"},
		"fewer than before":        {"it stopped early", []func(*request){minTests(0), runs(passedRun("r0", 9))}, "it may have stopped early"},
		"fewer, and one may pass":  {"that may have as few", []func(*request){minTests(0), runs(passedRun("r0", 9), aSuite("r3", -9))}, ""},
		"fewer than minTests":      {"no other run changes that", []func(*request){minTests(5), runs(going)}, "minTests of the Trigger is 5"},
		"exit codes decide":        {"no report does", []func(*request){trigger(undecided)}, "reports of its tests decide"},
		"no results":               {"no report does", []func(*request){trigger(aTrigger())}, "reports of its tests decide"},
		"a paused Trigger":         {"deployments may be missing", []func(*request){trigger(paused)}, "is paused"},
		"paused, with workloads":   {"they say what is deployed", []func(*request){trigger(paused), workloadsOf(""), tested}, ""},
		"paused, and services":     {"those of a service do not say it of others", []func(*request){trigger(paused), workloadsOf("cart")}, "is paused"},
		"branches, and services":   {"nor then", []func(*request){trigger(someBranches), workloadsOf("cart")}, "name the service in notifications"},
		"a Trigger of branches":    {"deployments may be missing", []func(*request){trigger(someBranches)}, "does not match all deployments"},
		"other tests":              {"the Trigger was changed", []func(*request){digest("d", "other")}, "was changed after"},
		"the Job is gone":          {"it does not come back", []func(*request){digest("", "d")}, "is gone, so it is unknown"},
		"unknown tests":            {"who asks cannot read them", []func(*request){digest("", "")}, ""},
		"another input":            {"the store is not asked", []func(*request){func(r *request) { r.Inputs = []v1alpha1.SuiteInput{{Path: "app.apk"}} }}, ""},
		"no documents":             {"the store is not asked", []func(*request){func(r *request) { r.Chain[0].Documents = nil }}, ""},
		"workloads since":          {"the run tested unknown versions", []func(*request){workloads}, "unknown which version the run r1 tested"},
		"workloads, for a branch":  {"they came after the run", []func(*request){trigger(someBranches), workloads}, "unknown which version the run r1 tested"},
		"workloads, not read then": {"the run tested unknown versions", []func(*request){workloads, unread}, "unknown which version the run r1 tested"},
		"workloads then and now":   {"they can be compared", []func(*request){workloads, tested}, ""},
		"workloads no more":        {"nothing says what is there", []func(*request){tested}, "unknown whether the Environment has the version"},
		"a rollback": {"another commit was there", []func(*request){func(r *request) {
			r.Ledger = aLedger(r.Chain[0].Suite, answeredAgain(aSuite("b1", -30, commit("b")), 30))
		}}, "b was deployed to the Environment"},
		"a chain that broke off": {"it cannot be followed", []func(*request){func(r *request) { r.Chain[0].Suite.UID = "other" }}, "does not exist any more"},
	} {
		t.Run(name, func(t *testing.T) {
			r := aFailedRequest("ppff", tc.change...)
			got := rerun.FailedObstacle(r)
			if got != "" != (tc.says != "") || !strings.Contains(got, tc.says) {
				t.Fatalf("%s: %q", tc.reason, got)
			}
			if got == "" || strings.Contains(got, "does not exist any more") { // ClaimProblem, which PlanFailed takes for granted
				return
			}
			why, advice, _ := strings.Cut(got, " Repeat all tests: ")
			if end := ending(r); !strings.HasPrefix(end, why) {
				t.Errorf("%s: at the request %q, and at the end %q", tc.reason, got, end)
			}
			if strings.Contains(got, "Name the workloads") && !strings.Contains(got, "; later runs can then repeat their failed tests.") {
				t.Errorf("%s: the advice helps later runs only: %q", tc.reason, got)
			}
			if advice != "postflight runs rerun r1 -n demo" {
				t.Errorf("%s: the advice is %q", tc.reason, advice)
			}
		})
	}
}

// ending is the sentence with which a requested run ends that could not be green.
func ending(r rerun.FailedRequest) string {
	plan := rerun.PlanFailed(r)
	var now []v1alpha1.TestedWorkload
	if r.Environment != nil && len(r.Environment.Spec.Workloads) > 0 {
		now = shop
	}
	same := func(_, _ []v1alpha1.TestedWorkload) string { return "" }
	return cmp.Or(plan.NotWhole+plan.Impossible, rerun.NoVersion(r.Suite, []*v1alpha1.Suite{r.Chain[0].Suite}, now, same))
}

// TestNoteRedeployed: a notification that a result answers counts as a deployment, whether or not another commit is known to have come
// before.
func TestNoteRedeployed(t *testing.T) {
	ended := func(seconds int) *v1alpha1.Suite {
		return aSuite("b1", seconds, commit("b"), inState(v1alpha1.Passed("")))
	}
	other := aSuite("a1", 30, commit("a"))
	for name, tc := range map[string]struct {
		existing, desired *v1alpha1.Suite
		runs              []*v1alpha1.Suite
		want              bool
	}{
		"a rollback":             {ended(0), aSuite("b1", 60, commit("b")), []*v1alpha1.Suite{other}, true},
		"nothing between":        {ended(0), aSuite("b1", 60, commit("b")), nil, true},
		"another one before":     {ended(40), aSuite("b1", 60, commit("b")), []*v1alpha1.Suite{other}, true},
		"again after a rollback": {answeredAgain(ended(0), 50), aSuite("b1", 60, commit("b")), []*v1alpha1.Suite{other}, true},
		"known already":          {answeredAgain(ended(0), 60), aSuite("b1", 60, commit("b")), []*v1alpha1.Suite{other}, false},
		"an older notification":  {ended(0), aSuite("b1", -60, commit("b")), []*v1alpha1.Suite{other}, false},
		"it continues":           {aSuite("b1", 0, commit("b")), aSuite("b1", 60, commit("b")), []*v1alpha1.Suite{other}, false},
	} {
		r := rerun.Duplicate{Origin: v1alpha1.OriginNotification, Ledger: aLedger(append(tc.runs, tc.existing)...)}
		if got := rerun.NoteRedeployed(tc.existing, tc.desired, r); got != tc.want || got && !tc.existing.Status.AnsweredAgainAt.Time.Equal(t0.Add(time.Minute)) {
			t.Errorf("%s: %t, %v", name, got, tc.existing.Status.AnsweredAgainAt)
		}
	}
}

func TestNoVersion(t *testing.T) {
	known := func(s *v1alpha1.Suite) { s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: shop} }
	changed := func(was, is []v1alpha1.TestedWorkload) string {
		if was[0].Start.SHA != is[0].Start.SHA {
			return "It has b."
		}
		return ""
	}
	moved := []v1alpha1.TestedWorkload{{Kind: "Deployment", Name: "shop", Start: &v1alpha1.WorkloadVersion{UID: "1", SHA: "b"}}}
	for name, tc := range map[string]struct {
		chain []*v1alpha1.Suite
		now   []v1alpha1.TestedWorkload
		says  string
	}{
		"no workloads":      {[]*v1alpha1.Suite{failedRun("r1", 0, "pf")}, nil, ""},
		"the same":          {[]*v1alpha1.Suite{failedRun("r1", 0, "pf", known)}, shop, ""},
		"another":           {[]*v1alpha1.Suite{failedRun("r1", 0, "pf", known)}, moved, "changed after the run r1: It has b."},
		"not known then":    {[]*v1alpha1.Suite{failedRun("r1", 0, "pf")}, shop, "It is unknown which version the run r1 tested"},
		"not known now":     {[]*v1alpha1.Suite{failedRun("r1", 0, "pf", known)}, nil, "It is unknown whether"},
		"one in the middle": {[]*v1alpha1.Suite{failedRun("r2", 0, "pf", known), failedRun("r1", 0, "pf")}, shop, "It is unknown which version the run r1 tested"},
	} {
		t.Run(name, func(t *testing.T) {
			got := rerun.NoVersion(aSuite("r9", 0), tc.chain, tc.now, changed)
			if got != "" != (tc.says != "") || !strings.Contains(got, tc.says) {
				t.Errorf("%q", got)
			}
		})
	}
}
