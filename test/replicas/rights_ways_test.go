package replicas

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// usualWays are what makes a manager do everything that it can.
type usualWays struct {
	*team
	r    *replica
	node string
}

func startUsualWays(t *testing.T, s *apiserver.Server, kubeconfig string) *usualWays {
	t.Helper()
	store := stores.Rclone(t)
	stores.Credentials(t)
	store.Bucket(t)
	for name, value := range map[string]string{
		"POSTFLIGHT_STORE_ENDPOINT": store.Address, "POSTFLIGHT_STORE_BUCKET": store.Options().Bucket, "POSTFLIGHT_IMAGE": "none",
	} {
		t.Setenv(name, value)
	}
	t.Setenv("KUBE_FEATURE_WatchListClient", "false") // lists, as API servers before 1.34 need them
	freeLead(t, s)                                    // so that it has to create the Lease
	fake := codehost.GitHub(t)
	w := &usualWays{team: newTeam(t, s), node: s.Node(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a line of a log") })}
	w.grantsToken(fake.Token())
	w.setRepository("smoke", "acme/shop")
	w.tellsOthers()
	w.namesWorkloads()
	w.create(&v1alpha1.Quarantine{ObjectMeta: w.meta("flaky"), Spec: v1alpha1.QuarantineSpec{
		Triggers: []string{"*"}, Tests: []string{"cart"}, Reason: "a status is written", Owner: "rights", Since: "2026-11-01", Until: "2026-12-01",
	}})
	w.create(&v1alpha1.EventSource{ObjectMeta: w.meta("github"), Spec: v1alpha1.EventSourceSpec{ // a status is written, and a Secret is read
		Type: v1alpha1.EventsOfGitHub, Secret: &v1alpha1.SecretKeyReference{Name: "postflight-events", Key: "github"},
	}})
	w.create(&v1alpha1.DeploymentGate{ObjectMeta: w.meta("production"), Spec: v1alpha1.DeploymentGateSpec{ // a status is written
		Source: "github", Environments: v1alpha1.NamePatterns{"production"}, Requires: []v1alpha1.GateRequirement{{Environment: "staging"}},
	}})
	for _, name := range []string{"without-a-gate", "old"} { // a status is written, and the old one is deleted
		review := &v1alpha1.DeploymentReview{ObjectMeta: w.meta(name), Spec: v1alpha1.DeploymentReviewSpec{
			Gate: "lost", Source: "github", HostingService: v1alpha1.GitHub, Repository: "acme/shop", Environment: "live", RunID: 7,
		}}
		w.create(review)
		if name == "old" {
			w.updateStatus(review, func() { review.Status.DeliveredTime = &metav1.Time{Time: time.Now().AddDate(0, 0, -8)} })
		}
	}
	w.create(&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterSpec{ // a status is written
		URL: "https://127.0.0.1:1", Audience: "eu", Credential: v1alpha1.ClusterToken, Teams: []string{"*"},
	}})
	w.create(&v1alpha1.TrustPolicy{ObjectMeta: w.meta("ci"), Spec: v1alpha1.TrustPolicySpec{ // a status is written
		Issuer: "https://gitlab.com", Claims: map[string]v1alpha1.ClaimValues{"project_id": {"1"}}, Allow: v1alpha1.TrustAllow{Read: true},
	}})
	w.r = startReplica(t, kubeconfig, "--metrics-auth=true", "--github-url="+fake.URL)
	w.r.AwaitReady()
	w.awaitKnown([]*replica{w.r})
	return w
}

func (w *usualWays) goAll() {
	w.passes()
	w.isCanceled()
	w.isInTheWay()
	w.endsEphemeral()
	w.signsIn()
	w.scrapes()
}

// passes is a run whose pod is evicted in the end, so that it is an Error, and that is run again and passes.
func (w *usualWays) passes() {
	id := w.started(w.r, goodCommit)
	p := w.runsOn(id)
	w.create(&eventsv1.Event{
		ObjectMeta: w.meta("evicted"), EventTime: metav1.NowMicro(), Reason: "Evicted", Action: "Evicting", Type: corev1.EventTypeWarning,
		ReportingController: "kubelet", ReportingInstance: w.node,
		Regarding: corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: w.namespace, Name: p.Name, UID: p.UID},
	})
	w.complete(id)
	w.awaitState(id, v1alpha1.ReasonError)
	poll.True(w.t, "the end is known, so that it can run again", func() bool {
		return w.call(http.MethodPost, w.r.URL+"/api/v0/runs/"+id+"/rerun", "", nil) == http.StatusCreated
	})
}

