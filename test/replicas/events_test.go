package replicas

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	ofTheApp  = "the secret of the App of the installation"
	ofTheTeam = "the secret of the webhook of a repository"
)

// TestEvents: two replicas get each event of GitHub many times at once. A deployment starts one run, the re-run button one more attempt,
// and what the manager posts itself nothing.
func TestEvents(t *testing.T) {
	s := apiserver.Alone(t)
	kubeconfig := newProxy(t, s.Manager(t)).kubeconfig()
	tm, fake, folder := newTeam(t, s), codehost.GitHub(t), t.TempDir()
	startCluster(t, s)
	systemNamespace(t, s)
	freeLead(t, s)
	for name, content := range map[string][]byte{"key.pem": codehost.AppKey(), "webhook": []byte(ofTheApp + "\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tm.wantsEvents()
	var all []*replica
	for range 2 {
		all = append(all, startReplica(t, kubeconfig, "--github-url="+fake.URL, fmt.Sprintf("--github-app-id=%d", codehost.AppID),
			"--github-app-key-file="+filepath.Join(folder, "key.pem"), "--github-webhook-secret-file="+filepath.Join(folder, "webhook")))
	}
	for _, r := range all {
		r.AwaitReady()
	}
	tm.awaitKnown(all)
	tm.awaitSources(all)
	// GitHub says when something was deployed in whole seconds: what was notified in the same one would count as later.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))

	var first string
	for _, path := range []string{"/api/events/github", "/api/events/" + tm.namespace + "/repository"} {
		for _, got := range tm.deliver(all, path, codehost.DeploymentEvent(tm.repository(), goodCommit, "staging", 1)) {
			if len(got.Results) != 1 || first != "" && got.Results[0].RunID() != first {
				t.Fatalf("%s: %+v, want one run, %s", path, got, first)
			}
			first = got.Results[0].RunID()
		}
	}
	tm.awaitState(first, v1alpha1.ReasonRunning)
	tm.complete(first)
	tm.awaitState(first, v1alpha1.ReasonPassed)

	poll.True(t, "GitHub shows the success of the check and the deployment", func() bool {
		states := fake.States(goodCommit)
		return slices.Contains(states, "success") && strings.Contains(fmt.Sprintf("%s", fake.PostedDeployments(codehost.AppID)), `"state":"success"`)
	})
	for _, e := range fake.PostedDeployments(codehost.AppID) {
		for _, got := range tm.deliver(all, "/api/events/github", e) {
			if got.Ignored == "" || len(got.Results) > 0 {
				t.Errorf("an own post: %+v", got)
			}
		}
	}
	if n := len(tm.suites()); n != 1 {
		t.Errorf("%d Suites, want one", n)
	}

	poll.True(t, "the leader looks for deliveries that failed", func() bool { return slices.Contains(fake.Requests(), "GET /app/hook/deliveries") })

	next := ""
	for _, e := range fake.Rerequests(goodCommit) {
		for _, got := range tm.deliver(all, "/api/events/github", e) {
			if len(got.Repeats) != 1 || got.Repeats[0].RunID != first || got.Repeats[0].NextRunID == "" || next != "" && got.Repeats[0].NextRunID != next {
				t.Fatalf("the re-run button: %+v, want the next attempt of %s, %s", got, first, next)
			}
			next = got.Repeats[0].NextRunID
		}
	}
	again := &v1alpha1.Suite{ObjectMeta: tm.meta(next)}
	tm.get(again)
	if len(tm.suites()) != 2 || again.Spec.Attempt != 2 || again.Annotations[v1alpha1.AnnotationRerunBy] != "GitHub: ann-lee" {
		t.Errorf("%d Suites, and attempt %d by %q", len(tm.suites()), again.Spec.Attempt, again.Annotations[v1alpha1.AnnotationRerunBy])
	}
}

// repository is one for each test: events of the App are for all teams of the server that list it.
func (tm *team) repository() string { return "acme/" + tm.namespace }

// wantsEvents lets the App of the manager, and a webhook with a secret of the team, send events.
func (tm *team) wantsEvents() {
	tm.t.Helper()
	owner := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}}
	tm.update(owner, func() { owner.Spec.Repositories = []string{tm.repository()} })
	smoke := &v1alpha1.Trigger{ObjectMeta: tm.meta("smoke")}
	tm.update(smoke, func() { smoke.Spec.Repository = &v1alpha1.Repository{Name: tm.repository(), Deployments: true} })
	tm.create(&corev1.Secret{ObjectMeta: tm.meta("postflight-events"), Data: map[string][]byte{"github": []byte(ofTheTeam)}})
	tm.binds("postflight-credentials-reader")
	tm.create(&v1alpha1.EventSource{ObjectMeta: tm.meta("app"), Spec: v1alpha1.EventSourceSpec{Type: v1alpha1.EventsOfGitHub}})
	tm.create(&v1alpha1.EventSource{ObjectMeta: tm.meta("repository"), Spec: v1alpha1.EventSourceSpec{
		Type: v1alpha1.EventsOfGitHub, Secret: &v1alpha1.SecretKeyReference{Name: "postflight-events", Key: "github"},
	}})
}

// awaitSources waits until both sources are Ready, and each replica knows them.
func (tm *team) awaitSources(all []*replica) {
	tm.t.Helper()
	for name, url := range map[string]string{"app": "/api/events/github", "repository": "/api/events/" + tm.namespace + "/repository"} {
		source := &v1alpha1.EventSource{ObjectMeta: tm.meta(name)}
		poll.Until(tm.t, "the EventSource "+name+" is Ready", func() string {
			if tm.get(source); !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionReady) || source.Status.URL != url {
				return fmt.Sprintf("%+v", source.Status)
			}
			return ""
		})
		for i, r := range all {
			event := codehost.DeploymentEvent(tm.repository(), fmt.Sprintf("warm-up-%d", i), "staging", 1)
			poll.Until(tm.t, "a replica takes events at "+url, func() string {
				status, got := tm.send(r, url, event)
				if status != 200 || len(got.Results) != 1 {
					return fmt.Sprintf("%d %+v", status, got)
				}
				return ""
			})
		}
		poll.True(tm.t, "the last event is remembered", func() bool { tm.get(source); return source.Status.LastEventTime != nil })
	}
	for _, s := range tm.suites() {
		tm.remove(&s)
	}
}

// deliver sends an event ten times to each replica, at once.
func (tm *team) deliver(all []*replica, path string, e codehost.Event) []httpapi.EventResult {
	tm.t.Helper()
	var wait sync.WaitGroup
	got := make([]httpapi.EventResult, 10*len(all))
	for i := range got {
		wait.Go(func() {
			status := 0
			if status, got[i] = tm.send(all[i%len(all)], path, e); status != 200 {
				tm.t.Errorf("%s: %d", path, status)
			}
		})
	}
	wait.Wait()
	return got
}

func (tm *team) send(r *replica, path string, e codehost.Event) (status int, got httpapi.EventResult) {
	secret := ofTheApp
	if path != "/api/events/github" {
		secret = ofTheTeam
	}
	request, err := e.Deliver(r.URL+path, secret)
	if err != nil {
		tm.t.Error(err)
		return 0, got
	}
	answer, err := client.Do(request.WithContext(tm.t.Context()))
	if err != nil {
		tm.t.Error(err)
		return 0, got
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == 200 {
		err = json.Unmarshal(body, &got)
	}
	if err != nil {
		tm.t.Errorf("%v: %s", err, body)
	}
	return answer.StatusCode, got
}
