package integrations

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/expr-lang/expr"
	sprig "github.com/go-task/slim-sprig/v3"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

const (
	notificationsFile = "argocd/notifications.yaml"
	deployedTrigger   = "postflight-deployed"
	webhookService    = "postflight"

	commitA = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	commitB = "0ddba115ca1ab1e0ddba115ca1ab1e0d5ca1ab1e"
	commitC = "b0a710ad0ddba115ca1ab1e0ddba115ca1ab1e0d"
)

// argoNotifications does with the ConfigMap what the notifications-controller of Argo CD does: its conditions are those of expr, and its
// templates those of text/template with the functions of sprig, of which slim-sprig has a part, unchanged.
type argoNotifications struct {
	when, oncePer string
	body          *template.Template
	url, path     string
	headers       map[string]string
}

func notificationsOf(t *testing.T) (n argoNotifications) {
	t.Helper()
	var config corev1.ConfigMap
	if err := yaml.UnmarshalStrict(read(t, notificationsFile), &config); err != nil {
		t.Fatal(err)
	}
	if config.Name != "argocd-notifications-cm" || len(config.Data) != 3 {
		t.Fatalf("%s has %d keys in %s", notificationsFile, len(config.Data), config.Name)
	}
	var service struct {
		URL      string `json:"url"`
		RetryMax int    `json:"retryMax"`
		Headers  []struct{ Name, Value string }
	}
	var triggers []struct {
		Description, When, OncePer string
		Send                       []string
	}
	var sent struct {
		Webhook map[string]struct{ Method, Path, Body string }
	}
	for key, into := range map[string]any{
		"service.webhook." + webhookService: &service, "trigger." + deployedTrigger: &triggers, "template." + deployedTrigger: &sent,
	} {
		if err := yaml.UnmarshalStrict([]byte(config.Data[key]), into); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	webhook := sent.Webhook[webhookService]
	if len(triggers) != 1 || strings.Join(triggers[0].Send, " ") != deployedTrigger || webhook.Method != "POST" || len(sent.Webhook) != 1 {
		t.Fatalf("got the triggers %v, and the template %v", triggers, sent)
	}
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	body, err := template.New(deployedTrigger).Funcs(functions).Parse(webhook.Body)
	if err != nil {
		t.Fatal(err)
	}
	n = argoNotifications{when: triggers[0].When, oncePer: triggers[0].OncePer, body: body, url: service.URL, path: webhook.Path}
	n.headers = map[string]string{}
	for _, h := range service.Headers {
		n.headers[h.Name] = h.Value
	}
	return n
}

// evaluate runs an expression of the trigger. One that fails is as good as false.
func evaluate(t *testing.T, text string, app map[string]any) any {
	t.Helper()
	program, err := expr.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	value, err := expr.Run(program, map[string]any{"app": app, "time": map[string]any{"Parse": func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			panic(err)
		}
		return at
	}}})
	if err != nil {
		t.Errorf("Argo CD would log an error each time: %v", err)
	}
	return value
}

// render returns the body for an application, as the controller makes it.
func (n argoNotifications) render(app map[string]any) (string, error) {
	var body strings.Builder
	vars := map[string]any{"app": app, "serviceType": webhookService, "recipient": "", "context": map[string]string{}}
	err := n.body.Execute(&body, vars)
	return body.String(), err
}

