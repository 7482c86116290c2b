package e2e

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// openArchive opens the archive of the cluster's managers.
func openArchive(t *testing.T, c *cluster) *archive.Archive {
	t.Helper()
	t.Helper()
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
	return tm.await(id, "archived", (*v1alpha1.Suite).Archived)
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
		if errors.Is(err, fs.ErrNotExist) && l.Problem != "" {
			continue // nothing of it could be read
		}
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

// TestExpiredEnvironmentTakesItsRuns: Kubernetes deletes the runs with it, and their records stay.
func TestExpiredEnvironmentTakesItsRuns(t *testing.T) {
	tier.All(t, "TestLogsOutliveTheirPods reads an archived log, too")
	t.Parallel()
	c := useCluster(t)
	a := openArchive(t, c)
	tm := newTeam(t, c)
	tm.trigger("smoke", runs("echo preview"))
	m := tm.sharedManager()
	id := tm.run(m, notification{"branch": "main", "deployment_url": c.env["DEMO_URL"], "ephemeral_environment": true})
	s := tm.awaitState(id, v1alpha1.ReasonPassed)
	env := &v1alpha1.Environment{ObjectMeta: tm.meta(s.Spec.Environment)}
	expired := fmt.Sprintf(`{"spec":{"ephemeral":{"expiresAt":%q}}}`, time.Now().Add(-time.Second).UTC().Format(time.RFC3339))
	if err := tm.Patch(t.Context(), env, client.RawPatch(types.MergePatchType, []byte(expired))); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the run is gone", func() string {
		err := tm.Get(t.Context(), tm.keyOf(id), s)
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("%v, its owners are %+v", err, s.OwnerReferences)
	})
	if text, rec := tm.archivedLog(a, id); text != "preview\n" || rec.State != v1alpha1.ReasonPassed {
		t.Errorf("the log is %q, and the record says %s", text, rec.State)
	}
}

// TestLostNodeIsTold runs on a node that does not answer any more: nobody can read the log, and the record says so.
func TestLostNodeIsTold(t *testing.T) {
	tier.All(t, "it waits for what a manager does seconds after a node is lost")
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
	s = tm.await(id, "waiting for its node", func(s *v1alpha1.Suite) bool {
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
	var pods []corev1.Pod
	poll.True(tm.t, "the run has a pod", func() bool {
		pods = tm.pods(id)
		return len(pods) > 0
	})
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
