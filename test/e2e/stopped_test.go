package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// What a test does that writes what it has when it is told to stop, and exits with 0.
const (
	partial = `r() { [ -z "$POSTFLIGHT_RESULTS_DIR" ] || echo '<testsuite><testcase name="login"/></testsuite>' >"$POSTFLIGHT_RESULTS_DIR/r.xml"; }; trap 'r; exit 0' TERM; echo busy; `
	forever = partial + `sleep 600 & wait`
	killed  = `sh -c 'head -c 300m /dev/zero | tail' ; ` + passing
	passing = `echo '<testsuite><testcase name="login"/></testsuite>' >"${POSTFLIGHT_RESULTS_DIR:-/tmp}/r.xml"; exit 0`
)

// slot is a resource of which the node has one, so that only pods of this test contend for it.
const slot = "example.com/slot"

// stopCase is what stops a pod whose tests exit with 0.
type stopCase struct {
	reason   string
	settings []setting
	stop     func(p *corev1.Pod) // once its test runs; nil: it is stopped otherwise
	state    string
	says     string
	gate     bool
}

func (tm *team) stopCases() map[string]stopCase {
	mark := func(p *corev1.Pod) {
		tm.patchPod(p, `{"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet","message":"Pod was terminated in response to imminent node shutdown.","lastTransitionTime":"`+
			time.Now().UTC().Format(time.RFC3339)+`"}]}}`)
		tm.deletePod(p)
	}
	return map[string]stopCase{
		"drained":    {"kubectl drain evicts", []setting{keeps(), runs(forever), grace(30)}, tm.evict, v1alpha1.ReasonError, "", true},
		"no-results": {"only the exit code counts", []setting{runs(forever), grace(30)}, tm.evict, v1alpha1.ReasonError, "", true},
		"shut-down":  {"the kubelet says so", []setting{keeps(), runs(forever), grace(30)}, mark, v1alpha1.ReasonError, "", false},
		"deleted":    {"by hand", []setting{keeps(), runs(forever), grace(30)}, tm.deletePod, v1alpha1.ReasonError, "", false},
		"disk":       {"the kubelet writes no mark into the pod", []setting{runs(partial + "head -c 5000000 /dev/zero > /scratch/big; sleep 600 & wait"), scratch, grace(10)}, nil, v1alpha1.ReasonFailed, "exceeds the limit", false},
		"memory":     {"a child was killed", []setting{runs(killed), memory("64Mi")}, nil, v1alpha1.ReasonFailed, "more memory than its limit of 64Mi", true},
		"memory-first": {"nothing shows which tests there are", []setting{keeps(), runs(killed), memory("64Mi")}, nil, v1alpha1.ReasonFailed,
			"Nothing shows that all tests ran", false},
		"preempted": {"another pod is more important", []setting{runs(forever), grace(10), limitsResource(slot, "1"), priority("e2e-low")}, tm.preempt, v1alpha1.ReasonError, "", false},
	}
}

// TestStopped: tests that exit with 0 because they were stopped, on real pods, make no run green.
func TestStopped(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	cases := tm.stopCases()
	if tier.Gate() {
		maps.DeleteFunc(cases, func(_ string, tc stopCase) bool { return !tc.gate })
	} else {
		tm.hasPriorities()
		tm.hasSlot()
	}
	for name, tc := range cases {
		tm.trigger(name, tc.settings...)
	}
	ids := map[string]string{}
	for _, r := range tm.notify(tm.sharedManager(), notification{"branch": "main", "sha": sha()}) {
		ids[r.Trigger] = r.Created
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if stop := cases[name].stop; stop != nil {
			tm.awaitLog(ids[name], "busy")
			stop(tm.awaitPod(ids[name]))
		}
	}
	for name, id := range ids {
		s := tm.awaitState(id, cases[name].state)
		tm.checkMessage(s, cases[name].says)
		story(t, "%-12s %s: %s", name, s.State(), message(s))
	}
}

// TestDrainedRunIsRepeated: a run whose pod is drained is repeated once, as retry.onError says, and passes.
func TestDrainedRunIsRepeated(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, useCluster(t))
	tr := tm.trigger("load", keeps(), grace(30), onError(1), runs(forever))
	first := tm.notify(tm.sharedManager(), notification{"branch": "main", "sha": sha()})[0].Created
	tm.awaitLog(first, "busy")
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/jobTemplate/spec/template/spec/containers/0/command/2","value":%q}]`, passing) // the node is fine again
	if err := tm.Patch(t.Context(), tr, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	tm.evict(tm.awaitPod(first))
	s := tm.awaitState(first, v1alpha1.ReasonError)
	tm.checkMessage(s, "is retry 1 of 1")
	again := tm.awaitState(s.Status.RepeatedBy, v1alpha1.ReasonPassed)
	if all := tm.suites(); len(all) != 2 || again.Status.RepeatedBy != "" {
		t.Errorf("%d runs, and the second is repeated by %q", len(all), again.Status.RepeatedBy)
	}
	story(t, "%s, then %s", message(s), message(again))
}

