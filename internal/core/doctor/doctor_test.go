package doctor

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/doctor/reach"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

func deployment(image string, wanted, ready int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "postflight-system", Name: "postflight-manager"}}
	d.Spec.Replicas, d.Status.ReadyReplicas = &wanted, ready
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: image, Args: []string{"--drain-delay=5s"}}}
	return d
}

func pod(name string, status corev1.PodStatus) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: status}
}

func waiting(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

func lease(holder string, renewed time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, RenewTime: new(metav1.NewMicroTime(noon.Add(-renewed))), LeaseDurationSeconds: new(int32(60)),
	}}
}

func team(reason string, status metav1.ConditionStatus) v1alpha1.Team {
	t := v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	if reason != "" {
		t.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "The namespace is missing."}}
	}
	return t
}

func key(change func(*v1alpha1.APIKey)) v1alpha1.APIKey {
	k := v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}}
	change(&k)
	return k
}

func expires(in time.Duration) func(*v1alpha1.APIKey) {
	return func(k *v1alpha1.APIKey) { k.Spec.ExpiresAt = new(metav1.NewTime(noon.Add(in))) }
}

func run(created time.Duration, conditions ...metav1.Condition) v1alpha1.Suite {
	s := v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke-1", CreationTimestamp: ago(created)}}
	s.Status.Conditions = conditions
	return s
}

// TestTwoTeamsNeedNoKey: more keys do not help while two Teams claim the namespace.
func TestTwoTeamsNeedNoKey(t *testing.T) {
	for _, f := range Teams([]v1alpha1.Team{team("NamespaceClaimedTwice", metav1.ConditionFalse)}, nil, nil, noon) {
		if strings.Contains(f.Message+f.Advice, "key") {
			t.Errorf("%+v", f)
		}
	}
}

