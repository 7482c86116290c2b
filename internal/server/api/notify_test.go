package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

const withSHA = `{"branch":"main","sha":"` + sha + `"}`

func TestCreatesOneSuitePerMatchedTrigger(t *testing.T) {
	h := start(t, setup{objects: acme(
		trigger("visual"),
		trigger("api", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/**"} }),
		trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"main"} }),
	)})
	got := h.notify(withSHA)
	names := map[string]string{}
	for _, s := range h.suites() {
		names[s.Spec.Trigger.Name] = s.Name
	}
	want := reply{
		Results: []result{
			{TriggerID: "smoke", CreatedSuiteID: names["smoke"]},
			{TriggerID: "visual", CreatedSuiteID: names["visual"]},
		},
		Environment: &environment{ID: "uid-staging", Alias: "staging", IsStatic: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldReachesTheSuite(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	h.notify(`{"branch":"refs/heads/main","sha":" ` + strings.ToUpper(sha) + ` ","deployment_type":"staging",
		"deployment_url":"https://pr-7.example.com","hosting_service":"gitlab","commit_url":"https://example.com/c",
		"variables":{"REGION":"us","EMPTY":"","NONE":null},"deduplication_key":"pr-7",
		"repository":{"namespace":"acme/web","name":"shop"},"merge_request_number":7,"unknown":{"x":[1]}}`)
	received := metav1.NewMicroTime(noon)
	want := []v1alpha1.SuiteSpec{{
		Trigger:        v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"},
		Environment:    "staging",
		EnvironmentUID: "uid-staging",
		Origin:         v1alpha1.OriginNotification,
		Deployment: v1alpha1.Deployment{
			Branch: "refs/heads/main", SHA: sha, Type: "staging", URL: "https://pr-7.example.com", HostingService: v1alpha1.GitLab,
			CommitURL: "https://example.com/c", Repository: "acme/web/shop", PullRequestNumber: 7,
		},
		Variables:    v1alpha1.Variables{"REGION": "us", "EMPTY": ""},
		SupersedeKey: "pr-7",
		Attempt:      1,
		ReceivedAt:   &received,

		TTLAfterFinished: &metav1.Duration{Duration: v1alpha1.DefaultTTL},
	}}
	var got []v1alpha1.SuiteSpec
	for _, s := range h.suites() {
		got = append(got, s.Spec)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
}

// TestAnswers tests the answer to one notification, depending on the objects in the cluster.
func TestAnswers(t *testing.T) {
	allow := func(names ...string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.AllowVariables = append([]string{}, names...) }
	}
	inNowhere := func(t *v1alpha1.Trigger) { t.Spec.Environment = "nowhere" }
	const noMatch = `{"results":[],"hint":"No Trigger matches this deployment, so no run was started. The same request with ?dryRun=true says why."}`
	cases := map[string]struct {
		reason  string
		objects []any
		body    string
		want    string // the body, with every suite id as ID
		suites  int
	}{
		"no trigger":     {reason: "no match is an empty list, never null", body: withSHA, want: noMatch},
		"paused trigger": {reason: "a paused Trigger does not match", objects: []any{trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Paused = true })}, body: withSHA, want: noMatch},
		"empty body": {reason: "{} matches a Trigger without conditions", objects: []any{trigger("smoke")}, body: `{}`, suites: 1,
			want: `{"results":[{"trigger_id":"smoke","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"everything null": {reason: "null is absent, as the fastlane plugin sends it", objects: []any{trigger("smoke")}, suites: 1,
			body: `{"branch":null,"sha":null,"deployment_type":null,"deployment_url":null,"hosting_service":null,"commit_url":null,"variables":null,"deduplication_key":null,"ephemeral_environment":null,"repository":null,"pull_request_number":null,"merge_request_number":null}`,
			want: `{"results":[{"trigger_id":"smoke","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"misspelled member": {reason: "curl shows it to the person who wrote it", objects: []any{trigger("smoke")}, body: `{"brnch":"main"}`, suites: 1,
			want: `{"results":[{"trigger_id":"smoke","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true},"hint":"The member \"brnch\" is unknown and was ignored: did you mean \"branch\"?"}`},
		"environment missing": {reason: "it is named, and the others' results are there", objects: []any{trigger("a", inNowhere), trigger("b")}, body: withSHA, suites: 1,
			want: `{"results":[{"trigger_id":"a","failure_reason":"The Environment \"nowhere\" of the Trigger \"a\" does not exist. Create it, or name another one in the Trigger."},{"trigger_id":"b","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"every environment missing": {reason: "clients want an environment wherever something matched", objects: []any{trigger("a", inNowhere)}, body: withSHA,
			want: `{"results":[{"trigger_id":"a","failure_reason":"The Environment \"nowhere\" of the Trigger \"a\" does not exist. Create it, or name another one in the Trigger."}],"environment":{"id":"","alias":"nowhere","isStatic":true}}`},
		"reserved variable": {reason: "all of them are named", objects: []any{trigger("smoke")}, body: `{"variables":{"OK":"1","NODE_OPTIONS":"x","LD_PRELOAD":"x"}}`,
			want: `{"results":[{"trigger_id":"smoke","failure_reason":"The variables LD_PRELOAD, NODE_OPTIONS are reserved: they would change how the platform runs the tests. Rename them, or set them in the Trigger."}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"variable not accepted": {reason: "each Trigger decides for itself", objects: []any{trigger("all"), trigger("no", allow()), trigger("some", allow("E2E_*", "GREP")), trigger("url", allow("URL"))},
			body: `{"variables":{"GREP":"x","E2E_USER":"x"}}`, suites: 2,
			want: `{"results":[{"trigger_id":"all","created_suite_id":"ID"},{"trigger_id":"no","failure_reason":"The Trigger no does not accept the variables E2E_USER, GREP: leave them out, or add them to allowVariables of the Trigger."},{"trigger_id":"some","created_suite_id":"ID"},{"trigger_id":"url","failure_reason":"The Trigger url does not accept the variables E2E_USER, GREP: leave them out, or add them to allowVariables of the Trigger."}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"reserved variable, accepted": {reason: "it stays reserved", objects: []any{trigger("smoke", allow("NODE_*"))}, body: `{"variables":{"NODE_OPTIONS":"x"}}`,
			want: `{"results":[{"trigger_id":"smoke","failure_reason":"The variable NODE_OPTIONS is reserved: it would change how the platform runs the tests. Rename it, or set it in the Trigger."}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"another team's trigger": {reason: "teams do not see each other", objects: []any{trigger("smoke", func(t *v1alpha1.Trigger) { t.Namespace = "other" })}, body: withSHA, want: noMatch},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := acme()
			for _, o := range tc.objects {
				objects = append(objects, o.(*v1alpha1.Trigger))
			}
			h := start(t, setup{objects: objects})
			w := h.exchange(post(tc.body))
			suites := h.suites()
			got := strings.TrimSpace(w.Body.String())
			for _, s := range suites {
				got = strings.ReplaceAll(got, s.Name, "ID")
			}
			if w.Code != http.StatusOK || got != tc.want {
				t.Errorf("%s: %d %s\nwant 200 %s", tc.reason, w.Code, got, tc.want)
			}
			if len(suites) != tc.suites {
				t.Errorf("%d Suites, want %d", len(suites), tc.suites)
			}
		})
	}
}

func TestDryRun(t *testing.T) {
	onRelease := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/**"} }
	cases := map[string]struct {
		body   string
		change func(*http.Request)
	}{
		"parameter":                {withSHA, query("dryRun=true")},
		"parameter in other case":  {withSHA, query("dryrun=true")},
		"header":                   {withSHA, header("X-Dry-Run", "true")},
		"header against parameter": {withSHA, both(query("dryRun=false"), header("X-Dry-Run", "true"))},
		"ephemeral":                {`{"ephemeral_environment":true,"deployment_url":"https://pr-7.example.com"}`, query("dryRun=true")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke"), trigger("release", onRelease)), dispatch: func(c *dispatch.Config) { c.Writer = noWriter{} }})
			w := h.exchange(post(tc.body, tc.change))
			got := decode[explainedReply](t, w)
			if !got.DryRun || len(got.Results) != 1 || got.Results[0].CreatedSuiteID == "" || got.Environment == nil {
				t.Errorf("got %+v, want the shape of the real answer", got)
			}
			matched := map[string]bool{}
			for _, e := range got.Explanations {
				matched[e.TriggerID] = e.Matched
			}
			if diff := cmp.Diff(map[string]bool{"smoke": true, "release": false}, matched); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExplainWarnsOfScripts: a dry run says in which container senders can run commands.
func TestExplainWarnsOfScripts(t *testing.T) {
	runs := func(command ...string) func(*v1alpha1.Trigger) {
		return func(tr *v1alpha1.Trigger) {
			tr.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Command: command}}
		}
	}
	h := start(t, setup{objects: acme(trigger("bad", runs("sh", "-c", "curl $(URL)")), trigger("good", runs("sh", "-c", `curl "$URL"`)))})
	for _, e := range decode[explainedReply](t, h.exchange(post(withSHA, query("dryRun=true")))).Explanations {
		warned := false
		for _, c := range e.Conditions {
			warned = warned || c.Held && strings.Contains(c.Message, `The container "test" runs a shell with $(URL)`)
		}
		if warned != (e.TriggerID == "bad") || !e.Matched {
			t.Errorf("%+v", e)
		}
	}
}

// explainedReply is the answer to a dry run.
type explainedReply = reply

// noWriter is a Writer that dry runs must not touch: it panics.
type noWriter struct{ dispatch.Writer }

func TestRequestIDOfTheSuiteIsItsOwn(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	h.notify(withSHA, header("X-Request-Id", "pipeline-7"))
	if got := h.suites()[0].Annotations[v1alpha1.AnnotationRequestID]; !strings.HasPrefix(got, "pipeline-7.") {
		t.Errorf("annotation %q, want the client's id and a random part", got)
	}
}

func TestNeverNull(t *testing.T) {
	b, err := json.Marshal(reply{Results: []result{}})
	if err != nil || string(b) != `{"results":[]}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestIdempotencyKeyReachesTheDispatcher(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	first := h.notify(`{}`, header("Idempotency-Key", "k"), header("X-Request-Id", "one")).Results[0].CreatedSuiteID
	if got := h.notify(`{}`, header("Idempotency-Key", "k")).Results[0]; got.DuplicateSuiteID != first || first == "" {
		t.Errorf("the same key: %+v, want a duplicate of %q", got, first)
	}
	for name, change := range map[string]func(*http.Request){
		"another key":               header("Idempotency-Key", "l"),
		"no key, the id of another": header("X-Request-Id", "one"),
	} {
		if got := h.notify(`{}`, change).Results[0]; got.CreatedSuiteID == "" {
			t.Errorf("%s: %+v, want a run of its own", name, got)
		}
	}
}

func TestEphemeralEnvironmentInTheAnswer(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	got := h.notify(`{"ephemeral_environment":true,"deployment_url":"https://pr-7.example.com"}`).Environment
	made, found := h.environments()[got.Alias]
	if !found || made.Spec.Ephemeral == nil || got.IsStatic {
		t.Errorf("environment %+v, want the ephemeral one", got)
	}
}

// TestOtherDeployments: the answer says that a run tests another deployment, and rerun starts an attempt for this one. The gate of
// each run has what that run tests.
func TestOtherDeployments(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	const blue = `{"sha":"` + sha + `","deployment_url":"https://blue.example.com","variables":{"REGION":"eu"}}`
	green := strings.ReplaceAll(strings.ReplaceAll(blue, "blue", "green"), "eu", "us")
	first := h.notify(blue).Results[0].CreatedSuiteID
	h.become(first, to(v1alpha1.Passed("")))
	want := []httpapi.Difference{httpapi.DifferentURL, httpapi.DifferentVariables}
	if got := h.notify(green).Results[0]; got.DuplicateSuiteID != first || !cmp.Equal(got.DuplicateDiffers, want) {
		t.Errorf("%+v, want a duplicate of %s that differs by %v", got, first, want)
	}
	if got := h.notify(blue).Results[0]; got.DuplicateSuiteID != first || got.DuplicateDiffers != nil {
		t.Errorf("%+v, want a duplicate of %s", got, first)
	}
	second := h.notify(green, query("rerun=true")).Results[0].CreatedSuiteID
	if second == "" || second == first {
		t.Fatalf("rerun answers %q", second)
	}
	for id, tested := range map[string][2]string{
		first:  {"https://blue.example.com", suite.VariablesDigest(map[string]string{"REGION": "eu"})},
		second: {"https://green.example.com", suite.VariablesDigest(map[string]string{"REGION": "us"})},
	} {
		got := decode[httpapi.Greenlight](t, h.exchange(ask(id, "")))
		if got.URL != tested[0] || got.VariablesDigest != tested[1] {
			t.Errorf("%s tests %q with %q, want %v", id, got.URL, got.VariablesDigest, tested)
		}
	}
}
