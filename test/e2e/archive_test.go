package e2e

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/archive"
	"github.com/postflight-dev/postflight/internal/objectstore"
	"github.com/postflight-dev/postflight/internal/record"
)

// openArchive opens the archive of the cluster's managers.
func openArchive(t *testing.T, c *cluster) *archive.Archive {
	t.Helper()
	for name, value := range c.manager {
		t.Setenv(name, value)
	}
	bucket, err := objectstore.New(objectstore.Options{
		Endpoint: c.manager["POSTFLIGHT_STORE_ENDPOINT"], Bucket: c.manager["POSTFLIGHT_STORE_BUCKET"],
		Region: c.manager["POSTFLIGHT_STORE_REGION"], PathStyle: true, UploadLifetime: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &archive.Archive{Bucket: bucket}
}

func archivedCondition(s *v1alpha1.Suite) metav1.Condition {
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// awaitArchived waits for the record of a run.
func (tm *team) awaitArchived(id string) *v1alpha1.Suite {
	tm.t.Helper()
	return tm.await(id, "archived", endWithin, (*v1alpha1.Suite).Archived)
}

// archivedLog is the log of the containers of a run, in the archive.
func (tm *team) archivedLog(a *archive.Archive, id string) (text string, rec record.Record) {
	tm.t.Helper()
	rec, err := a.Record(tm.t.Context(), tm.name, id)
	if err != nil {
		tm.t.Fatalf("the record of %s: %v", id, err)
	}
	run := record.Run{Team: tm.name, ID: id, Created: rec.CreatedAt}
	for _, l := range rec.Logs {
		log, err := a.OpenLog(tm.t.Context(), run, l.Pod, l.Container, l.Previous)
		if err != nil {
			tm.t.Errorf("the log of %s: %v", l.Pod, err)
			continue
		}
		content, err := io.ReadAll(log)
		log.Close()
		if err != nil || int64(len(content)) != l.Bytes {
			tm.t.Errorf("the log of %s has %d bytes, and the record says %+v: %v", l.Pod, len(content), l, err)
		}
		text += string(content)
	}
	return text, rec
}

// evict asks for the eviction of a pod, as a drain of its node does.
func (tm *team) evict(pod *corev1.Pod) {
	tm.t.Helper()
	if err := tm.SubResource("eviction").Create(tm.t.Context(), pod, &policyv1.Eviction{ObjectMeta: tm.meta(pod.Name)}); err != nil {
		tm.t.Fatalf("evict %s: %v", pod.Name, err)
	}
}

// scratch is a volume of at most 1 MiB.
func scratch(t *v1alpha1.Trigger) {
	pod := &t.Spec.JobTemplate.Spec.Template.Spec
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Mi"))},
	}})
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "scratch", MountPath: "/scratch"})
}

