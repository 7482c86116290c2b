package hub

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// givesWaitTokens: a job without a key waits with the hub's token, and learns nothing else by it.
func (tm *team) givesWaitTokens() {
	job := tm.withToken("jobs")
	var answer httpapi.NotificationResult
	poll.Until(tm.t, "the hub lets the job in", func() string {
		a := job.try(http.MethodPost, notifyPath, `{"branch":"main","sha":"keyless"}`)
		if a.status != http.StatusOK {
			return a.String()
		}
		answer = decode[httpapi.NotificationResult](tm.t, a)
		return ""
	})
	if len(answer.Results) != 1 || answer.WaitToken == "" {
		tm.t.Fatalf("%+v", answer)
	}
	run, other := answer.Results[0].RunID(), tm.toHub.run("another-job")
	waits := sender{tm.t, tm.toHub.url, answer.WaitToken}
	poll.Until(tm.t, "both sides answer alike", func() string { // the run may begin between the two answers
		byHub, direct := waits.try(http.MethodGet, "/api/v0/ci-greenlight/"+run, ""), tm.direct.try(http.MethodGet, "/api/v0/ci-greenlight/"+run, "")
		if byHub.status != http.StatusOK || byHub.body != direct.body {
			return fmt.Sprintf("the hub answers %v, the cluster %v", byHub, direct)
		}
		return ""
	})
	waits.get("/api/v0/runs/" + run + "/results")
	waits.send(http.StatusNotFound, http.MethodGet, "/api/v0/ci-greenlight/"+other, "")
	waits.send(http.StatusForbidden, http.MethodGet, "/api/v0/runs/"+run+"/logs", "")
	waits.send(http.StatusForbidden, http.MethodPost, "/api/v0/runs/"+run+"/cancel", "")
	waits.send(http.StatusForbidden, http.MethodGet, "/api/v0/verdict?environment=staging&sha=keyless", "")
	if a := (sender{tm.t, tm.direct.url, answer.WaitToken}).try(http.MethodGet, "/api/v0/ci-greenlight/"+run, ""); a.status != http.StatusUnauthorized {
		tm.t.Errorf("the cluster takes the hub's token: %v", a)
	}
}

// withToken sends with the token of a ServiceAccount of the hub that may notify.
func (tm *team) withToken(name string) sender {
	tm.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: tm.meta(name)}
	tm.hub.create(tm.t, account)
	tm.hub.create(tm.t, &rbacv1.RoleBinding{
		ObjectMeta: tm.meta(name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "postflight-notifier"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tm.name, Name: name}},
	})
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"postflight"}}}
	if err := tm.hub.Client.SubResource("token").Create(tm.t.Context(), account, token); err != nil {
		tm.t.Fatal(err)
	}
	return sender{tm.t, tm.toHub.url, token.Status.Token}
}

// namesSenders: the cluster's audit line says which hub asked, and for whom, and has the request id of the hub's.
func (tm *team) namesSenders() {
	const id = "audited-request"
	run := decode[httpapi.NotificationResult](tm.t, tm.toHub.send(http.StatusOK, http.MethodPost, notifyPath,
		`{"branch":"main","sha":"audited"}`, "X-Request-Id", id)).Results[0].CreatedSuiteID
	tm.toHub.send(http.StatusOK, http.MethodPost, "/api/v0/runs/"+run+"/cancel", "", "X-Request-Id", id)
	for _, of := range []string{"deploy_success", "/cancel"} {
		poll.Until(tm.t, "the audit line of "+of, func() string {
			line := lineOf(tm.t, tm.cluster.manager.Log, `"requestID":"`+id, of, `"hub"`)
			for _, want := range []string{`"hub":"` + hubURL + `"`, `"onBehalfOf":"`, tm.name} {
				if !strings.Contains(line, want) {
					return want + " in " + line
				}
			}
			return ""
		})
		if line := lineOf(tm.t, tm.hub.manager.Log, `"requestID":"`+id, of); !strings.Contains(line, `"`+east+`"`) {
			tm.t.Errorf("the hub's audit line does not name the cluster: %s", line)
		}
	}
	for _, log := range []string{tm.hub.manager.Log, tm.cluster.manager.Log} {
		content, err := os.ReadFile(log)
		if err != nil {
			tm.t.Fatal(err)
		}
		for _, secret := range []string{tm.toHub.key, tm.direct.key, "eyJ"} {
			if strings.Contains(string(content), secret) {
				tm.t.Errorf("%s has a secret that begins with %.3s", log, secret)
			}
		}
	}
}

