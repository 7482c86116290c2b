package hub

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestHandOn: what is asked of the hub is done once, in the cluster, and the answers are those of the cluster.
func TestHandOn(t *testing.T) {
	w := newWorld(t, withStore(t))
	for name, tm := range map[string]*team{"with a token": w.newTeam(t, "smoke"), "with a key": w.newKeyedTeam(t, "smoke")} {
		t.Run(name, func(t *testing.T) { tm.in(t).handsOn() })
	}
	w.awaitReady(t, east, "True", "Answering")
	w.awaitReady(t, keyed, "True", "Answering")
	tm := w.newTeam(t, "smoke")
	for name, test := range map[string]func(*team){
		"notifications":              (*team).answersNotifications,
		"runs":                       (*team).answersRuns,
		"waits":                      (*team).answersWaits,
		"reruns and cancels":         (*team).answersCommands,
		"verdicts":                   (*team).answersVerdicts,
		"another attempt":            (*team).startsAnother,
		"ephemeral Environments":     (*team).endsEphemeral,
		"wait tokens":                (*team).givesWaitTokens,
		"audit lines":                (*team).namesSenders,
		"no commit":                  (*team).namesNoCommit,
		"other Environments":         (*team).reachesNoOthers,
		"another team's runs":        (*team).hidesOthers,
		"hubs that name one another": (*team).refusesLoops,
	} {
		t.Run(name, func(t *testing.T) { test(tm.in(t)) })
	}
}

// withStore gives the cluster a store for files, and the hub none.
func withStore(t testing.TB) options {
	t.Helper()
	stores.Credentials(t)
	store := stores.Rclone(t)
	store.Bucket(t)
	return options{env: []string{
		"POSTFLIGHT_STORE_ENDPOINT=" + store.Address, "POSTFLIGHT_STORE_BUCKET=" + store.Options().Bucket, "POSTFLIGHT_IMAGE=none",
	}}
}

// in is the team for a part of the test.
func (tm *team) in(t testing.TB) *team {
	here := *tm
	here.t, here.toHub.t, here.direct.t = t, t, t
	return &here
}

// handsOn: a notification becomes one run, whichever side gets it first, and however often.
func (tm *team) handsOn() {
	for name, first := range map[string][2]sender{"hub-first": {tm.toHub, tm.direct}, "cluster-first": {tm.direct, tm.toHub}} {
		run := first[0].run(name)
		for _, s := range []sender{first[1], first[0], first[1]} {
			if again := s.notify(fmt.Sprintf(`{"branch":"main","sha":%q}`, name)); len(again.Results) != 1 || again.Results[0].DuplicateSuiteID != run {
				tm.t.Errorf("%s: the run is %s, and %s answers %+v", name, run, s.url, again)
			}
		}
	}
	if inCluster, atHub := len(tm.suites(tm.cluster)), len(tm.suites(tm.hub)); inCluster != 2 || atHub != 0 {
		tm.t.Errorf("%d runs in the cluster and %d at the hub, want 2 and 0", inCluster, atHub)
	}
}

// namesNoCommit: what names no commit is known again by its key, and the hub gives it one.
func (tm *team) namesNoCommit() {
	const body = `{"branch":"main","deployment_url":"https://no-commit.example.com"}`
	first := tm.toHub.notify(body, "Idempotency-Key", "the-same")
	if len(first.Results) != 1 || first.Results[0].CreatedSuiteID == "" {
		tm.t.Fatalf("%+v", first)
	}
	for _, s := range []sender{tm.direct, tm.toHub} {
		if again := s.notify(body, "Idempotency-Key", "the-same"); again.Results[0].DuplicateSuiteID != first.Results[0].CreatedSuiteID {
			tm.t.Errorf("%s: %+v", s.url, again)
		}
	}
	before := len(tm.suites(tm.cluster))
	repeated := tm.between.repeated.Load()
	tm.between.repeats.Store(1)
	tm.toHub.notify(body)
	tm.between.repeats.Store(0)
	if n := len(tm.suites(tm.cluster)) - before; n != 1 || tm.between.repeated.Load() == repeated {
		tm.t.Errorf("a request that arrived twice started %d runs, want 1", n)
	}
	tm.toHub.notify(body) // another deployment, as far as the hub knows
	if n := len(tm.suites(tm.cluster)) - before; n != 2 {
		tm.t.Errorf("two notifications without a commit and a key started %d runs, want 2", n)
	}
}

