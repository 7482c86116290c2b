package record_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

func TestIsPodOf(t *testing.T) {
	s := finished()
	own := func(change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: s.Name + "-x", Namespace: s.Namespace, Labels: map[string]string{v1alpha1.LabelSuite: s.Name},
			CreationTimestamp: s.CreationTimestamp,
			OwnerReferences:   []metav1.OwnerReference{{Kind: "Job", Name: s.Name, UID: "j", Controller: new(true)}},
		}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	for name, tc := range map[string]struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		"Own":            {"created in the same second", own(), true},
		"Later":          {"a retry", own(func(p *corev1.Pod) { p.CreationTimestamp.Time = p.CreationTimestamp.Add(time.Hour) }), true},
		"Earlier":        {"of an earlier Suite with the same name", own(func(p *corev1.Pod) { p.CreationTimestamp.Time = p.CreationTimestamp.Add(-time.Second) }), false},
		"OtherNamespace": {"of another team", own(func(p *corev1.Pod) { p.Namespace = "other" }), false},
		"NoLabel":        {"it was removed", own(func(p *corev1.Pod) { p.Labels = nil }), false},
		"NoOwner":        {"made by hand", own(func(p *corev1.Pod) { p.OwnerReferences = nil }), false},
		"OtherJob":       {"made by another Job", own(func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" }), false},
		"NoJob":          {"made by something else", own(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := record.IsPodOf(s, tc.pod); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestSources(t *testing.T) {
	ended, running := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	unknown := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137}}
	for name, tc := range map[string]struct {
		reason string
		status corev1.ContainerStatus
		want   []record.Source
		pod    string // why it ended
	}{
		"Ended":          {"the usual one", corev1.ContainerStatus{State: ended}, []record.Source{{}}, ""},
		"Running":        {"it still writes", corev1.ContainerStatus{State: running}, []record.Source{{Running: true}}, ""},
		"NeverRan":       {"it has no log", corev1.ContainerStatus{State: waiting}, nil, ""},
		"Unknown":        {"the kubelet has not said anything", corev1.ContainerStatus{}, nil, ""},
		"Restarted":      {"both logs", corev1.ContainerStatus{State: running, LastTerminationState: ended, RestartCount: 3}, []record.Source{{Running: true}, {Previous: true}}, ""},
		"RestartedEnded": {"both logs", corev1.ContainerStatus{State: ended, LastTerminationState: ended, RestartCount: 1}, []record.Source{{}, {Previous: true}}, ""},
		"BackOff":        {"the kubelet hands out the log from before as that of the container", corev1.ContainerStatus{State: waiting, LastTerminationState: ended, RestartCount: 1}, []record.Source{{}}, ""},
		"Evicted":        {"there is no other log", corev1.ContainerStatus{State: ended, LastTerminationState: unknown, RestartCount: 1}, []record.Source{{}}, "Evicted"},
		"LostTrack":      {"the first log is gone", corev1.ContainerStatus{State: running, LastTerminationState: unknown, RestartCount: 1}, []record.Source{{Running: true}, {Previous: true}}, ""},
		"EvictedEarly":   {"it ran, and its log may be left", corev1.ContainerStatus{State: waiting, LastTerminationState: unknown, RestartCount: 1}, []record.Source{{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: corev1.PodSpec{NodeName: "node"}}
			tc.status.Name = "test"
			p.Status.ContainerStatuses, p.Status.Reason = []corev1.ContainerStatus{tc.status}, tc.pod
			for i := range tc.want {
				tc.want[i].Pod, tc.want[i].Node, tc.want[i].Container = "pod", "node", "test"
			}
			if diff := cmp.Diff(tc.want, record.Sources([]corev1.Pod{p})); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// TestSourcesOfAllContainers: init containers, sidecars and containers for debugging have logs, too.
func TestSourcesOfAllContainers(t *testing.T) {
	status := func(name string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	}
	p := corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: status("fetch"), ContainerStatuses: status("test"), EphemeralContainerStatuses: status("debug")}}
	var got []string
	for _, s := range record.Sources([]corev1.Pod{p, p}) {
		got = append(got, s.Container)
	}
	if diff := cmp.Diff([]string{"fetch", "test", "debug", "fetch", "test", "debug"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadable(t *testing.T) {
	right := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New(`User "m" cannot get resource "pods/log"`))
	for name, tc := range map[string]struct {
		reason  string
		err     error
		want    string
		mayPass bool
	}{
		"Gone":        {"nothing brings it back", fmt.Errorf("%w (404)", apierror.ErrLogGone), "had removed", false},
		"NodeGone":    {"nothing brings it back", fmt.Errorf("%w (404)", apierror.ErrNodeGone), "The node n1 is gone", false},
		"Unreachable": {"the node may come back", apierror.ErrNodeUnreachable, "The node n1 did not", true},
		"Right":       {"an operator can grant it", right, "pods/log", true},
		"Other":       {"no address in the message", errors.New("dial 10.0.0.1"), "The API server did not hand out the log.", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, mayPass := record.Unreadable(record.Source{Node: "n1"}, tc.err)
			if !strings.Contains(got, tc.want) || mayPass != tc.mayPass {
				t.Errorf("%s: %q, %t", tc.reason, got, mayPass)
			}
		})
	}
}

func TestCondition(t *testing.T) {
	saved := func(pod string) record.Log { return record.Log{Pod: pod, Container: "test"} }
	lost := func(pod string) record.Log {
		return record.Log{Pod: pod, Container: "test", Problem: "The node n1 is gone."}
	}
	many := []record.Log{saved("p0")}
	for i := range 7 {
		many = append(many, lost(fmt.Sprintf("p%d", i)))
	}
	for name, tc := range map[string]struct {
		reason string
		logs   []record.Log
		ended  record.Ended
		want   []string // parts of the message; none: everything was saved
	}{
		"Saved":     {"all logs", []record.Log{saved("p")}, record.Ended{Pods: 1, Ran: true}, nil},
		"NoPods":    {"it was canceled in the queue", nil, record.Ended{}, nil},
		"NotRan":    {"its image could not be pulled", nil, record.Ended{Pods: 1}, nil},
		"Lost":      {"each one is named", []record.Log{saved("a"), lost("b")}, record.Ended{Pods: 2, Ran: true}, []string{"Container test of pod b: The node n1 is gone."}},
		"Many":      {"few are named", many, record.Ended{Pods: 7, Ran: true}, []string{"pod p4", "So are 2 more."}},
		"AllGone":   {"no pod is left", nil, record.Ended{Ran: true}, []string{"All pods were gone"}},
		"SomeGone":  {"the Job has counted more", []record.Log{saved("a")}, record.Ended{Pods: 3, Ran: true}, []string{"2 of 3 pods were gone"}},
		"JobUnsure": {"pods of an indexed Job may end after it", []record.Log{saved("a"), saved("b")}, record.Ended{Pods: 1, Ran: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := record.Condition(tc.logs, tc.ended)
			if c.Status != metav1.ConditionTrue || (c.Reason == v1alpha1.ReasonSaved) != (tc.want == nil) {
				t.Errorf("%s: %s %s", tc.reason, c.Status, c.Reason)
			}
			for _, part := range tc.want {
				if !strings.Contains(c.Message, part) {
					t.Errorf("%s: %q does not contain %q", tc.reason, c.Message, part)
				}
			}
			if strings.Contains(c.Message, "p5") {
				t.Errorf("%s: %q names too many", tc.reason, c.Message)
			}
		})
	}
}