// isCanceled is a run that is canceled with a pod, and one without, whose Job exists for long enough to be explained.
func (w *usualWays) isCanceled() {
	running, waiting := w.started(w.r, "running"), w.started(w.r, "waiting")
	w.runsOn(running)
	for _, id := range []string{running, waiting} {
		if status := w.call(http.MethodPost, w.r.URL+"/api/v0/runs/"+id+"/cancel", "", nil); status != http.StatusOK {
			w.t.Errorf("cancel: status %d", status)
		}
	}
}

// tellsOthers names Secrets of all kinds, which do not exist.
func (w *usualWays) tellsOthers() {
	secret := func(name string) v1alpha1.SecretReference {
		return v1alpha1.SecretReference{Name: "postflight-" + name}
	}
	chatty := w.trigger("chatty")
	chatty.Spec.Match.Branches = []string{"none"} // its run is made by hand
	chatty.Spec.Notify = &v1alpha1.Notify{Slack: v1alpha1.SlackNotify{SecretRef: secret("slack")}}
	chatty.Spec.Repository = &v1alpha1.Repository{
		Name: "acme/shop", HostingService: v1alpha1.GitLab, Credentials: &v1alpha1.RepositoryCredentials{SecretRef: secret("gitlab")},
	}
	w.create(chatty)
	owner := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.update(owner, func() {
		owner.Spec.Webhooks = []v1alpha1.Webhook{{Name: "hook", URL: "https://hook.example.com", SecretRef: secret("webhook")}}
	})
}

// namesWorkloads gives the Environment one of each kind that the shipped role lets the manager read. None of them exists.
func (w *usualWays) namesWorkloads() {
	w.binds("postflight-workloads-reader")
	e := &v1alpha1.Environment{ObjectMeta: w.meta("staging")}
	w.update(e, func() {
		for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
			e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{Kind: kind, Name: "web", Repository: "acme/shop"})
		}
	})
}

// isInTheWay is a Job of somebody else with the name of a run, which ends and is deleted.
func (w *usualWays) isInTheWay() {
	trigger := w.trigger("chatty")
	w.get(trigger)
	s := rawSuite(trigger, nextCommit)
	s.Spec.TTLAfterFinished = &metav1.Duration{Duration: time.Second}
	w.create(&batchv1.Job{ObjectMeta: w.meta(s.Name), Spec: trigger.Spec.JobTemplate.Spec})
	w.create(s)
}

func (w *usualWays) endsEphemeral() {
	const url = "https://pr-7.example.com"
	body := `{"sha":"pr","ephemeral_environment":true,"deployment_url":"` + url + `"}`
	if a, err := notify(w.t.Context(), w.r.URL, w.key, body); err != nil || len(a.Results) != 1 || a.Results[0].Created == "" {
		w.t.Fatalf("%v: %+v", err, a)
	}
	poll.True(w.t, "the Environment is known", func() bool {
		return w.call(http.MethodPost, w.r.URL+"/api/webhooks/environment_terminated", `{"deploymentUrl":"`+url+`"}`, nil) == http.StatusOK
	})
}

// signsIn makes the manager seal a cookie.
func (w *usualWays) signsIn() {
	(&pageReader{t: w.t.(*testing.T), tm: w.team}).signIn(w.r)
}

// scrapes asks for the metrics with a token, which the API server has to check.
func (w *usualWays) scrapes() {
	token := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: w.meta("prometheus")}
	w.create(account)
	if err := w.s.Client.SubResource("token").Create(w.t.Context(), account, token); err != nil {
		w.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, strings.Replace(w.r.Metrics, "http:", "https:", 1)+"/metrics", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token.Status.Token)
	scraper := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := scraper.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
}

// runsOn acts as the Job controller and the kubelet do when the pod of a run starts.
func (w *usualWays) runsOn(run string) *corev1.Pod {
	w.t.Helper()
	j := &batchv1.Job{ObjectMeta: w.meta(run)}
	w.get(j)
	p := fakecluster.NewPod(j, w.node)
	w.create(p)
	w.updateStatus(p, func() { fakecluster.RunPod(p, time.Now()) })
	w.updateStatus(j, func() { fakecluster.StartJob(j); fakecluster.ReadyJob(j) })
	w.awaitState(run, v1alpha1.ReasonRunning)
	return p
}