// reachesNoOthers: the cluster shows the hub no Environment that the hub does not name, and none of its runs.
func (tm *team) reachesNoOthers() {
	const body = `{"branch":"main","sha":"hidden"}`
	hidden := tm.trigger("hidden", "hidden")
	tm.cluster.create(tm.t, tm.environment("hidden", v1alpha1.EnvironmentSpec{URL: "https://hidden.example.com"}))
	tm.cluster.create(tm.t, hidden)
	defer func() { _ = tm.cluster.Client.Delete(cleanup(), hidden) }()
	poll.Until(tm.t, "the cluster knows the Trigger", func() string {
		if a := tm.direct.try(http.MethodPost, notifyPath+"?dryRun=true", body); len(a.explanations()) != 2 {
			return a.String()
		}
		return ""
	})
	if a := tm.toHub.send(http.StatusOK, http.MethodPost, notifyPath+"?dryRun=true", body); len(a.explanations()) != 1 {
		tm.t.Errorf("a dry run by the hub: %v", a)
	}
	if byHub := tm.toHub.notify(body); len(byHub.Results) != 1 || byHub.Results[0].TriggerID != "smoke" {
		tm.t.Errorf("a notification to the hub: %+v", byHub)
	}
	direct := tm.direct.notify(body)
	if len(direct.Results) != 2 || direct.Results[0].TriggerID != "hidden" || direct.Results[0].CreatedSuiteID == "" {
		tm.t.Fatalf("a notification to the cluster: %+v", direct)
	}
	run := direct.Results[0].CreatedSuiteID
	for _, path := range []string{"/api/v0/runs/" + run, "/api/v0/ci-greenlight/" + run, "/api/v0/runs/" + run + "/logs", "/api/v0/environments/hidden"} {
		tm.toHub.send(http.StatusNotFound, http.MethodGet, path, "")
	}
	tm.toHub.send(http.StatusNotFound, http.MethodPost, "/api/v0/runs/"+run+"/cancel", "")
}

// answersNotifications compares answers for which nothing is created.
func (tm *team) answersNotifications() {
	picky := tm.trigger("picky", staging)
	picky.Spec.Match.Branches = []string{"release"}
	picky.Spec.Match.DeploymentTypes = []string{"eu"}
	tm.cluster.create(tm.t, picky)
	defer func() { _ = tm.cluster.Client.Delete(cleanup(), picky) }()
	tm.awaitKnown()
	const body = `{"branch":"main","sha":"answers","commit_message":"größe"}`
	run := tm.toHub.run("answers")
	for name, tc := range map[string]struct{ query, body, want string }{
		"a duplicate":           {"", body, `"duplicate_suite_id":"` + run + `"`},
		"another deployment":    {"", `{"branch":"main","sha":"answers","deployment_url":"https://x.example.com","variables":{"A":"b"}}`, `"duplicate_differs":["deployment_url","variables"]`},
		"a reserved variable":   {"", `{"branch":"main","sha":"reserved","variables":{"LD_PRELOAD":"/evil.so"}}`, `"failure_reason":"`},
		"a dry run":             {"?dryRun=true", body, `"explanations":[{"trigger_id":"picky","matched":false`},
		"a dry run of two":      {"?dryRun=true", `{"branch":"release","sha":"two","deployment_type":"eu"}`, `"trigger_id":"smoke","matched":true`},
		"a member with a typo":  {"?dryRun=true", `{"brunch":"main","sha":"typo"}`, `did you mean \"branch\"?`},
		"a body that is wrong":  {"", `{"branch":1}`, `"invalid_body"`},
		"a query that is wrong": {"?rerun=perhaps", body, `"invalid_request"`},
	} {
		const sameID = "compared"
		byHub := tm.toHub.try(http.MethodPost, notifyPath+tc.query, tc.body, "X-Request-Id", sameID)
		equal(tm.t, name, byHub, tm.direct.try(http.MethodPost, notifyPath+tc.query, tc.body, "X-Request-Id", sameID))
		if !strings.Contains(byHub.body, tc.want) {
			tm.t.Errorf("%s: want %s in %v", name, tc.want, byHub)
		}
	}
}

