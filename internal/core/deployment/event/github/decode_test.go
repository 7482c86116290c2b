package github_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/payload"
)

const (
	sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	run = "0f8fad5b-d9cb-469f-a165-70867728950e"
)

type values = payload.Values

func headers(kind string) http.Header {
	return http.Header{"X-Github-Event": {kind}, "X-Github-Delivery": {"72d3162e-cc78-11e3-81ab-4c9367dc0958"}}
}

func decode(t *testing.T, kind string, body []byte, o event.Options) event.Event {
	t.Helper()
	e, err := github.Decode(headers(kind), body, o)
	if err != nil {
		t.Fatal(err)
	}
	if e.Type != kind || e.Delivery != "72d3162e-cc78-11e3-81ab-4c9367dc0958" {
		t.Errorf("the type is %q and the delivery %q", e.Type, e.Delivery)
	}
	return e
}

func TestDeployment(t *testing.T) {
	full := func(change func(*notification.Notification)) *notification.Notification {
		n := &notification.Notification{
			SHA: sha, Branch: "main", DeploymentType: "Production", DeploymentURL: "https://shop.example.com", HostingService: v1alpha1.GitHub,
			Workflow: "deploy", Job: "deploy", Task: "deploy",
			Repository: "acme/shop", CommitURL: "https://github.com/acme/shop/commit/" + sha,
		}
		change(n)
		return n
	}
	cases := map[string]struct {
		reason  string
		changes values
		options event.Options
		want    *notification.Notification
	}{
		"as GitHub Actions sends it": {"every member has its place", nil, event.Options{}, full(func(*notification.Notification) {})},
		"a renamed environment": {"the team says what its environments are called here", nil,
			event.Options{Environments: map[string]string{"Production": "production"}},
			full(func(n *notification.Notification) { n.DeploymentType = "production" })},
		"another environment is renamed": {"names are compared exactly", nil,
			event.Options{Environments: map[string]string{"production": "live"}}, full(func(*notification.Notification) {})},
		"the ref is the commit": {"the workflow knows the branch", values{"deployment.ref": sha, "workflow_run.head_branch": "release"},
			event.Options{},
			full(func(n *notification.Notification) { n.Branch = "release" })},
		"the ref is the commit, without a workflow": {"nothing knows the branch",
			values{"deployment.ref": strings.ToUpper(sha), "workflow_run": nil}, event.Options{},
			full(func(n *notification.Notification) { n.Branch, n.Workflow = "", "" })},
		"no URL": {"the tests use that of the Environment; target_url and log_url are pages of the pipeline",
			values{"deployment_status.environment_url": ""}, event.Options{},
			full(func(n *notification.Notification) { n.DeploymentURL = "" })},
		"one pull request": {"a Trigger may leave pull requests out", values{"workflow_run.pull_requests": []any{map[string]any{"number": 7}}},
			event.Options{},
			full(func(n *notification.Notification) { n.PullRequestNumber = 7 })},
		"two pull requests": {"it is not known which one was deployed",
			values{"workflow_run.pull_requests": []any{map[string]any{"number": 7}, map[string]any{"number": 8}}}, event.Options{},
			full(func(*notification.Notification) {})},
		"a merge queue": {"its branch is that of the group", values{"deployment.ref": "gh-readonly-queue/release/1.2/pr-42-" + sha},
			event.Options{},
			full(func(n *notification.Notification) { n.Branch, n.PullRequestNumber = "release/1.2", 42 })},
		"a service": {"the creator of the deployment names it in the payload", values{"deployment.payload": map[string]any{"service": " cart ", "x": 1}},
			event.Options{}, full(func(n *notification.Notification) { n.Service = "cart" })},
		"a service in a text": {"older clients send JSON as a text", values{"deployment.payload": `{"service":"cart"}`},
			event.Options{}, full(func(n *notification.Notification) { n.Service = "cart" })},
		"a payload without a service": {"it belongs to its creator", values{"deployment.payload": map[string]any{"service": map[string]any{"name": "cart"}}},
			event.Options{}, full(func(*notification.Notification) {})},
		"a payload that is a text": {"it belongs to its creator", values{"deployment.payload": "deploy the service please"},
			event.Options{}, full(func(*notification.Notification) {})},
		"a payload that is a list": {"it belongs to its creator", values{"deployment.payload": []any{"service", "cart"}},
			event.Options{}, full(func(*notification.Notification) {})},
		"by another App": {"an App with the name of Postflight's is another one",
			values{"deployment_status.performed_via_github_app.slug": "acme-postflight",
				"deployment.task": "postflight"}, event.Options{OwnApp: 88001},
			full(func(n *notification.Notification) { n.Task = "postflight" })},
		"by no App": {"a person or a token has posted it", values{"deployment_status.performed_via_github_app": nil},
			event.Options{OwnApp: 88001},
			full(func(*notification.Notification) {})},
		"the App of the manager is unknown": {"no id is that of no App", values{"deployment_status.performed_via_github_app.id": 0},
			event.Options{},
			full(func(*notification.Notification) {})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decode(t, "deployment_status", payload.With(t, "deployment_status.json", tc.changes), tc.options)
			want := event.Event{
				Notification: tc.want, At: time.Date(2026, 11, 20, 12, 0,
					0, 0, time.UTC), ID: "github/deployment_status/2099162", Repository: "acme/shop",
				Post: &event.Post{Environment: "Production", LogURL: "https://github.com/acme/shop/actions/runs/6510844/job/17684"},
				Type: got.Type, Delivery: got.Delivery,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestIgnored(t *testing.T) {
	cases := map[string]struct {
		kind, file string
		changes    values
		options    event.Options
		says       string
	}{
		"ping":                     {"ping", "ping.json", nil, event.Options{}, "right secret"},
		"an event of another type": {"push", "ping.json", nil, event.Options{}, "the type push"},
		"a deployment that runs": {"deployment_status", "deployment_status.json", values{"deployment_status.state": "in_progress"},
			event.Options{}, `"in_progress"`},
		"a state of later years": {"deployment_status", "deployment_status.json", values{"deployment_status.state": "\x1b[2Jmostly"},
			event.Options{}, `"mostly"`},
		"posted by the manager": {"deployment_status", "deployment_status.json", values{"deployment_status.performed_via_github_app.id": 88001},
			event.Options{OwnApp: 88001}, "itself"},
		"a check run that ended":       {"check_run", "check_run.json", values{"action": "completed"}, event.Options{}, "re-run"},
		"a check run of another App":   {"check_run", "check_run.json", values{"check_run.external_id": "42"}, event.Options{}, "has not posted"},
		"a check suite that ended":     {"check_suite", "check_suite.json", values{"action": "completed"}, event.Options{}, "re-run"},
		"a check suite of another App": {"check_suite", "check_suite.json", nil, event.Options{OwnApp: 1}, "another App"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decode(t, tc.kind, payload.With(t, tc.file, tc.changes), tc.options)
			if got.Notification != nil || got.Rerun != nil || !strings.Contains(got.Ignored, tc.says) || !strings.HasSuffix(got.Ignored, ".") {
				t.Errorf("got %+v, want it to be ignored with a sentence that has %q", got, tc.says)
			}
		})
	}
}

func TestRerun(t *testing.T) {
	cases := map[string]struct {
		kind, file string
		changes    values
		want       event.Rerun
		at         time.Time
	}{
		"one check": {"check_run", "check_run.json", nil, event.Rerun{Runs: []string{run}, Repository: "acme/shop", Commit: sha,
			By: "GitHub: ann-lee"}, time.Time{}},
		"all checks": {"check_suite", "check_suite.json", nil, event.Rerun{Repository: "acme/shop", Commit: sha, By: "GitHub: ann-lee"},
			time.Date(2026, 11, 20, 12, 9, 0, 0, time.UTC)},
		"by a hostile name": {"check_run", "check_run.json", values{"sender.login": "ann\u202e\n::error::" + strings.Repeat("x", 200)},
			event.Rerun{Runs: []string{run}, Repository: "acme/shop", Commit: sha,
				By: "GitHub: ann; ::error::xxxxxxxxxxxxxxx … xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}, time.Time{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decode(t, tc.kind, payload.With(t, tc.file, tc.changes), event.Options{OwnApp: 88001})
			want := event.Event{Rerun: &tc.want, At: tc.at, Repository: "acme/shop", Type: got.Type, Delivery: got.Delivery}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalid(t *testing.T) {
	status := func(changes values) []byte { return payload.With(t, "deployment_status.json", changes) }
	twice := func(member string) []byte {
		return []byte(strings.Replace(string(status(nil)), `"`+member+`":`, `"`+member+`":"x","`+member+`":`, 1))
	}
	cases := map[string]struct {
		reason string
		body   []byte
		says   string
	}{
		"no JSON":                {"a form has the payload as a parameter", []byte("payload=%7B%7D"), "application/json"},
		"a second object":        {"only the first would count", append(status(nil), "{}"...), "JSON"},
		"the state twice":        {"readers disagree which one counts", twice("state"), "once"},
		"a name twice elsewhere": {"also in what is skipped", twice("site_admin"), "once"},
		"a number as commit":     {"it is not a commit", status(values{"deployment.sha": 42}), "type"},
		"a string as id":         {"it is not a number", status(values{"deployment_status.id": "2099162"}), "type"},
		"no id": {"redeliveries could not be recognized", status(values{"deployment_status.id": nil}),
			"The event lacks deployment_status.id."},
		"no time": {"a late delivery could not be recognized", status(values{"deployment_status.created_at": nil}),
			"The event lacks deployment_status.created_at."},
		"no commit":     {"there is nothing to test", status(values{"deployment.sha": ""}), "The event lacks deployment.sha."},
		"no repository": {"it belongs to no team", status(values{"repository": nil}), "The event lacks repository.full_name."},
		"several are missing": {"one attempt is enough", status(values{"repository": nil, "deployment_status.id": nil}),
			"The event lacks deployment_status.id, repository.full_name."},
		"a repository in no owner": {"it would become part of a URL", status(values{"repository.full_name": "../shop"}), "repository"},
		"a URL with a password": {"it would be shown to everybody",
			status(values{"deployment_status.environment_url": "https://a:b@example.com"}), "deployment_url"},
		"a URL of another scheme": {"tests open it", status(values{"deployment_status.environment_url": "javascript:alert(1)"}),
			"deployment_url"},
		"a branch with a newline": {"it would start a line of a log", status(values{"deployment.ref": "main\n::error::"}), "branch"},
		"a long environment": {"it would not fit into the Suite", status(values{"deployment_status.environment": strings.Repeat("x", 300)}),
			"deployment_type"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := github.Decode(headers("deployment_status"), tc.body, event.Options{})
			invalid := &event.InvalidError{}
			if !errors.As(err, &invalid) || got.Notification != nil || !strings.Contains(invalid.Reason, tc.says) {
				t.Errorf("%s: got %+v and %v, want an error that has %q", tc.reason, got, err, tc.says)
			}
			if strings.Contains(invalid.Reason, "a:b") {
				t.Errorf("the error repeats the password: %s", invalid.Reason)
			}
		})
	}
	if _, err := github.Decode(http.Header{}, []byte("{}"), event.Options{}); err == nil {
		t.Error("an event without a type is not refused")
	}
}

// TestBrokenText: a text that only people read, or that nothing reads, refuses no event.
func TestBrokenText(t *testing.T) {
	replaced := func(member, text string) []byte {
		const sign = "BROKEN"
		return []byte(strings.Replace(string(payload.With(t, "deployment_status.json", values{member: "Add " + sign})), sign, text, 1))
	}
	for _, text := range []string{`\ud83d`, "f\xfcr", "\xf0\x9f"} {
		for _, member := range []string{"deployment.description", "deployment_status.description", "sender.login"} {
			if e, err := github.Decode(headers("deployment_status"), replaced(member, text), event.Options{}); err != nil || e.Notification == nil {
				t.Errorf("%s with %q: %v", member, text, err)
			}
		}
		for _, member := range []string{"deployment.ref", "deployment_status.environment", "repository.full_name"} {
			e, err := github.Decode(headers("deployment_status"), replaced(member, text), event.Options{})
			if err == nil || e.Notification != nil || !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%s with %q: %v", member, text, err)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, kind := range []string{"deployment_status", "check_run", "check_suite", "ping", "deployment_protection_rule"} {
		body, err := os.ReadFile("testdata/" + kind + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, body)
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		e, err := github.Decode(headers(kind), body, event.Options{OwnApp: 88001})
		meanings := 0
		for _, is := range []bool{e.Notification != nil, e.Rerun != nil, e.Review != nil, e.Ignored != ""} {
			if is {
				meanings++
			}
		}
		if (err == nil) != (meanings == 1) {
			t.Errorf("%v, and %d meanings: %+v", err, meanings, e)
		}
	})
}
