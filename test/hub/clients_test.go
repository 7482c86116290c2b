package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/published"
)

// TestClients: the clients of the hosted service, and curl, work with the hub as with the cluster.
func TestClients(t *testing.T) {
	w := newWorld(t, withStore(t))
	tm := w.newTeam(t, "smoke")
	t.Run("the published client", func(t *testing.T) { tm.in(t).publishedClient(t) })
	t.Run("the GitHub Action", func(t *testing.T) { tm.in(t).sendsAs(gitHubAction) })
	t.Run("the fastlane plugin", func(t *testing.T) { tm.in(t).sendsAs(fastlane) })
	t.Run("reportStatus", func(t *testing.T) { tm.in(t).reportsStatus() })
	t.Run("curl", func(t *testing.T) { tm.in(t).curls(t) })
	t.Run("uploads", func(t *testing.T) { tm.in(t).uploads() })
}

// publishedClient uploads, notifies and polls with @qawolf/ci-sdk.
func (tm *team) publishedClient(t *testing.T) {
	const folder = "npm-hub"
	notify, wait, upload := published.Script(t, folder, "notify.mjs"), published.Script(t, folder, "poll.mjs"), published.Script(t, folder, "upload.mjs")
	base := map[string]any{"apiKey": tm.toHub.key, "serviceBase": tm.toHub.url + "/"}
	with := func(name string, value any) map[string]any {
		return map[string]any{"apiKey": base["apiKey"], "serviceBase": base["serviceBase"], name: value}
	}
	file := filepath.Join(t.TempDir(), "app.apk")
	if err := os.WriteFile(file, []byte("an app"), 0o600); err != nil {
		t.Fatal(err)
	}
	uploading := with("file", file)
	uploading["destination"] = "builds/größe 100%/a+b.apk"
	if got := upload(uploading); got["success"] != true || got["putStatus"] != 200.0 || got["fileLocation"] != tm.name+"/builds/größe 100%/a+b.apk" {
		t.Errorf("the upload: %v", got)
	}
	status := notify(with("deployment", map[string]any{"branch": "main", "sha": "npm"}))
	run, _ := status["runId"].(string)
	if status["outcome"] != "success" || run != tm.runOf("npm") {
		t.Fatalf("the notification: %v", status)
	}
	tm.begins(run, tm.cluster.Node(t, printsLine))
	tm.ends(run, history.Passed)
	if got := wait(with("poll", map[string]any{"runId": run})); got["outcome"] != "success" {
		t.Errorf("the poll: %v", got)
	}
	failed := with("deployment", map[string]any{"branch": "main", "variables": map[string]string{"LD_PRELOAD": "/evil.so"}})
	if got := notify(failed); got["outcome"] != "failed" || got["failReason"] != "run-could-not-be-created" {
		t.Errorf("a run that cannot be created: %v", got)
	}
	wrong := with("deployment", map[string]any{"branch": "main"})
	wrong["apiKey"] = tm.direct.key // of the cluster, which the hub does not know
	if got := notify(wrong); got["outcome"] != "aborted" || got["abortReason"] != "401-unauthorized" {
		t.Errorf("a key of the cluster: %v", got)
	}
	tm.between.closed.Store(true)
	defer tm.between.closed.Store(false)
	if got := wait(with("poll", map[string]any{"runId": run, "maxRetries": 0})); got["outcome"] == "success" {
		t.Errorf("the poll while the cluster does not answer: %v", got)
	}
}

// Bodies as clients send them, with %q for the commit.
const (
	gitHubAction = `{"branch":"main","commit_url":"https://github.com/acme/shop/commit/1","deployment_type":"web","deployment_url":"https://shop.example.com",
		"hosting_service":"GitHub","pull_request_number":7,"repository":{"owner":"acme","name":"shop"},"sha":%q,"variables":{"A":"b"}}`
	fastlane = `{"branch":"main","commit_url":null,"deduplication_key":null,"deployment_type":null,"deployment_url":null,"hosting_service":null,
		"sha":%q,"variables":null}`
)

// sendsAs needs what a client of the Action needs: the member environment, no null, and greenlight at a base URL that ends in a slash.
func (tm *team) sendsAs(body string) {
	sum := fmt.Sprintf("%x", len(body))
	a := tm.toHub.send(http.StatusOK, http.MethodPost, "/"+notifyPath, fmt.Sprintf(body, "action-"+sum))
	answer := decode[struct {
		Results     []map[string]string // none is null
		Environment *httpapi.Environment
	}](tm.t, a)
	if len(answer.Results) != 1 || len(answer.Results[0]) != 2 || answer.Results[0]["created_suite_id"] != tm.runOf("action-"+sum) ||
		answer.Environment == nil || answer.Environment.ID == "" || answer.Environment.Alias != staging || !answer.Environment.IsStatic {
		tm.t.Errorf("%v", a)
	}
	g := decode[httpapi.Greenlight](tm.t, tm.toHub.get("//api/v0/ci-greenlight/"+answer.Results[0]["created_suite_id"]))
	if g.RunStage != httpapi.Initializing || g.RootRunID != answer.Results[0]["created_suite_id"] {
		tm.t.Errorf("%+v", g)
	}
	refused := decode[httpapi.Problem](tm.t, tm.toHub.send(http.StatusBadRequest, http.MethodPost, notifyPath, `{"deployment_url":"not a url"}`))
	if refused.EventID == "" || refused.FailureMessage == "" {
		tm.t.Errorf("%+v", refused)
	}
}