// TestInjectedContainer: a container that admission adds to a pod, and that never ends, does not hold up the run. What the tests reported
// counts.
func TestInjectedContainer(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, useCluster(t))
	tm.injects("proxy", `trap 'exit 0' TERM; sleep 100000 & wait`)
	tm.trigger("passes", keeps(), runs(passing))
	tm.trigger("fails", keeps(), runs(`echo '<testsuite><testcase name="login"><failure/></testcase></testsuite>' >"$POSTFLIGHT_RESULTS_DIR/r.xml"; exit 1`))
	tm.trigger("exits", runs("exit 0"))
	want := map[string]string{"passes": v1alpha1.ReasonPassed, "fails": v1alpha1.ReasonFailed, "exits": v1alpha1.ReasonPassed}
	for _, r := range tm.notify(tm.sharedManager(), notification{"branch": "main", "sha": sha()}) {
		s := tm.awaitState(r.Created, want[r.Trigger])
		if s.State() == v1alpha1.ReasonPassed {
			tm.checkMessage(s, `The container "proxy", which is not in the jobTemplate`)
		}
		if r.Trigger != "exits" && (s.Status.Results == nil || s.Status.Results.Tests != 1) {
			t.Errorf("%s: %+v", r.Trigger, s.Status.Results)
		}
		story(t, "%-7s %s: %s", r.Trigger, s.State(), message(s))
	}
}

// TestPodsWithinLimits runs pods with Postflight's own containers in namespaces with LimitRanges.
func TestPodsWithinLimits(t *testing.T) {
	tier.All(t, "TestLimitRanges of the controllers asks a real API server for each kind")
	t.Parallel()
	c := useCluster(t)
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	for name, limits := range map[string]corev1.LimitRangeItem{
		"min and max": {Type: corev1.LimitTypeContainer, Min: list("50m", "64Mi"), Max: list("500m", "2Gi")},
		"ratio":       {Type: corev1.LimitTypeContainer, MaxLimitRequestRatio: list("4", "4"), Default: list("200m", "256Mi"), DefaultRequest: list("100m", "128Mi")},
		"pod":         {Type: corev1.LimitTypePod, Max: list("1", "1Gi")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, c)
			tm.create(&corev1.LimitRange{ObjectMeta: tm.meta("limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{limits}}})
			tm.trigger("smoke", keeps(), runs(passing), func(t *v1alpha1.Trigger) {
				container(t).Resources = corev1.ResourceRequirements{Requests: list("100m", "128Mi"), Limits: list("200m", "256Mi")}
			})
			tm.awaitState(tm.notify(tm.sharedManager(), notification{"branch": "main", "sha": sha()})[0].Created, v1alpha1.ReasonPassed)
		})
	}
}

func onError(n int32) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.Retry = &v1alpha1.Retry{OnError: n} }
}

func priority(class string) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.JobTemplate.Spec.Template.Spec.PriorityClassName = class }
}

func (tm *team) patchPod(p *corev1.Pod, patch string) {
	tm.t.Helper()
	if err := tm.Status().Patch(tm.t.Context(), p.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
		tm.t.Fatal(err)
	}
}

func (tm *team) deletePod(p *corev1.Pod) {
	tm.t.Helper()
	if err := tm.Delete(tm.t.Context(), p); err != nil {
		tm.t.Fatal(err)
	}
}

// hasPriorities makes the classes of this test, which other tests do not use.
func (tm *team) hasPriorities() {
	for name, value := range map[string]int32{"e2e-low": -10, "e2e-high": 10} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if err := tm.Create(tm.t.Context(), class); client.IgnoreAlreadyExists(err) != nil {
			tm.t.Fatal(err)
		}
	}
}

// hasSlot gives the node a resource, and waits until pods may have it.
func (tm *team) hasSlot() {
	tm.t.Helper()
	nodes := &corev1.NodeList{}
	if err := tm.List(tm.t.Context(), nodes); err != nil || len(nodes.Items) == 0 {
		tm.t.Fatal(err, len(nodes.Items))
	}
	n := &nodes.Items[0]
	patch := `{"status":{"capacity":{"` + slot + `":"1"}}}`
	if err := tm.Status().Patch(tm.t.Context(), n, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		tm.t.Fatal(err)
	}
	poll.True(tm.t, "the node offers a slot", func() bool {
		now := &corev1.Node{}
		return tm.Get(tm.t.Context(), client.ObjectKeyFromObject(n), now) == nil && !now.Status.Allocatable.Name(slot, resource.DecimalSI).IsZero()
	})
}

// preempt makes a pod for which the scheduler takes the slot from another one.
func (tm *team) preempt(*corev1.Pod) {
	tm.create(&corev1.Pod{ObjectMeta: tm.meta("important"), Spec: corev1.PodSpec{
		PriorityClassName: "e2e-high", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(1)),
		Containers: []corev1.Container{{Name: "c", Image: testImage, ImagePullPolicy: corev1.PullNever, Command: []string{"sh", "-c", "exit 0"},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{slot: resource.MustParse("1")}}}},
	}})
}

// injects adds a container to each pod of the team, as the webhook of a service mesh does.
func (tm *team) injects(name, script string) {
	tm.t.Helper()
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: tm.name}, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": tm.name}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}}},
		},
		FailurePolicy: new(admissionv1.Fail), ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: fmt.Sprintf(
			`[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: %q, image: %q, imagePullPolicy: "Never", command: ["sh", "-c", %q]}}]`,
			name, testImage, script)}}},
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: tm.name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: tm.name}}
	for _, obj := range []client.Object{policy, binding} {
		tm.create(obj)
		tm.t.Cleanup(func() { _ = tm.Delete(context.Background(), obj) })
	}
	poll.True(tm.t, "the policy is in force", func() bool {
		p := &corev1.Pod{ObjectMeta: tm.meta("probe"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: testImage}}}}
		return tm.Create(tm.t.Context(), p, client.DryRunAll) == nil && len(p.Spec.Containers) == 2
	})
}