// TestLogsOutliveTheirPods ends runs in every way, deletes their Jobs and pods, and reads their logs from the archive.
func TestLogsOutliveTheirPods(t *testing.T) {
	c := useCluster(t)
	a := openArchive(t, c)
	tm := newTeam(t, c)
	const (
		polite   = `trap 'echo cleaning up; sleep 1; echo clean; exit 1' TERM; echo busy; sleep 600 & wait`
		stubborn = `trap '' TERM; echo busy; sleep 600 & wait; sleep 600`
	)
	kubectl := func(args ...string) func(string) {
		return func(id string) {
			for i, arg := range args {
				args[i] = strings.ReplaceAll(arg, "RUN", id)
			}
			if _, err := tm.kubectl(append([]string{"-n", tm.name}, args...)...); err != nil {
				t.Error(err)
			}
		}
	}
	cancel := func(id string) { tm.patchSuite(id, `{"spec":{"cancel":true}}`) }
	endings := map[string]struct {
		settings []setting
		stop     func(id string) // once its pod runs; nil: it ends by itself
		state    string
		log      string
	}{
		"passes":        {[]setting{runs("echo fine")}, nil, v1alpha1.ReasonPassed, "fine\n"},
		"fails":         {[]setting{runs("echo broken; exit 3")}, nil, v1alpha1.ReasonFailed, "broken\n"},
		"times-out":     {[]setting{runs(polite), timeout(8 * time.Second)}, nil, v1alpha1.ReasonTimedOut, "busy\ncleaning up\nclean\n"},
		"canceled":      {[]setting{runs(polite), grace(10)}, cancel, v1alpha1.ReasonCanceled, "busy\ncleaning up\nclean\n"},
		"superseded":    {[]setting{runs(polite), grace(10)}, func(string) {}, v1alpha1.ReasonSuperseded, "busy\ncleaning up\nclean\n"},
		"stubborn":      {[]setting{runs(stubborn), grace(2)}, cancel, v1alpha1.ReasonCanceled, "busy\n"},
		"evicted":       {[]setting{runs(polite), grace(10)}, func(id string) { tm.evict(tm.awaitPod(id)) }, v1alpha1.ReasonError, "busy\ncleaning up\nclean\n"},
		"pod-deleted":   {[]setting{runs(polite), grace(10)}, kubectl("delete", "pod", "--wait=false", "-l", v1alpha1.LabelSuite+"=RUN"), v1alpha1.ReasonError, "busy\ncleaning up\nclean\n"},
		"job-deleted":   {[]setting{runs(polite), grace(10)}, kubectl("delete", "job", "--wait=false", "RUN"), v1alpha1.ReasonError, "busy\ncleaning up\nclean\n"},
		"job-cascade":   {[]setting{runs(polite), grace(10)}, kubectl("delete", "job", "--wait=false", "--cascade=foreground", "RUN"), v1alpha1.ReasonError, "busy\ncleaning up\nclean\n"},
		"out-of-disk":   {[]setting{runs("echo busy; head -c 5000000 /dev/zero > /scratch/big; sleep 600"), scratch, grace(10)}, nil, v1alpha1.ReasonFailed, "busy\n"},
		"init-fails":    {[]setting{runs("echo never"), initContainer("echo preparing; exit 4")}, nil, v1alpha1.ReasonFailed, "preparing\n"},
		"is-repeated":   {[]setting{runs("echo attempt; exit 1"), retries(1)}, nil, v1alpha1.ReasonFailed, "attempt\nattempt\n"},
		"is-restarted":  {[]setting{runs("echo attempt; exit 1"), retries(1), onFailure}, nil, v1alpha1.ReasonFailed, "attempt\n"},
		"says-too-much": {[]setting{runs(`i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done`)}, nil, v1alpha1.ReasonPassed, lines(20000)},
	}
	for name, e := range endings {
		tm.trigger(name, append(e.settings, branches("main"))...)
	}
	m := runManager(t, c, options{})
	began := time.Now()
	ids := map[string]string{}
	for _, r := range tm.notify(m, notification{"branch": "main", "sha": sha()}) {
		ids[r.Trigger] = r.Created
	}
	for name, id := range ids {
		if endings[name].stop != nil && name != "superseded" {
			tm.awaitPod(id)
			time.Sleep(time.Second) // so that it has printed something
			endings[name].stop(id)
		}
	}
	tm.awaitPod(ids["superseded"])
	tm.supersede(ids["superseded"])
	for name, id := range ids {
		e, s := endings[name], tm.awaitEnd(id, 4*time.Minute)
		if s.State() != e.state {
			t.Errorf("%s ended %s, want %s: %s", name, s.State(), e.state, message(s))
		}
		s = tm.awaitArchived(id)
		story(t, "%-13s %-10s %s archived after %.1f s: %s", name, s.State(), id,
			archivedCondition(s).LastTransitionTime.Sub(s.Status.CompletionTime.Time).Seconds(), archivedCondition(s).Message)
		if _, err := tm.kubectl("delete", "job,pod", "-n", tm.name, "-l", v1alpha1.LabelSuite+"="+id, "--force", "--grace-period=0"); err != nil {
			t.Error(err)
		}
		text, rec := tm.archivedLog(a, id)
		if name == "is-restarted" && text == e.log+e.log { // the Job deletes the pod before or after it is repeated
			text = e.log
		}
		if text != e.log {
			t.Errorf("the log of %s is %q, want %q; the record says %+v", name, clip(text, 300), clip(e.log, 300), rec.Logs)
		}
		if c := archivedCondition(s); c.Reason != v1alpha1.ReasonSaved || rec.State != s.State() || !rec.Archive.Done {
			t.Errorf("%s is archived as %s: %s; the record says %s", name, c.Reason, c.Message, rec.State)
		}
	}
	story(t, "all ended and archived after %s", time.Since(began).Round(time.Second))
}