// anApplication is healthy, and was synced from one source, with changes by their path.
func anApplication(t *testing.T, changes map[string]any) map[string]any {
	t.Helper()
	var app map[string]any
	if err := yaml.Unmarshal([]byte(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: shop
  namespace: argocd
  annotations:
    notifications.argoproj.io/subscribe.postflight-deployed.postflight: ""
spec:
  project: default
  source: {repoURL: https://github.com/acme/shop.git, targetRevision: main, path: deploy}
status:
  reconciledAt: "2026-11-20T12:00:05Z"
  health: {status: Healthy, lastTransitionTime: "2026-11-19T12:00:00Z"}
  sync: {status: Synced, revision: `+commitA+`}
  operationState:
    phase: Succeeded
    startedAt: "2026-11-20T12:00:00Z"
    finishedAt: "2026-11-20T12:00:04Z"
    syncResult:
      revision: `+commitA+`
      source: {repoURL: https://github.com/acme/shop.git, targetRevision: main, path: deploy}
      resources:
        - {kind: Service, name: shop, status: Synced}
        - {kind: Deployment, name: shop, status: Synced, images: ["registry.example.com/db:17", "registry.example.com/shop:`+commitB+`"]}
        - {kind: Deployment, name: old, status: Pruned, images: ["registry.example.com/shop:0.9"]}
        - {kind: Job, name: migrate, hookType: PreSync, hookPhase: Succeeded}
`), &app); err != nil {
		t.Fatal(err)
	}
	for path, value := range changes {
		at, names := app, strings.Split(path, "/")
		for _, name := range names[:len(names)-1] {
			at = at[name].(map[string]any)
		}
		if last := names[len(names)-1]; value == nil {
			delete(at, last)
		} else {
			at[last] = value
		}
	}
	return app
}

func annotated(pairs ...string) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		all["postflight.dev/"+pairs[i]] = pairs[i+1]
	}
	return map[string]any{"metadata/annotations": all}
}

func both(a, b map[string]any) map[string]any {
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// severalSources are a chart, the values for it, and a repository of the application.
var severalSources = map[string]any{
	"spec/source": nil, "status/operationState/syncResult/source": nil, "status/operationState/syncResult/revision": "",
	"status/operationState/syncResult/sources": []any{
		map[string]any{"repoURL": "registry.example.com/charts", "chart": "shop", "targetRevision": "1.4.2"},
		map[string]any{"repoURL": "https://git.example.com/acme/config.git", "targetRevision": "live", "ref": "config"},
		map[string]any{"repoURL": "https://git.example.com/acme/shop.git", "targetRevision": "main", "path": "crds"},
	},
	"status/operationState/syncResult/revisions": []any{"1.4.2", commitB, commitA},
}

// hydrated was rendered from commitB, and the result pushed as commitA.
var hydrated = map[string]any{
	"spec/source": nil,
	"spec/sourceHydrator": map[string]any{
		"drySource":  map[string]any{"repoURL": "https://github.com/acme/shop.git", "targetRevision": "trunk", "path": "deploy"},
		"syncSource": map[string]any{"targetBranch": "env/staging", "path": "shop"},
	},
	"status/sourceHydrator": map[string]any{
		"currentOperation":        map[string]any{"phase": "Hydrating", "drySHA": commitC},
		"lastSuccessfulOperation": map[string]any{"drySHA": commitB, "hydratedSHA": commitA},
	},
	"status/operationState/syncResult/source": map[string]any{"repoURL": "https://github.com/acme/shop.git", "targetRevision": "env/staging"},
}

func TestArgoNotification(t *testing.T) {
	n := notificationsOf(t)
	of := func(sha, branch, deploymentType string) notification.Notification {
		return notification.Notification{SHA: sha, Branch: branch, DeploymentType: deploymentType, HostingService: v1alpha1.GitHub}
	}
	whole := of(commitB, "release", "staging")
	whole.DeploymentURL, whole.Repository, whole.HostingService = "https://staging.example.com", "acme/web/shop", v1alpha1.GitLab
	const synced = "status/operationState/syncResult/"
	const source, revision, resources = synced + "source", synced + "revision", synced + "resources"
	shopImage := annotated("image", "registry.example.com/shop")
	all := annotated("image", "registry.example.com/shop", "branch", "release", "deployment-type", "staging",
		"deployment-url", "https://staging.example.com", "repository", "acme/web/shop", "hosting-service", "gitlab")
	digested := map[string]any{resources: []any{map[string]any{
		"status": "Synced", "images": []any{"registry.example.com/shop:" + commitA + "@sha256:2c26"},
	}}}
	unnamed, bare := map[string]any{source: map[string]any{"repoURL": "x"}}, map[string]any{"metadata/annotations": nil}
	chart := map[string]any{revision: "1.4.2", source: map[string]any{"chart": "shop", "targetRevision": "1.*"}}
	for name, tc := range map[string]struct {
		reason  string
		changes map[string]any
		want    notification.Notification
	}{
		"one source":                 {"its revision is what was deployed", nil, of(commitA, "main", "shop")},
		"no annotations":             {"all applications may be subscribed", bare, of(commitA, "main", "shop")},
		"every annotation":           {"they win", all, whole},
		"the tag of an image":        {"the branch of the configuration is another", shopImage, of(commitB, "", "shop")},
		"an image with a digest":     {"the tag stands before it", both(shopImage, digested), of(commitA, "", "shop")},
		"an image that is not there": {"another commit would be wrong", annotated("image", "registry.example.com/other"), of("", "", "shop")},
		"no images":                  {"before Argo CD 3.1", both(shopImage, map[string]any{resources: nil}), of("", "", "shop")},
		"several sources":            {"the first that is a commit", severalSources, of(commitB, "live", "shop")},
		"a chosen source":            {"by its number, from 0", both(severalSources, annotated("source", "2")), of(commitA, "main", "shop")},
		"a chart":                    {"its version is all that is known", chart, of("1.4.2", "1.*", "shop")},
		"the default branch":         {"Argo CD needs no name for it", unnamed, of(commitA, "", "shop")},
		"HEAD":                       {"it is no branch", map[string]any{source: map[string]any{"targetRevision": "HEAD"}}, of(commitA, "", "shop")},
		"a hydrated source":          {"people wrote the dry commit", hydrated, of(commitB, "trunk", "shop")},
		"a hydrated source, promoted": {"the dry commit of a merged one is not known", both(hydrated, map[string]any{revision: commitC}),
			of(commitC, "env/staging", "shop")},
		"a hydrated source before its first hydration": {"nothing is known of it", both(hydrated, map[string]any{"status/sourceHydrator": map[string]any{}}),
			of(commitA, "env/staging", "shop")},
		"the image of a hydrated source": {"the annotation wins", both(hydrated, shopImage), of(commitB, "", "shop")},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := n.render(anApplication(t, tc.changes))
			if err != nil {
				t.Fatal(err)
			}
			got, err := notification.Decode([]byte(body))
			if err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestArgoNotificationOfHostileNames: what people name cannot become another member, and arrives as it is.
func TestArgoNotificationOfHostileNames(t *testing.T) {
	n := notificationsOf(t)
	for _, evil := range []string{
		`","deployment_type":"production`, `"}`, `a\`, `a"b\"c`, "{{ .app }}", "$(POSTFLIGHT_API_KEY)", "$postflight-api-key",
		"</script>&amp;", "é", "null", "<no value>",
	} {
		body, err := n.render(anApplication(t, both(annotated("deployment-type", evil, "repository", "acme/shop"), map[string]any{
			"status/operationState/syncResult/source": map[string]any{"repoURL": evil, "targetRevision": evil},
		})))
		if err != nil {
			t.Fatal(err)
		}
		got, err := notification.Decode([]byte(body))
		if err != nil {
			t.Errorf("%q: %v\n%s", evil, err, body)
			continue
		}
		want := &notification.Notification{
			SHA: commitA, Branch: evil, DeploymentType: evil, Repository: "acme/shop", HostingService: v1alpha1.GitHub,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", evil, diff)
		}
	}
}

func TestArgoTrigger(t *testing.T) {
	n := notificationsOf(t)
	const state = "status/operationState"
	for name, tc := range map[string]struct {
		changes map[string]any
		want    bool
	}{
		"synced and healthy":         {nil, true},
		"looked at in that second":   {map[string]any{"status/reconciledAt": "2026-11-20T12:00:04Z"}, true},
		"not looked at since":        {map[string]any{"status/reconciledAt": "2026-11-20T11:59:58Z"}, false},
		"never looked at":            {map[string]any{"status/reconciledAt": nil}, false},
		"still rolling out":          {map[string]any{"status/health": map[string]any{"status": "Progressing"}}, false},
		"of unknown health":          {map[string]any{"status/health": nil}, false},
		"still syncing":              {map[string]any{state + "/phase": "Running", state + "/finishedAt": nil}, false},
		"not synced":                 {map[string]any{state + "/phase": "Failed"}, false},
		"never synced":               {map[string]any{state: nil}, false},
		"synced from several places": {severalSources, true},
		"without a revision":         {map[string]any{state + "/syncResult/revision": ""}, false},
		"the revision is missing":    {map[string]any{state + "/syncResult/revision": nil}, false},
		"without a result":           {map[string]any{state + "/syncResult": nil}, false},
		"one of several is unknown": {both(severalSources, map[string]any{state + "/syncResult/revisions": []any{"1.4.2", "", commitA}}),
			false},
		"an empty list of revisions": {map[string]any{state + "/syncResult/revisions": []any{}}, true},
	} {
		if got := evaluate(t, n.when, anApplication(t, tc.changes)); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestArgoTriggerOncePer: Argo CD never forgets what it sent, so a value that comes back is not announced.
func TestArgoTriggerOncePer(t *testing.T) {
	n := notificationsOf(t)
	const revision, history = "status/operationState/syncResult/revision", "status/history"
	synced := func(sha string, ids ...int) map[string]any {
		var entries []any
		for _, id := range ids {
			entries = append(entries, map[string]any{"id": id, "revision": sha})
		}
		return map[string]any{revision: sha, history: entries}
	}
	first, second, back := synced(commitA, 0), synced(commitB, 0, 1), synced(commitA, 0, 1, 2)
	seen := map[string]string{}
	for name, changes := range map[string]map[string]any{
		"first": first, "second": second, "rolled back": back, "several sources": severalSources,
		"no history is kept": {history: nil}, "no history is kept, second": {history: nil, revision: commitB},
	} {
		app := anApplication(t, changes)
		value := fmt.Sprint(evaluate(t, n.oncePer, app))
		if other, known := seen[value]; known {
			t.Errorf("%s and %s are both told once per %s", name, other, value)
		}
		seen[value] = name
		app["status"].(map[string]any)["reconciledAt"] = "2026-11-20T13:00:00Z"
		if again := fmt.Sprint(evaluate(t, n.oncePer, app)); again != value {
			t.Errorf("%s: looked at again, it is told once per %s, before per %s", name, again, value)
		}
	}
}

// TestArgoWebhook compares where it goes with the API.
func TestArgoWebhook(t *testing.T) {
	n := notificationsOf(t)
	var api struct{ Paths map[string]map[string]any }
	if err := yaml.Unmarshal(read(t, "../internal/server/api/openapi.yaml"), &api); err != nil {
		t.Fatal(err)
	}
	if api.Paths[n.path]["post"] == nil || n.url != "http://postflight.postflight-system.svc" {
		t.Errorf("it posts to %s%s", n.url, n.path)
	}
	want := map[string]string{"Authorization": "Bearer $postflight-api-key", "Content-Type": "application/json"}
	if diff := cmp.Diff(want, n.headers); diff != "" {
		t.Errorf("the headers (-want +got):\n%s", diff)
	}
}
