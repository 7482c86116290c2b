package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

// TestClocksAnHourApart: a notification that a replica with a wrong clock receives, and a later one of
// another replica, are stored in this order, with times that the API server agrees with.
func TestClocksAnHourApart(t *testing.T) {
	s := apiserver.Alone(t)
	config := apiserver.Kubeconfig(t, s.Manager(t))
	honest := startManager(t, config, 0, leads)
	most := 2 * time.Second // between a notification and its Suite
	if tier.Gate() {
		most = 30 * time.Minute // as on a machine that has no time for a manager
	}
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := newTenant(t, s)
			wrong := startManager(t, config, ahead, answers)
			wrong.knows(t, ahead)
			honest.knows(t, 0)
			first := tm.deploy(t, wrong.url, "first")
			time.Sleep(2100 * time.Millisecond) // each replica may be wrong by a second
			second := tm.deploy(t, honest.url, "second")
			for _, suite := range []*v1alpha1.Suite{first, second} {
				if miss := suite.Spec.ReceivedAt.Sub(suite.CreationTimestamp.Time).Abs(); miss >= most {
					t.Errorf("%s was received at %s and created at %s", suite.Spec.Deployment.SHA, suite.Spec.ReceivedAt, suite.CreationTimestamp)
				}
			}
			if !first.Spec.ReceivedAt.Time.Before(second.Spec.ReceivedAt.Time) {
				t.Errorf("the first notification was received at %s, the second at %s", first.Spec.ReceivedAt, second.Spec.ReceivedAt)
			}
			poll.True(t, "the older one is superseded", func() bool {
				return tm.state(t, first) == v1alpha1.ReasonSuperseded && tm.hasJob(t, second)
			})
		})
	}
}

// TestLeaderAnHourAhead decides by the API server's clock: a run whose Trigger may only be late is not ended at
// once.
func TestLeaderAnHourAhead(t *testing.T) {
	s := apiserver.Alone(t)
	startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), time.Hour, leads)
	tm := newTenant(t, s)
	early := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: "early"},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "late"}, Environment: "staging"}}
	if err := s.Client.Create(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the run is reconciled", func() bool { return tm.state(t, early) != "" })
	if got := tm.state(t, early); got != v1alpha1.ReasonQueued {
		t.Errorf("the run is %s, want it to wait for its Trigger", got)
	}
}

// aManager runs in this process.
type aManager struct{ url, metrics string }

const leads, answers = true, false // what a replica does

func startManager(t *testing.T, kubeconfig string, ahead time.Duration, leads bool, change ...func(*options)) *aManager {
	t.Helper()
	return startManagerBy(t, kubeconfig, newWrongClock(ahead), leads, change...)
}

func startManagerBy(t *testing.T, kubeconfig string, machine clock.PassiveClock, leads bool, change ...func(*options)) *aManager {
	t.Helper()
	return startManagerIn(t, kubeconfig, surroundings{clock: machine, metrics: prometheus.NewRegistry()}, leads, change...)
}

func startManagerIn(t *testing.T, kubeconfig string, env surroundings, leads bool, change ...func(*options)) *aManager {
	t.Helper()
	o := options{
		signIn:     &signin.Source{},
		kubeconfig: kubeconfig, bindAddress: freeport.Address(t), metricsAddress: freeport.Address(t), probeAddress: freeport.Address(t),
		leader: leaderOptions{namespace: "default", elect: !leads, lease: defaultLease}, holdBudget: 45 * time.Second,
	}
	for _, c := range change {
		c(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- runIn(ctx, o, env)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("a manager ended: %v", err)
		}
	})
	poll.True(t, "a manager is ready", func() bool {
		resp, err := http.Get("http://" + o.probeAddress + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return &aManager{url: "http://" + o.bindAddress, metrics: "http://" + o.metricsAddress + "/metrics"}
}

// knows waits until the replica knows to a second how far its clock is ahead: each answer of the API server tells it more.
func (m *aManager) knows(t *testing.T, ahead time.Duration) {
	t.Helper()
	poll.Until(t, "postflight_clock_offset_seconds is "+ahead.String(), func() string {
		if got := m.offset(t); (got - ahead).Abs() > time.Second {
			return got.String()
		}
		return ""
	})
}

func (m *aManager) offset(t *testing.T) time.Duration {
	t.Helper()
	resp, err := http.Get(m.metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, "postflight_clock_offset_seconds "); ok {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return time.Duration(seconds * float64(time.Second))
		}
	}
	t.Fatal("there is no postflight_clock_offset_seconds")
	return 0
}

// tenant is a team with a key and a Trigger that wants everything.
type tenant struct {
	s         *apiserver.Server
	namespace string
}

func newTenant(t *testing.T, s *apiserver.Server) *tenant {
	t.Helper()
	ns := s.Namespace(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	sum := sha256.Sum256([]byte("pf_" + ns))
	for _, o := range []client.Object{
		&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: ns}},
		&v1alpha1.APIKey{ObjectMeta: meta("ci"), Spec: v1alpha1.APIKeySpec{SHA256: hex.EncodeToString(sum[:])}},
		&v1alpha1.Environment{ObjectMeta: meta("staging"), Spec: v1alpha1.EnvironmentSpec{URL: "https://staging.example.com"}},
		&v1alpha1.Trigger{ObjectMeta: meta("smoke"), Spec: v1alpha1.TriggerSpec{
			Environment: "staging",
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "test", Image: "example.com/test"}},
			}}}},
		}},
	} {
		if err := s.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return &tenant{s: s, namespace: ns}
}

// deploy sends a notification, until the replica knows the tenant, and returns its Suite.
func (tn *tenant) deploy(t *testing.T, url, sha string) *v1alpha1.Suite {
	t.Helper()
	var id string
	poll.True(t, "the tenant is known", func() bool {
		id = tn.notify(t, url, sha)
		return id != ""
	})
	suite := &v1alpha1.Suite{}
	if err := tn.s.Client.Get(t.Context(), client.ObjectKey{Namespace: tn.namespace, Name: id}, suite); err != nil {
		t.Fatal(err)
	}
	return suite
}

func (tn *tenant) notify(t *testing.T, url, sha string) string {
	t.Helper()
	body := fmt.Sprintf(`{"branch":"main","sha":%q}`, sha)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/webhooks/deploy_success", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer pf_"+tn.namespace)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var reply struct {
		Results []struct {
			Created string `json:"created_suite_id"`
		} `json:"results"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	if len(reply.Results) == 0 {
		return ""
	}
	return reply.Results[0].Created
}

func (tn *tenant) hasJob(t *testing.T, s *v1alpha1.Suite) bool {
	t.Helper()
	err := tn.s.Client.Get(t.Context(), client.ObjectKeyFromObject(s), &batchv1.Job{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

func (tn *tenant) state(t *testing.T, s *v1alpha1.Suite) string {
	t.Helper()
	now := &v1alpha1.Suite{}
	if err := tn.s.Client.Get(t.Context(), client.ObjectKeyFromObject(s), now); err != nil {
		t.Fatal(err)
	}
	return now.State()
}