// supersede creates a newer run of the same stream.
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

// TestExpiredEnvironmentTakesItsRuns: Kubernetes deletes the runs with it, and their records stay.
func TestExpiredEnvironmentTakesItsRuns(t *testing.T) {
	c := useCluster(t)
	a := openArchive(t, c)
	tm := newTeam(t, c)
	tm.trigger("smoke", runs("echo preview"))
	m := runManager(t, c, options{})
	id := tm.run(m, notification{"branch": "main", "deployment_url": c.env["DEMO_URL"], "ephemeral_environment": true})
	s := tm.awaitState(id, v1alpha1.ReasonPassed)
	env := &v1alpha1.Environment{ObjectMeta: tm.meta(s.Spec.Environment)}
	expired := fmt.Sprintf(`{"spec":{"ephemeral":{"expiresAt":%q}}}`, time.Now().Add(-time.Second).UTC().Format(time.RFC3339))
	if err := tm.Patch(t.Context(), env, client.RawPatch(types.MergePatchType, []byte(expired))); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(endWithin); ; time.Sleep(50 * time.Millisecond) {
		err := tm.Get(t.Context(), tm.keyOf(id), s)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run is still there; its owners are %+v", s.OwnerReferences)
		}
	}
	if text, rec := tm.archivedLog(a, id); text != "preview\n" || rec.State != v1alpha1.ReasonPassed {
		t.Errorf("the log is %q, and the record says %s", text, rec.State)
	}
}

// TestLostNodeIsTold runs on a node that does not answer any more: nobody can read the log, and the record says so.
func TestLostNodeIsTold(t *testing.T) {
	c := useCluster(t)
	a := openArchive(t, c)
	tm := newTeam(t, c)
	lost := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lost-" + random(3)}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if err := tm.Create(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	removed := false
	remove := func() {
		if !removed {
			removed = true
			_, _ = tm.kubectl("delete", "node", lost.Name, "--wait=false")
		}
	}
	t.Cleanup(remove)
	tm.trigger("smoke", runs("echo busy; sleep 600"), func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.NodeName = lost.Name
	})
	m := runManager(t, c, options{flags: []string{"--pod-gone-after=3s"}})
	id := tm.run(m, notification{"branch": "main"})
	pod := tm.playPod(id)
	if err := tm.Delete(t.Context(), pod); err != nil { // as Kubernetes does when it gives up the node
		t.Fatal(err)
	}
	s := tm.awaitState(id, v1alpha1.ReasonError)
	story(t, "%s", message(s))
	s = tm.await(id, "waiting for its node", time.Minute, func(s *v1alpha1.Suite) bool {
		return archivedCondition(s).Reason == v1alpha1.ReasonLogsUnavailable
	})
	story(t, "%s", archivedCondition(s).Message)
	remove()
	s = tm.awaitArchived(id)
	story(t, "%s", archivedCondition(s).Message)
	rec, err := a.Record(t.Context(), tm.name, id)
	if err != nil || archivedCondition(s).Reason != v1alpha1.ReasonIncomplete || !strings.Contains(rec.Archive.Message, "gone") {
		t.Errorf("the record says %+v %+v, %v", rec.Archive, rec.Logs, err)
	}
}

// playPod acts as the kubelet did before its node was lost.
func (tm *team) playPod(id string) *corev1.Pod {
	tm.t.Helper()
	for deadline := time.Now().Add(endWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		pods := tm.pods(id)
		if len(pods) == 0 {
			continue
		}
		pod := pods[0].DeepCopy()
		now := metav1.Now()
		pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "test", Image: testImage, ImageID: testImage, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}}
		if err := tm.Status().Patch(tm.t.Context(), pod, client.MergeFrom(&pods[0])); err != nil {
			tm.t.Fatal(err)
		}
		return pod
	}
	tm.t.Fatalf("the run %s has no pod", id)
	return nil
}