// lineOf returns the last line of a log that has all parts.
func lineOf(t testing.TB, log string, parts ...string) (found string) {
	t.Helper()
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			found = line
		}
	}
	return found
}

// hidesOthers: a run of another team is none, whatever the hub has seen.
func (tm *team) hidesOthers() {
	other := tm.newTeam(tm.t, "smoke")
	run := other.toHub.run("secret")
	other.toHub.get("/api/v0/runs/" + run)
	for _, path := range []string{"/api/v0/ci-greenlight/" + run, "/api/v0/runs/" + run, "/api/v0/runs/" + run + "/logs",
		"/api/v0/runs/" + run + "/results", "/api/v0/runs/" + run + "/failure", "/api/v0/runs/none", "/api/v0/runs/..%2Fsecret"} {
		a := tm.toHub.send(http.StatusNotFound, http.MethodGet, path, "")
		if code := decode[httpapi.Problem](tm.t, a).FailureCode; code != "run_not_found" {
			tm.t.Errorf("%s: %v", path, a)
		}
	}
	for _, command := range []string{"/cancel", "/rerun"} {
		tm.toHub.send(http.StatusNotFound, http.MethodPost, "/api/v0/runs/"+run+command, "")
	}
	if s := other.suites(tm.cluster); len(s) != 1 || s[0].Finished() || s[0].Spec.Cancel {
		tm.t.Errorf("the other team's runs: %+v", s)
	}
}

// refusesLoops: the cluster is a hub itself, and says that the Environment is at this one.
func (tm *team) refusesLoops() {
	loop := tm.newTeam(tm.t, "smoke")
	tm.loops(loop)
	a := loop.toHub.try(http.MethodGet, "/api/v0/environments/"+staging, "")
	poll.Until(tm.t, "the loop is noticed", func() string {
		if a = loop.toHub.try(http.MethodGet, "/api/v0/environments/"+staging, ""); a.status != http.StatusConflict {
			return a.String()
		}
		return ""
	})
	if code := decode[httpapi.Problem](tm.t, a).FailureCode; code != "loop" {
		tm.t.Errorf("the Environment: %v", a)
	}
	for _, s := range []sender{loop.toHub, loop.direct} {
		answer := s.notify(`{"branch":"main","sha":"loop"}`)
		n := len(answer.Results)
		if n == 0 || !strings.Contains(answer.Results[n-1].FailureReason, "A hub sent this request") || answer.Results[n-1].RunID() != "" {
			tm.t.Errorf("a notification to %s: %+v", s.url, answer)
		}
	}
	for _, s := range []*side{tm.hub, tm.cluster} {
		if runs := loop.suites(s); len(runs) > 0 {
			tm.t.Errorf("runs: %+v", runs)
		}
	}
}

// loops lets both sides say that the other one has the Environment, and lets each in at the other.
func (tm *team) loops(loop *team) {
	tm.t.Helper()
	tm.world.name(tm.cluster, "back", tm.hub.manager.URL, v1alpha1.ClusterToken)
	loop.trusts(tm.hub, tm.cluster, v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}, Read: true})
	env := &v1alpha1.Environment{ObjectMeta: loop.meta(staging)}
	loop.update(tm.cluster, env, func() { env.Spec = v1alpha1.EnvironmentSpec{Cluster: "back"} })
}

// metric reads one that has no labels.
func (s *side) metric(t testing.TB, name string) int {
	t.Helper()
	resp, err := http.Get(s.manager.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