// TestFindings: each thing that breaks is found, and what works is not.
func TestFindings(t *testing.T) {
	const day = 24 * time.Hour
	working := key(func(*v1alpha1.APIKey) {})
	teams := func(keys ...v1alpha1.APIKey) []Finding {
		return Teams([]v1alpha1.Team{team("Active", metav1.ConditionTrue)}, keys, nil, noon)
	}
	withTrigger := func(namespace string, keys ...v1alpha1.APIKey) []Finding {
		triggers := []v1alpha1.Trigger{{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "smoke"}}}
		return Teams([]v1alpha1.Team{team("Active", metav1.ConditionTrue)}, keys, triggers, noon)
	}
	cases := map[string]struct {
		found []Finding
		level Level
		says  string
	}{
		"replicas are ready":       {Manager(deployment("p/p:1", 2, 2), nil, "devel"), OK, "2 of 2 replicas are ready."},
		"one replica is not ready": {Manager(deployment("p/p:1", 2, 1), []corev1.Pod{pod("a", waiting("ImagePullBackOff", "no such tag"))}, "devel"), Warning, "The pod a: ImagePullBackOff: no such tag."},
		"no replica is ready":      {Manager(deployment("p/p:1", 2, 0), nil, "devel"), Failure, "0 of 2 replicas are ready. There are no pods."},
		"it is scaled to zero":     {Manager(deployment("p/p:1", 0, 0), nil, "devel"), Failure, "0 of 0 replicas"},
		"a version that differs":   {Manager(deployment("r.example.com:5000/p:v1.2.3", 1, 1), nil, "v1.3.0"), Warning, "The manager is version v1.2.3, and this command line is v1.3.0."},
		"the same version":         {Manager(deployment("r.example.com:5000/p:1.2.3@sha256:ab", 1, 1), nil, "v1.2.3"), OK, "1 of 1"},
		"a pod ran out of memory": {Manager(deployment("p/p:1", 1, 1), []corev1.Pod{pod("a", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", FinishedAt: ago(0)}},
		}}})}, ""), Warning, "The pod a has run out of memory, last at 2026-11-20 12:00 UTC."},

		"a leader":                  {[]Finding{Leader(lease("a", time.Second), []corev1.Pod{pod("a", corev1.PodStatus{})}, noon)}, OK, "a leads"},
		"no Lease":                  {[]Finding{Leader(nil, nil, noon)}, Failure, "The Lease postflight is missing."},
		"a Lease that nobody holds": {[]Finding{Leader(&coordinationv1.Lease{}, nil, noon)}, Failure, "nobody holds the Lease"},
		"a leader that is gone":     {[]Finding{Leader(lease("a", time.Hour), nil, noon)}, Failure, "a renewed the Lease 1h ago, and it lasts 1m."},
		"a leader from elsewhere":   {[]Finding{Leader(lease("laptop", time.Second), nil, noon)}, Warning, "laptop leads, which is no pod"},

		"no team":                                           {Teams(nil, nil, nil, noon), Warning, "There is no Team"},
		"a team with a key":                                 {teams(working), OK, "All 1 are ready, and have a key."},
		"a team without a key":                              {teams(), Warning, "The Team acme has no key that works"},
		"a team with an expired key":                        {teams(key(expires(-day))), Warning, "has no key that works"},
		"a team with a suspended key":                       {teams(key(func(k *v1alpha1.APIKey) { k.Spec.Suspended, k.Spec.SHA256 = true, strings.Repeat("a", 64) })), Warning, "has no key that works"},
		"a team that needs no key":                          {teams(key(func(k *v1alpha1.APIKey) { k.Spec.Suspended, k.Spec.SHA256 = true, strings.Repeat("0", 64) })), OK, "These have no key, so their senders need tokens of their own: acme."},
		"a team with a Trigger and no key":                  {withTrigger("acme"), OK, "These have no key, so their senders need tokens of their own: acme."},
		"a team with a Trigger and a key":                   {withTrigger("acme", working), OK, "and have a key."},
		"a team with a Trigger and an expired key":          {withTrigger("acme", key(expires(-day))), Warning, "has no key that works"},
		"a team without a key, beside a Trigger of another": {withTrigger("other"), Warning, "has no key that works"},
		"a team without a namespace":                        {Teams([]v1alpha1.Team{team("NamespaceMissing", metav1.ConditionFalse)}, []v1alpha1.APIKey{working}, nil, noon), Failure, "is not ready: The namespace is missing."},
		"a team that nobody has seen":                       {Teams([]v1alpha1.Team{team("", "")}, []v1alpha1.APIKey{working}, nil, noon), Warning, "has not seen the Team acme"},

		"a key that does not expire": {Keys([]v1alpha1.APIKey{working}, noon), OK, "None of 1"},
		"a key that expires soon":    {Keys([]v1alpha1.APIKey{key(expires(2 * day))}, noon), Warning, "acme/ci expires in 48h."},
		"a key that has expired":     {Keys([]v1alpha1.APIKey{key(expires(-3 * time.Minute))}, noon), Warning, "acme/ci expired 3 minutes ago."},
		"a key that is refused": {Keys([]v1alpha1.APIKey{key(func(k *v1alpha1.APIKey) {
			k.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "No Team."}}
		})}, noon), Warning, "acme/ci is refused: No Team."},
		"a Trigger that does not work": {Triggers([]v1alpha1.Trigger{{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke"}, Status: v1alpha1.TriggerStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "Bad glob."}},
		}}}), Warning, "acme/smoke does not work: Bad glob."},
		"a Trigger that works, but": {Triggers([]v1alpha1.Trigger{{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke"}, Status: v1alpha1.TriggerStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWarning, Message: "It also runs."}},
		}}}), Warning, "The Trigger acme/smoke may not do what you want: It also runs."},
		"an Environment whose workloads are not known": {Environments([]v1alpha1.Environment{{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging"}, Status: v1alpha1.EnvironmentStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "There is no Deployment shop in namespace acme."}},
		}}}, nil), Warning, "The workloads of the Environment acme/staging are not known: There is no Deployment shop in namespace acme."},
		"Environments without workloads": {Environments(make([]v1alpha1.Environment, 2), nil), OK, "All 2 work."},
		"an Environment in a Cluster":    {Environments(inCluster("eu"), []v1alpha1.Cluster{{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}}), OK, "All 1 work."},
		"an Environment in no Cluster": {Environments(inCluster("us"), []v1alpha1.Cluster{{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}}), Warning,
			"The Environment acme/prod is in the Cluster us, which does not exist"},
		"a schedule that started no run": {Triggers([]v1alpha1.Trigger{{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke"}, Status: v1alpha1.TriggerStatus{
			Schedule: &v1alpha1.ScheduleStatus{Message: "Nothing is deployed."},
		}}}), Warning, "The schedule of the Trigger acme/smoke did not start all runs the last time: Nothing is deployed."},
		"no Trigger": {Triggers(nil), OK, "All 0 work."},

		"runs go on": {Queue([]v1alpha1.Suite{run(time.Minute, v1alpha1.Running("")), run(time.Minute, v1alpha1.Queued("")), run(day, v1alpha1.Passed(""))}, noon), OK,
			"Runs that have not ended: 2; queued of these: 1."},
		"a run waits for long":       {Queue([]v1alpha1.Suite{run(2*time.Hour, v1alpha1.Queued("At place 3.")), run(time.Hour, v1alpha1.Queued(""))}, noon), Warning, "is queued for 2h: At place 3."},
		"nobody looks at a run":      {Queue([]v1alpha1.Suite{run(3 * time.Minute)}, noon), Failure, "has not seen the run acme/smoke-1 in 3m."},
		"a run arrived a moment ago": {Queue([]v1alpha1.Suite{run(time.Second)}, noon), OK, "Runs that have not ended: 1;"},
		"a run waits for the store":  {Queue([]v1alpha1.Suite{run(time.Minute, v1alpha1.Queued(""), v1alpha1.StoreUnavailable("No route."))}, noon), Warning, "1 runs are blocked, such as acme/smoke-1: No route."},

		"a replica is ready":              {[]Finding{Replica("a", Checks[0], 200, "ok")}, OK, "a is ready"},
		"a replica is not ready":          {[]Finding{Replica("a", Checks[0], 500, "[-]http failed: reason withheld\n")}, Warning, "[-]http failed"},
		"the store is unavailable":        {[]Finding{Replica("a", Checks[1], 500, "internal server error: the store cannot be used: 403\n")}, Failure, "a says: the store cannot be used: 403"},
		"there is no store":               {[]Finding{Replica("a", Checks[1], 404, "")}, OK, "has no object store"},
		"a clock is wrong":                {[]Finding{Replica("a", Checks[2], 500, "internal server error: the clock is 3s ahead")}, Warning, "the clock is 3s ahead"},
		"a manager without a clock check": {[]Finding{Replica("a", Checks[2], 404, "")}, OK, "no such check"},

		"a pod reaches an address":             {[]Finding{Reach("acme", reach.Result{URL: "http://p.svc", Addresses: []string{"10.0.0.1"}, Status: 404})}, OK, "reaches http://p.svc (HTTP 404)"},
		"a name without an address":            {[]Finding{Reach("acme", reach.Result{URL: "http://p.svc/x", Problem: "no such host"})}, Failure, "cannot resolve p.svc: no such host."},
		"an address without a server":          {[]Finding{Reach("acme", reach.Result{URL: "http://p.svc", Addresses: []string{"10.0.0.1"}, Problem: "timeout"})}, Failure, "cannot reach http://p.svc: timeout."},
		"a certificate that pods do not trust": {[]Finding{Reach("acme", reach.Result{URL: "https://p.svc", Addresses: []string{"10.0.0.1"}, Untrusted: true, Problem: "x509"})}, Warning, "does not trust its certificate"},
		"a server with another time":           {[]Finding{Reach("acme", reach.Result{URL: "http://p.svc", Status: 200, Ahead: -time.Minute})}, Warning, "differs by 1m."},
		"a pod that did not run":               {[]Finding{NoReach("acme", "it is Pending")}, Failure, "did not run: it is Pending."},
		"no manager":                           {[]Finding{NoManager("x", "")}, Failure, "in the namespace x"},
		"a manager without a Deployment":       {[]Finding{NoManager("x", "dev")}, OK, "dev runs the manager"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			says := false
			for _, f := range tc.found {
				says = says || strings.Contains(f.Message, tc.says)
			}
			if Worst(tc.found) != tc.level || !says {
				t.Errorf("%+v, want %s and %q", tc.found, tc.level, tc.says)
			}
		})
	}
}