// answersRuns compares what both sides say about a run that is queued or starts, runs, and has ended.
func (tm *team) answersRuns() {
	tm.collects()
	node := tm.cluster.Node(tm.t, printsLine)
	run := tm.toHub.run("read")
	paths := []string{"/api/v0/ci-greenlight/" + run, "/api/v0/environments/staging", "/api/v0/environments/staging/deployments"}
	for _, part := range []string{"", "/logs", "/results", "/failure", "/attestation", "/artifacts"} {
		paths = append(paths, "/api/v0/runs/"+run+part)
	}
	for _, path := range paths {
		tm.comparesGET(path)
	}
	tm.begins(run, node)
	if log := tm.toHub.get("/api/v0/runs/" + run + "/logs"); log.body != "a line of a log\n" {
		tm.t.Errorf("the log by the hub: %v", log)
	}
	tm.ends(run, history.Reported)
	for _, path := range paths {
		tm.comparesGET(path)
	}
	if results := tm.toHub.get("/api/v0/runs/" + run + "/results"); !strings.Contains(results.body, `"failed":1`) {
		tm.t.Errorf("the results by the hub: %v", results)
	}
	if failure := tm.toHub.get("/api/v0/runs/" + run + "/failure"); !strings.Contains(failure.body, run) {
		tm.t.Errorf("the failure by the hub: %v", failure)
	}
	if shown := decode[httpapi.Run](tm.t, tm.toHub.get("/api/v0/runs/"+run)); !strings.HasPrefix(shown.URL, eastURL) {
		tm.t.Errorf("the page of the run is at %q, want the cluster's", shown.URL)
	}
}

// collects lets the runs of smoke have results.
func (tm *team) collects() {
	smoke := &v1alpha1.Trigger{ObjectMeta: tm.meta("smoke")}
	tm.update(tm.cluster, smoke, func() { smoke.Spec.Results = &v1alpha1.Results{} })
}

// checkedAt is when a verdict was asked for.
var checkedAt = regexp.MustCompile(`"checkedAt":"[^"]*"`)

func (tm *team) comparesGET(path string) {
	tm.t.Helper()
	poll.Until(tm.t, "both sides answer alike about "+path, func() string { // something may change between the two answers
		byHub := tm.toHub.try(http.MethodGet, path, "", "X-Request-Id", "compared")
		direct := tm.direct.try(http.MethodGet, path, "", "X-Request-Id", "compared")
		byHub.body, direct.body = checkedAt.ReplaceAllString(byHub.body, ""), checkedAt.ReplaceAllString(direct.body, "")
		if byHub != direct {
			return fmt.Sprintf("the hub answers %v, the cluster %v", byHub, direct)
		}
		return ""
	})
}

// answersWaits: a client that waits at the hub is answered when the run ends.
func (tm *team) answersWaits() {
	run := tm.toHub.run("waits")
	tm.begins(run, tm.cluster.Node(tm.t, printsLine))
	answers := make(chan answer, 1)
	go func() { answers <- tm.toHub.try(http.MethodGet, "/api/v0/ci-greenlight/"+run+"?wait=50", "") }()
	poll.True(tm.t, "the cluster lets the client wait", func() bool { return tm.cluster.metric(tm.t, "postflight_http_requests_waiting") == 1 })
	if n := tm.hub.metric(tm.t, "postflight_http_requests_waiting"); n != 1 {
		tm.t.Errorf("%d wait at the hub, want 1", n)
	}
	tm.ends(run, history.Passed)
	if a := <-answers; a.status != http.StatusOK || !decode[httpapi.Greenlight](tm.t, a).Greenlight {
		tm.t.Errorf("the client that waited got %v", a)
	}
	tm.comparesGET("/api/v0/ci-greenlight/" + run)
}

// answersCommands: they reach the run, and name the sender there.
func (tm *team) answersCommands() {
	run := tm.toHub.run("commands")
	a := tm.toHub.send(http.StatusConflict, http.MethodPost, "/api/v0/runs/"+run+"/rerun", "")
	if code := decode[httpapi.Problem](tm.t, a).FailureCode; code != "run_unfinished" {
		tm.t.Errorf("a rerun of a run that has not ended: %v", a)
	}
	tm.toHub.send(http.StatusOK, http.MethodPost, "/api/v0/runs/"+run+"/cancel", "")
	tm.awaitState(run, v1alpha1.ReasonCanceled)
	again := decode[httpapi.Run](tm.t, tm.toHub.send(http.StatusCreated, http.MethodPost, "/api/v0/runs/"+run+"/rerun", ""))
	if again.ID == run || again.ID == "" || !slices.ContainsFunc(tm.suites(tm.cluster), func(s v1alpha1.Suite) bool { return s.Name == again.ID }) {
		tm.t.Errorf("the rerun of %s is %+v", run, again)
	}
	tm.comparesGET("/api/v0/runs/" + again.ID)
	if shown := tm.toHub.get("/api/v0/runs/" + run); !strings.Contains(shown.body, "at the hub "+hubURL) {
		tm.t.Errorf("the run does not name who canceled it: %v", shown)
	}
}

