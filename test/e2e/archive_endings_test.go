package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/tier"
)

// scratch is a volume of at most 1 MiB.
func scratch(t *v1alpha1.Trigger) {
	pod := &t.Spec.JobTemplate.Spec.Template.Spec
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Mi"))},
	}})
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "scratch", MountPath: "/scratch"})
}

// What a test does that runs until it is stopped.
const (
	polite   = `trap 'echo cleaning up; sleep 1; echo clean; exit 1' TERM; echo busy; sleep 600 & wait`
	stubborn = `trap '' TERM; echo busy; sleep 600 & wait; sleep 600`

	// slowly gives a manager on a busy machine time to notice that the pod is deleted. A log whose container ends at
	// once is lost if the kubelet is faster, as docs/suites.md says.
	slowly = `trap 'echo cleaning up; sleep 10; echo clean; exit 1' TERM; echo busy; sleep 600 & wait`
)

// ending is how a run of TestLogsOutliveTheirPods ends.
type ending struct {
	settings []setting
	stop     func(id string) // once its test has begun; nil: it ends by itself
	state    string
	log      string

	// mayBeLost: the kubelet gives an evicted pod 2 seconds and removes its containers at once. The log must be whole,
	// or the record must say that it is lost.
	mayBeLost bool

	// orOnce: the Job deletes the pod before or after the kubelet repeats the test once more.
	orOnce bool
}

func (tm *team) endings() map[string]ending {
	kubectl := func(args ...string) func(string) {
		return func(id string) {
			command := append([]string{"-n", tm.name}, args...)
			for i := range command {
				command[i] = strings.ReplaceAll(command[i], "RUN", id)
			}
			if _, err := tm.kubectl(command...); err != nil {
				tm.t.Error(err)
			}
		}
	}
	cancel := func(id string) { tm.patchSuite(id, `{"spec":{"cancel":true}}`) }
	evict := func(id string) { tm.evict(tm.awaitPod(id)) }
	stopped := []setting{runs(polite), grace(60)}
	deleted := []setting{runs(slowly), grace(30)}
	const cleaned = "busy\ncleaning up\nclean\n"
	return map[string]ending{
		"passes":      {settings: []setting{runs("echo fine")}, state: v1alpha1.ReasonPassed, log: "fine\n"},
		"fails":       {settings: []setting{runs("echo broken; exit 3")}, state: v1alpha1.ReasonFailed, log: "broken\n"},
		"times-out":   {settings: stopped, stop: tm.shortenTimeout, state: v1alpha1.ReasonTimedOut, log: cleaned},
		"canceled":    {settings: stopped, stop: cancel, state: v1alpha1.ReasonCanceled, log: cleaned},
		"superseded":  {settings: append(slices.Clone(stopped), environment("production")), stop: tm.supersede, state: v1alpha1.ReasonSuperseded, log: cleaned},
		"stubborn":    {settings: []setting{runs(stubborn), grace(2)}, stop: cancel, state: v1alpha1.ReasonCanceled, log: "busy\n"},
		"evicted":     {settings: deleted, stop: evict, state: v1alpha1.ReasonError, log: cleaned},
		"pod-deleted": {settings: deleted, stop: kubectl("delete", "pod", "--wait=false", "-l", v1alpha1.LabelSuite+"=RUN"), state: v1alpha1.ReasonError, log: cleaned},
		"job-deleted": {settings: deleted, stop: kubectl("delete", "job", "--wait=false", "RUN"), state: v1alpha1.ReasonError, log: cleaned},
		"job-cascade": {settings: deleted, stop: kubectl("delete", "job", "--wait=false", "--cascade=foreground", "RUN"), state: v1alpha1.ReasonError, log: cleaned},
		"out-of-disk": {settings: []setting{runs("echo busy; head -c 5000000 /dev/zero > /scratch/big; sleep 600"), scratch, grace(10)},
			state: v1alpha1.ReasonFailed, log: "busy\n", mayBeLost: true},
		"init-fails":  {settings: []setting{runs("echo never"), initContainer("echo preparing; exit 4")}, state: v1alpha1.ReasonFailed, log: "preparing\n"},
		"is-repeated": {settings: []setting{runs("echo attempt; exit 1"), retries(1)}, state: v1alpha1.ReasonFailed, log: "attempt\nattempt\n"},
		"is-restarted": {settings: []setting{runs("echo attempt; sleep 10; exit 1"), retries(1), onFailure, grace(30)},
			state: v1alpha1.ReasonFailed, log: "attempt\nattempt\n", orOnce: true},
		"says-too-much": {settings: []setting{runs(`i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done`)}, state: v1alpha1.ReasonPassed, log: lines(20000)},
	}
}