// TestListsAreShort: a message does not grow with what is wrong.
func TestListsAreShort(t *testing.T) {
	if got := list([]string{"a", "b", "c", "d", "e", "f", "g"}); got != "a, b, c, d, e and 2 more" {
		t.Error(got)
	}
}

// TestNotReady: whatever has a condition Ready is named with its message where that is False, and what the manager has not seen is not.
func TestNotReady(t *testing.T) {
	name := metav1.ObjectMeta{Namespace: "acme", Name: "x"}
	checks := map[string]func([]metav1.Condition) []Finding{
		"Trigger": func(c []metav1.Condition) []Finding {
			return Triggers([]v1alpha1.Trigger{{ObjectMeta: name, Status: v1alpha1.TriggerStatus{Conditions: c}}})
		},
		"Environment": func(c []metav1.Condition) []Finding {
			return Environments([]v1alpha1.Environment{{ObjectMeta: name, Status: v1alpha1.EnvironmentStatus{Conditions: c}}}, nil)
		},
		"EventSource": func(c []metav1.Condition) []Finding {
			return EventSources([]v1alpha1.EventSource{{ObjectMeta: name, Status: v1alpha1.EventSourceStatus{Conditions: c}}})
		},
		"DeploymentGate": func(c []metav1.Condition) []Finding {
			return DeploymentGates([]v1alpha1.DeploymentGate{{ObjectMeta: name, Status: v1alpha1.DeploymentGateStatus{Conditions: c}}})
		},
		"Cluster": func(c []metav1.Condition) []Finding {
			return Clusters([]v1alpha1.Cluster{{ObjectMeta: name, Status: v1alpha1.ClusterStatus{Conditions: c}}})
		},
		"Quarantine": func(c []metav1.Condition) []Finding {
			return Quarantines([]v1alpha1.Quarantine{{ObjectMeta: name, Status: v1alpha1.QuarantineStatus{Conditions: c}}})
		},
		"TrustPolicy": func(c []metav1.Condition) []Finding {
			return TrustPolicies([]v1alpha1.TrustPolicy{{ObjectMeta: name, Status: v1alpha1.TrustPolicyStatus{Conditions: c}}}, nil, "")
		},
	}
	for kind, check := range checks {
		for status, level := range map[metav1.ConditionStatus]Level{"True": OK, "False": Warning, "Unknown": OK} {
			found := check([]metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Message: "The Secret is missing."}})
			if says := strings.Contains(found[0].Message, kind+" acme/x") && strings.Contains(found[0].Message, "The Secret is missing."); len(found) != 1 ||
				found[0].Level != level || says != (level == Warning) {
				t.Errorf("%s, Ready is %s: %+v", kind, status, found)
			}
		}
		if found := check(nil); len(found) != 1 || found[0].Level != OK || !strings.HasPrefix(found[0].Message, "All 1 work") {
			t.Errorf("%s that is new: %+v", kind, found)
		}
	}
}

