package notifications_test

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
	"github.com/postflight-dev/postflight/test/apitest"
)

func TestCreatesOneSuitePerMatchedTrigger(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(
		apitest.Trigger("visual"),
		apitest.Trigger("api", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/**"} }),
		apitest.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"main"} }),
	)})
	got := h.Notify(apitest.WithSHA)
	names := map[string]string{}
	for _, s := range h.Suites() {
		names[s.Spec.Trigger.Name] = s.Name
	}
	want := httpapi.NotificationResult{
		Results: []httpapi.Result{
			{TriggerID: "smoke", CreatedSuiteID: names["smoke"]},
			{TriggerID: "visual", CreatedSuiteID: names["visual"]},
		},
		Environment: &httpapi.Environment{ID: "uid-staging", Alias: "staging", IsStatic: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldReachesTheSuite(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	h.Notify(`{"branch":"refs/heads/main","sha":" ` + strings.ToUpper(apitest.SHA) + ` ","deployment_type":"staging",
		"deployment_url":"https://pr-7.example.com","hosting_service":"gitlab","commit_url":"https://example.com/c",
		"variables":{"REGION":"us","EMPTY":"","NONE":null},"deduplication_key":"pr-7",
		"repository":{"namespace":"acme/web","name":"shop"},"service":"cart","merge_request_number":7,"unknown":{"x":[1]}}`)
	received := metav1.NewMicroTime(apitest.Noon)
	want := []v1alpha1.SuiteSpec{{
		Trigger:        v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"},
		Environment:    "staging",
		EnvironmentUID: "uid-staging",
		Origin:         v1alpha1.OriginNotification,
		Deployment: v1alpha1.Deployment{
			Branch: "refs/heads/main", SHA: apitest.SHA, Type: "staging", URL: "https://pr-7.example.com", HostingService: v1alpha1.GitLab,
			CommitURL: "https://example.com/c", Repository: "acme/web/shop", Service: "cart", PullRequestNumber: 7,
		},
		Variables:    v1alpha1.Variables{"REGION": "us", "EMPTY": ""},
		SupersedeKey: "pr-7",
		Attempt:      1,
		ReceivedAt:   &received,

		TTLAfterFinished: &metav1.Duration{Duration: v1alpha1.DefaultTTL},
	}}
	var got []v1alpha1.SuiteSpec
	for _, s := range h.Suites() {
		got = append(got, s.Spec)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
}

// TestServices: one commit of a monorepo is deployed service by service. Each deployment is tested, and each service has duplicates, attempts
// and a stream of its own.
func TestServices(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(
		apitest.Trigger("e2e"),
		apitest.Trigger("cart", func(t *v1alpha1.Trigger) { t.Spec.Match.Services = []string{"cart"} }),
	)})
	of := func(service string) string {
		return `{"sha":"` + apitest.SHA + `","branch":"main","repository":"acme/mono","service":"` + service + `"}`
	}
	services := []string{"", "cart", "checkout", "search", "mail", "users", "stock", "prices", "images", "admin"}
	runs := map[string]string{} // by service, of the Trigger that matches each
	for _, service := range services {
		got := h.Notify(of(service)).Results
		if want := map[bool]int{true: 2, false: 1}[service == "cart"]; len(got) != want {
			t.Fatalf("%q matches %d Triggers, want %d: %+v", service, len(got), want, got)
		}
		runs[service] = got[len(got)-1].CreatedSuiteID
	}
	streams, names := map[suite.Stream]bool{}, map[string]bool{"": true}
	for _, s := range h.Suites() {
		streams[suite.StreamOf(&s)] = true
		if id := runs[s.Spec.Deployment.Service]; names[s.Name] || s.Spec.Trigger.Name == "e2e" && id != s.Name {
			t.Errorf("the run of %q is %q, and there is %s", s.Spec.Deployment.Service, id, s.Name)
		}
		names[s.Name] = true
	}
	if len(streams) != len(services)+1 {
		t.Errorf("%d services and two Triggers have %d streams", len(services), len(streams))
	}
	h.Become(runs["cart"], apitest.To(v1alpha1.Passed("")))
	if got := h.Notify(of(" cart ")).Results[1]; got.DuplicateSuiteID != runs["cart"] || got.DuplicateDiffers != nil {
		t.Errorf("%+v, want a duplicate of %s", got, runs["cart"])
	}
	if got := h.Notify(of("checkout"), apitest.Query("rerun=true")).Results[0]; got.DuplicateSuiteID != runs["checkout"] {
		t.Errorf("%+v, want a duplicate of %s, which has not ended", got, runs["checkout"])
	}
	if got := h.Notify(of("cart"), apitest.Query("rerun=true")).Results[1]; got.CreatedSuiteID == "" || names[got.CreatedSuiteID] {
		t.Errorf("%+v, want another attempt", got)
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
		"no trigger": {reason: "no match is an empty list, never null", body: apitest.WithSHA, want: noMatch},
		"paused trigger": {reason: "a paused Trigger does not match",
			objects: []any{apitest.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Paused = true })}, body: apitest.WithSHA, want: noMatch},
		"empty body": {reason: "{} matches a Trigger without conditions", objects: []any{apitest.Trigger("smoke")}, body: `{}`, suites: 1,
			want: `{"results":[{"trigger_id":"smoke","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"everything null": {reason: "null is absent, as the fastlane plugin sends it", objects: []any{apitest.Trigger("smoke")}, suites: 1,
			body: `{"branch":null,"sha":null,"deployment_type":null,"deployment_url":null,"hosting_service":null,"commit_url":null,"variables":null,"deduplication_key":null,"ephemeral_environment":null,"repository":null,"pull_request_number":null,"merge_request_number":null}`,
			want: `{"results":[{"trigger_id":"smoke","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"misspelled member": {reason: "curl shows it to the person who wrote it", objects: []any{apitest.Trigger("smoke")},
			body: `{"brnch":"main"}`, suites: 1,
			want: `{"results":[{"trigger_id":"smoke","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true},"hint":"The member \"brnch\" is unknown and was ignored: did you mean \"branch\"?"}`},
		"environment missing": {reason: "it is named, and the others' results are there",
			objects: []any{apitest.Trigger("a", inNowhere), apitest.Trigger("b")}, body: apitest.WithSHA, suites: 1,
			want: `{"results":[{"trigger_id":"a","failure_reason":"The Environment \"nowhere\" of the Trigger \"a\" does not exist. Create it, or name another one in the Trigger."},{"trigger_id":"b","created_suite_id":"ID"}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"every environment missing": {reason: "clients want an environment wherever something matched",
			objects: []any{apitest.Trigger("a", inNowhere)}, body: apitest.WithSHA,
			want: `{"results":[{"trigger_id":"a","failure_reason":"The Environment \"nowhere\" of the Trigger \"a\" does not exist. Create it, or name another one in the Trigger."}],"environment":{"id":"","alias":"nowhere","isStatic":true}}`},
		"reserved variable": {reason: "all of them are named", objects: []any{apitest.Trigger("smoke")},
			body: `{"variables":{"OK":"1","NODE_OPTIONS":"x","LD_PRELOAD":"x"}}`,
			want: `{"results":[{"trigger_id":"smoke","failure_reason":"The variables LD_PRELOAD, NODE_OPTIONS are reserved: they would change how the platform runs the tests. Rename them, or set them in the Trigger."}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"variable not accepted": {reason: "each Trigger decides for itself",
			objects: []any{apitest.Trigger("all"), apitest.Trigger("no", allow()), apitest.Trigger("some", allow("E2E_*", "GREP")),
				apitest.Trigger("url", allow("URL"))},
			body: `{"variables":{"GREP":"x","E2E_USER":"x"}}`, suites: 2,
			want: `{"results":[{"trigger_id":"all","created_suite_id":"ID"},{"trigger_id":"no","failure_reason":"The Trigger no does not accept the variables E2E_USER, GREP: leave them out, or add them to allowVariables of the Trigger."},{"trigger_id":"some","created_suite_id":"ID"},{"trigger_id":"url","failure_reason":"The Trigger url does not accept the variables E2E_USER, GREP: leave them out, or add them to allowVariables of the Trigger."}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"reserved variable, accepted": {reason: "it stays reserved", objects: []any{apitest.Trigger("smoke", allow("NODE_*"))},
			body: `{"variables":{"NODE_OPTIONS":"x"}}`,
			want: `{"results":[{"trigger_id":"smoke","failure_reason":"The variable NODE_OPTIONS is reserved: it would change how the platform runs the tests. Rename it, or set it in the Trigger."}],"environment":{"id":"uid-staging","alias":"staging","isStatic":true}}`},
		"another team's trigger": {reason: "teams do not see each other",
			objects: []any{apitest.Trigger("smoke", func(t *v1alpha1.Trigger) { t.Namespace = "other" })}, body: apitest.WithSHA, want: noMatch},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := apitest.Acme()
			for _, o := range tc.objects {
				objects = append(objects, o.(*v1alpha1.Trigger))
			}
			h := apitest.Start(t, apitest.Setup{Objects: objects})
			w := h.Exchange(apitest.Post(tc.body))
			suites := h.Suites()
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
		"parameter":                {apitest.WithSHA, apitest.Query("dryRun=true")},
		"parameter in other case":  {apitest.WithSHA, apitest.Query("dryrun=true")},
		"header":                   {apitest.WithSHA, apitest.Header("X-Dry-Run", "true")},
		"header against parameter": {apitest.WithSHA, apitest.Both(apitest.Query("dryRun=false"), apitest.Header("X-Dry-Run", "true"))},
		"ephemeral":                {`{"ephemeral_environment":true,"deployment_url":"https://pr-7.example.com"}`, apitest.Query("dryRun=true")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("release", onRelease)),
				Dispatch: func(c *dispatch.Config) { c.Writer = noWriter{} }})
			w := h.Exchange(apitest.Post(tc.body, tc.change))
			got := apitest.Decode[explainedReply](t, w)
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
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("bad", runs("sh", "-c", "curl $(URL)")),
		apitest.Trigger("good", runs("sh", "-c", `curl "$URL"`)))})
	for _, e := range apitest.Decode[explainedReply](t, h.Exchange(apitest.Post(apitest.WithSHA, apitest.Query("dryRun=true")))).Explanations {
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
type explainedReply = httpapi.NotificationResult

// noWriter is a Writer that dry runs must not touch: it panics.
type noWriter struct{ dispatch.Writer }

func TestRequestIDOfTheSuiteIsItsOwn(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	h.Notify(apitest.WithSHA, apitest.Header("X-Request-Id", "pipeline-7"))
	if got := h.Suites()[0].Annotations[v1alpha1.AnnotationRequestID]; !strings.HasPrefix(got, "pipeline-7.") {
		t.Errorf("annotation %q, want the client's id and a random part", got)
	}
}

func TestNeverNull(t *testing.T) {
	b, err := json.Marshal(httpapi.NotificationResult{Results: []httpapi.Result{}})
	if err != nil || string(b) != `{"results":[]}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestIdempotencyKeyReachesTheDispatcher(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	first := h.Notify(`{}`, apitest.Header("Idempotency-Key", "k"), apitest.Header("X-Request-Id", "one")).Results[0].CreatedSuiteID
	if got := h.Notify(`{}`, apitest.Header("Idempotency-Key", "k")).Results[0]; got.DuplicateSuiteID != first || first == "" {
		t.Errorf("the same key: %+v, want a duplicate of %q", got, first)
	}
	for name, change := range map[string]func(*http.Request){
		"another key":               apitest.Header("Idempotency-Key", "l"),
		"no key, the id of another": apitest.Header("X-Request-Id", "one"),
	} {
		if got := h.Notify(`{}`, change).Results[0]; got.CreatedSuiteID == "" {
			t.Errorf("%s: %+v, want a run of its own", name, got)
		}
	}
}

func TestEphemeralEnvironmentInTheAnswer(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	got := h.Notify(`{"ephemeral_environment":true,"deployment_url":"https://pr-7.example.com"}`).Environment
	made, found := h.Environments()[got.Alias]
	if !found || made.Spec.Ephemeral == nil || got.IsStatic {
		t.Errorf("environment %+v, want the ephemeral one", got)
	}
}

// TestOtherDeployments: the answer says that a run tests another deployment, and rerun starts an attempt for this one. The gate of
// each run has what that run tests.
func TestOtherDeployments(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"))})
	const blue = `{"sha":"` + apitest.SHA + `","deployment_url":"https://blue.example.com","variables":{"REGION":"eu"}}`
	green := strings.ReplaceAll(strings.ReplaceAll(blue, "blue", "green"), "eu", "us")
	first := h.Notify(blue).Results[0].CreatedSuiteID
	h.Become(first, apitest.To(v1alpha1.Passed("")))
	want := []httpapi.Difference{httpapi.DifferentURL, httpapi.DifferentVariables}
	if got := h.Notify(green).Results[0]; got.DuplicateSuiteID != first || !cmp.Equal(got.DuplicateDiffers, want) {
		t.Errorf("%+v, want a duplicate of %s that differs by %v", got, first, want)
	}
	if got := h.Notify(blue).Results[0]; got.DuplicateSuiteID != first || got.DuplicateDiffers != nil {
		t.Errorf("%+v, want a duplicate of %s", got, first)
	}
	second := h.Notify(green, apitest.Query("rerun=true")).Results[0].CreatedSuiteID
	if second == "" || second == first {
		t.Fatalf("rerun answers %q", second)
	}
	for id, tested := range map[string][2]string{
		first:  {"https://blue.example.com", suite.VariablesDigest(map[string]string{"REGION": "eu"})},
		second: {"https://green.example.com", suite.VariablesDigest(map[string]string{"REGION": "us"})},
	} {
		got := apitest.Decode[httpapi.Greenlight](t, h.Exchange(apitest.Ask(id, "")))
		if got.URL != tested[0] || got.VariablesDigest != tested[1] {
			t.Errorf("%s tests %q with %q, want %v", id, got.URL, got.VariablesDigest, tested)
		}
	}
}