// reportsStatus is the call of the vendor's newer clients. Reports with one id are one deployment.
func (tm *team) reportsStatus() {
	const report = `{"json":{"providerDeploymentId":"deployment-1","status":"success","deployTarget":"https://trpc.example.com",
		"metadata":{"commitSha":"trpc","ref":"main"}}}`
	for _, member := range []string{"created_suite_id", "duplicate_suite_id"} {
		a := tm.toHub.send(http.StatusOK, http.MethodPost, "/api/trpc/public.deployment.reportStatus", report)
		if want := fmt.Sprintf("%q:%q", member, tm.runOf("trpc")); !strings.Contains(a.body, want) {
			tm.t.Errorf("want %s, got %v", want, a)
		}
	}
}

// curls is what docs/api.md shows: a notification, and a wait.
func (tm *team) curls(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl")
	}
	curl := func(args ...string) []byte {
		t.Helper()
		out, err := exec.Command("curl", append([]string{"--fail-with-body", "--silent", "--show-error",
			"-H", "Authorization: Bearer " + tm.toHub.key}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("curl: %v\n%s", err, out)
		}
		return out
	}
	var answer httpapi.NotificationResult
	if err := json.Unmarshal(curl("-H", "Content-Type: application/json", "-d", `{"branch":"main","sha":"curl"}`, tm.toHub.url+notifyPath), &answer); err != nil {
		t.Fatal(err)
	}
	run := answer.Results[0].CreatedSuiteID
	tm.begins(run, tm.cluster.Node(t, printsLine))
	waits := make(chan []byte, 1)
	go func() { waits <- curl(tm.toHub.url + "/api/v0/ci-greenlight/" + run + "?wait=50") }()
	tm.ends(run, history.Passed)
	var g httpapi.Greenlight
	if err := json.Unmarshal(<-waits, &g); err != nil || !g.Greenlight {
		t.Errorf("%+v, %v", g, err)
	}
}

// uploads: the hub returns a URL of the cluster's store if that is where the run will be, and asks for the Environment otherwise.
func (tm *team) uploads() {
	const path = "/api/v0/run-inputs-executables-signed-urls?file=app.apk"
	signed := decode[httpapi.SignedURL](tm.t, tm.toHub.get(path))
	tm.puts(signed)
	tm.puts(decode[httpapi.SignedURL](tm.t, tm.toHub.get("/api/v0/team-storage-signed-url?file=data.json")))
	inputs := decode[httpapi.NotificationResult](tm.t, tm.toHub.send(http.StatusOK, http.MethodPost, notifyPath,
		`{"branch":"main","sha":"uploaded","variables":{"RUN_INPUT_PATH":"`+signed.FileLocation+`"}}`))
	if len(inputs.Results) != 1 || inputs.Results[0].CreatedSuiteID == "" {
		tm.t.Errorf("%+v", inputs)
	}
	local := tm.environment("local", v1alpha1.EnvironmentSpec{URL: "https://local.example.com"})
	tm.hub.create(tm.t, local)
	defer func() { _ = tm.hub.Client.Delete(cleanup(), local) }()
	poll.Until(tm.t, "the hub knows the Environment", func() string {
		if a := tm.toHub.try(http.MethodGet, path, ""); a.status != http.StatusBadRequest || !strings.Contains(a.body, "environment=NAME") {
			return a.String()
		}
		return ""
	})
	tm.puts(decode[httpapi.SignedURL](tm.t, tm.toHub.get(path+"&environment="+staging)))
	tm.toHub.send(http.StatusServiceUnavailable, http.MethodGet, path+"&environment=local", "") // the hub has no store
}

func (tm *team) puts(signed httpapi.SignedURL) {
	tm.t.Helper()
	u, err := url.Parse(signed.SignedURL)
	if err != nil || !strings.Contains(u.Path, tm.name) {
		tm.t.Fatalf("%+v: %v", signed, err)
	}
	r, err := http.NewRequestWithContext(tm.t.Context(), http.MethodPut, signed.SignedURL, bytes.NewReader([]byte("content")))
	if err != nil {
		tm.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	resp, err := httpClient.Do(r)
	if err != nil {
		tm.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		tm.t.Errorf("PUT: %s", resp.Status)
	}
}