// TestLogsOutliveTheirPods ends runs in every way, deletes their Jobs and pods, and reads their logs from the archive.
func TestLogsOutliveTheirPods(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	a := openArchive(t, c)
	tm := newTeam(t, c)
	endings := tm.endings()
	if tier.Gate() {
		maps.DeleteFunc(endings, func(name string, _ ending) bool { return name != "fails" && name != "canceled" })
	}
	for name, e := range endings {
		tm.trigger(name, append(slices.Clone(e.settings), branches("main"))...)
	}
	m := tm.sharedManager()
	began := time.Now()
	ids := map[string]string{}
	for _, r := range tm.notify(m, notification{"branch": "main", "sha": sha()}) {
		ids[r.Trigger] = r.Created
	}
	for name, id := range ids {
		if stop := endings[name].stop; stop != nil {
			tm.awaitLog(id, "busy")
			stop(id)
		}
	}
	for name, id := range ids {
		tm.checkArchived(a, name, id, endings[name])
	}
	story(t, "all ended and archived after %s", time.Since(began).Round(time.Second))
}

// checkArchived waits for the end of a run, deletes what is left of it, and reads its log.
func (tm *team) checkArchived(a *archive.Archive, name, id string, e ending) {
	tm.t.Helper()
	s := tm.awaitEnd(id)
	if s.State() != e.state {
		tm.t.Errorf("%s ended %s, want %s: %s", name, s.State(), e.state, message(s))
	}
	s = tm.awaitArchived(id)
	c := archivedCondition(s)
	story(tm.t, "%-13s %-10s %s archived after %.1f s: %s", name, s.State(), id, c.LastTransitionTime.Sub(s.Status.CompletionTime.Time).Seconds(), c.Message)
	if _, err := tm.kubectl("delete", "job,pod", "-n", tm.name, "-l", v1alpha1.LabelSuite+"="+id, "--force", "--grace-period=0"); err != nil {
		tm.t.Error(err)
	}
	text, rec := tm.archivedLog(a, id)
	if rec.State != s.State() || !rec.Archive.Done {
		tm.t.Errorf("the record of %s says %s, %+v", name, rec.State, rec.Archive)
	}
	switch whole := text == e.log || e.orOnce && text+text == e.log; {
	case whole && c.Reason == v1alpha1.ReasonSaved:
	case e.mayBeLost && text == "" && c.Reason == v1alpha1.ReasonIncomplete:
		story(tm.t, "%s: the kubelet was faster", name)
	default:
		tm.t.Errorf("the log of %s is %q, want %q; it is archived as %s: %s; the record says %+v", name, clip(text, 300), clip(e.log, 300), c.Reason, c.Message, rec.Logs)
	}
}

// supersede creates a newer run of the same stream, which must have no other runs that are to pass: their commit is replaced.
func (tm *team) supersede(id string) {
	tm.t.Helper()
	older := tm.suite(id)
	newer := &v1alpha1.Suite{ObjectMeta: tm.meta(id + "-newer"), Spec: *older.Spec.DeepCopy()}
	newer.Spec.ReceivedAt, newer.Spec.Deployment.SHA = nil, sha()
	tm.create(newer)
}

func lines(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	return all.String()
}

func onFailure(t *v1alpha1.Trigger) {
	t.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
}

func initContainer(script string) setting {
	return func(t *v1alpha1.Trigger) {
		c := *container(t)
		c.Name, c.Command = "prepare", []string{"/bin/sh", "-c", script}
		t.Spec.JobTemplate.Spec.Template.Spec.InitContainers = []corev1.Container{c}
	}
}

// evict asks for the eviction of a pod, as a drain of its node does.
func (tm *team) evict(pod *corev1.Pod) {
	tm.t.Helper()
	if err := tm.SubResource("eviction").Create(tm.t.Context(), pod, &policyv1.Eviction{ObjectMeta: tm.meta(pod.Name)}); err != nil {
		tm.t.Fatalf("evict %s: %v", pod.Name, err)
	}
}