func inCluster(name string) []v1alpha1.Environment {
	return []v1alpha1.Environment{{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"}, Spec: v1alpha1.EnvironmentSpec{Cluster: name}}}
}

// TestTriggerClasses: a class with which Triggers do not work is named once, with how many.
func TestTriggerClasses(t *testing.T) {
	of := func(name, class string) v1alpha1.Trigger {
		return v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name}, Spec: v1alpha1.TriggerSpec{TriggerClassName: class}}
	}
	whole, empty := v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "whole"}}, v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}
	whole.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "e2e"}}
	classes := []v1alpha1.TriggerClass{whole, empty}
	for name, tc := range map[string]struct {
		triggers []v1alpha1.Trigger
		level    Level
		says     []string
	}{
		"nothing uses them": {nil, OK, []string{"All 2 work."}},
		"they fit":          {[]v1alpha1.Trigger{of("a", "whole"), of("b", "")}, OK, []string{"All 2 work."}},
		"one is missing":    {[]v1alpha1.Trigger{of("a", "gone"), of("b", "gone"), of("c", "whole")}, Warning, []string{"2 Triggers do not work with the TriggerClass gone, such as acme/a: The TriggerClass \"gone\" of the Trigger \"a\" does not exist."}},
		"one does not fit":  {[]v1alpha1.Trigger{of("a", "empty")}, Warning, []string{"1 Trigger does not work with the TriggerClass empty, such as acme/a: "}},
		"two are wrong":     {[]v1alpha1.Trigger{of("a", "empty"), of("b", "gone")}, Warning, []string{"TriggerClass empty", "TriggerClass gone"}},
	} {
		found := TriggerClasses(classes, tc.triggers)
		if len(found) != len(tc.says) || Worst(found) != tc.level {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		for i, want := range tc.says {
			if !strings.Contains(found[i].Message, want) {
				t.Errorf("%s: %q, want %q", name, found[i].Message, want)
			}
		}
	}
}