// answersVerdicts reads them, and starts what is missing.
func (tm *team) answersVerdicts() {
	run := tm.toHub.run("verdict")
	path := "/api/v0/verdict?environment=staging&sha=verdict"
	tm.comparesGET(path)
	tm.toHub.send(http.StatusOK, http.MethodPost, "/api/v0/runs/"+run+"/cancel", "")
	tm.awaitState(run, v1alpha1.ReasonCanceled)
	tm.comparesGET(path)
	started := decode[httpapi.StartedVerdict](tm.t, tm.toHub.send(http.StatusOK, http.MethodPost, path, ""))
	if len(started.Started) != 1 {
		tm.t.Fatalf("the verdict started %+v", started)
	}
	tm.begins(started.Started[0].Run, tm.cluster.Node(tm.t, printsLine))
	tm.ends(started.Started[0].Run, history.Passed)
	poll.True(tm.t, "the verdict by the hub is green", func() bool {
		return decode[httpapi.Verdict](tm.t, tm.toHub.get(path)).Passed
	})
	tm.comparesGET(path)
}

// startsAnother: rerun=true starts one more run of a commit with a result, and none of one without.
func (tm *team) startsAnother() {
	const body = `{"branch":"main","sha":"another"}`
	run := tm.toHub.run("another")
	rerun := func() httpapi.Result {
		return decode[httpapi.NotificationResult](tm.t, tm.toHub.send(http.StatusOK, http.MethodPost, notifyPath+"?rerun=true", body)).Results[0]
	}
	if r := rerun(); r.DuplicateSuiteID != run {
		tm.t.Errorf("a rerun of a run that has not ended: %+v", r)
	}
	tm.begins(run, tm.cluster.Node(tm.t, printsLine))
	tm.ends(run, history.Passed)
	poll.True(tm.t, "the result is known", func() bool { return tm.toHub.notify(body).Results[0].DuplicateEndedAt != nil })
	next := rerun()
	if next.CreatedSuiteID == "" || next.CreatedSuiteID == run {
		tm.t.Errorf("a rerun of %s: %+v", run, next)
	}
	if again := tm.toHub.notify(body).Results[0]; again.DuplicateSuiteID != next.CreatedSuiteID {
		tm.t.Errorf("the run is %s, and sent again the answer is %+v", next.CreatedSuiteID, again)
	}
}

// endsEphemeral starts a run in an Environment of a pull request, and ends that.
func (tm *team) endsEphemeral() {
	const url = "https://pr-7.example.com"
	answer := tm.toHub.notify(`{"branch":"main","sha":"pr","ephemeral_environment":true,"deployment_url":"` + url + `"}`)
	if len(answer.Results) != 1 || answer.Environment == nil || answer.Environment.IsStatic || answer.Environment.ID == "" {
		tm.t.Fatalf("%+v", answer)
	}
	run, alias := answer.Results[0].CreatedSuiteID, answer.Environment.Alias
	tm.comparesGET("/api/v0/environments/" + alias)
	tm.comparesGET("/api/v0/runs/" + run)
	ended := decode[httpapi.TerminationResult](tm.t, tm.toHub.send(http.StatusOK, http.MethodPost, "/api/webhooks/environment_terminated",
		`{"deploymentUrl":"`+url+`"}`))
	if len(ended.Results) != 1 || ended.Results[0].EnvironmentAlias != alias || !slices.Equal(ended.Results[0].Runs, []string{run}) {
		tm.t.Errorf("the end of %s with %s: %+v", alias, run, ended)
	}
	poll.Until(tm.t, "the cluster has no such Environment", func() string {
		a := tm.toHub.try(http.MethodPost, "/api/webhooks/environment_terminated", `{"deploymentUrl":"`+url+`"}`)
		if a.status != http.StatusNotFound || decode[httpapi.Problem](tm.t, a).FailureCode != "environment_not_found" {
			return a.String()
		}
		return ""
	})
	tm.toHub.send(http.StatusConflict, http.MethodPost, "/api/webhooks/environment_terminated",
		`{"environmentAlias":"`+staging+`"}`)
}
