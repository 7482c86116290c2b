package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// archivedAs waits for the condition.
func (w *world) archivedAs(name, reason, message string) *v1alpha1.Suite {
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.eventually(fmt.Sprintf("%s is archived as %s with %q", name, reason, message), func() string {
		w.must(w.Client.Get(context.Background(), w.key(name), s))
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived)
		if c != nil && c.Reason == reason && strings.Contains(c.Message, message) {
			return ""
		}
		return fmt.Sprintf("%+v", c)
	})
	return s
}

// ran says that containers of the pod of a run have ended.
func (w *world) ran(name string, containers ...string) {
	w.t.Helper()
	p := &corev1.Pod{}
	w.must(w.Client.Get(context.Background(), w.key(name+"-pod"), p))
	w.status(p, func() {
		p.Status.Phase, p.Status.ContainerStatuses = corev1.PodFailed, nil
		for _, c := range containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: c, Image: "test", ImageID: "test", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
			})
		}
	})
}

func TestRunIsArchived(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.create(aSuite("run", 0, func(s *v1alpha1.Suite) { s.Spec.Variables = v1alpha1.Variables{"GREP": "@smoke"} }))
	w.runs("run")
	w.exits("run", 1)
	s := w.archivedAs("run", v1alpha1.ReasonSaved, "The record and the logs are in the object store.")
	rec, _ := w.shelf.record("run")
	if rec.State != v1alpha1.ReasonFailed || rec.Team != w.ns || rec.Archive == nil || !rec.Archive.Done || rec.EndedAt == nil {
		t.Errorf("the record is %+v", rec.Run)
	}
	if rec.Suite.Spec.Variables["GREP"] != "@smoke" {
		t.Error("the record lacks the variables, which the cache drops")
	}
	if len(rec.Logs) != 1 || rec.Logs[0].Container != "test" || rec.Logs[0].Bytes != int64(len("the log of test\n")) {
		t.Errorf("the logs are %+v", rec.Logs)
	}
	if text, _ := w.shelf.log("run-pod", "test"); text != "the log of test\n" {
		t.Errorf("the log is %q", text)
	}
	if s.State() != v1alpha1.ReasonFailed {
		t.Errorf("the run is now %s", s.State())
	}
}

// TestSecretsInSavedLogs: values of secret variables are masked in saved logs, also in those of pods that were deleted.
func TestSecretsInSavedLogs(t *testing.T) {
	t.Parallel()
	secret := func(s *v1alpha1.Suite) {
		s.Spec.Variables = v1alpha1.Variables{"API_TOKEN": "log of test", "DB_PASSWORD": "begun\nsecret-2"}
	}
	n := newNode()
	n.prints = "secret-2 and more"
	w := newArchiveWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/deleted-pod/") {
			n.ServeHTTP(rw, r)
			return
		}
		says(rw, r)
	})
	w.create(aSuite("kept", 0, secret), aSuite("deleted", 1, secret))
	w.runs("kept")
	w.exits("kept", 1)
	w.losesPod("deleted", n, 1)
	for name, want := range map[string]string{"kept": "the ***\n", "deleted": "*** and more\nended\n"} {
		w.archivedAs(name, v1alpha1.ReasonSaved, "")
		if text, _ := w.shelf.log(name+"-pod", "test"); text != want {
			t.Errorf("the log of %s is saved as %q, want %q", name, text, want)
		}
	}
}

// TestRequestsOfTheArchive counts what it costs the API server to archive a run whose pod has two containers.
func TestRequestsOfTheArchive(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.create(aTrigger("two", func(t *v1alpha1.Trigger) {
		pod := &t.Spec.JobTemplate.Spec.Template.Spec
		pod.Containers = append(pod.Containers, corev1.Container{Name: "browser", Image: "test"})
	}))
	w.create(aSuite("run", 0, of("two")))
	w.runs("run")
	w.ran("run", "test", "browser")
	w.ends("run", func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
	ended := w.reaches("run", v1alpha1.ReasonFailed, "")
	w.archivedAs("run", v1alpha1.ReasonSaved, "")
	logs := w.wire.count("GET pods/log")
	fmt.Printf("ARCHIVE_REQUESTS containers=2 get_suite=%d list_pods=1 get_logs=%d patch_status=1\n", w.wire.count("GET suites"), logs)
	if logs != 2 || ended == nil {
		t.Errorf("%d logs were read, want 2", logs)
	}
}

// TestNoStore: without an archive, a run says nothing about one, and is deleted in time.
func TestNoStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("brief", keptFor(time.Second)))
	w.create(aSuite("run", 0, of("brief")))
	w.runs("run")
	w.passes("run")
	s := w.reaches("run", v1alpha1.ReasonPassed, "")
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived); c != nil {
		t.Errorf("the run says %+v", c)
	}
	w.collectSuite("run")
}

// TestRunWithoutPods is canceled in the queue: it has a record, and no log is missing.
func TestRunWithoutPods(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.create(aTrigger("one", atMost(1)))
	w.create(aSuite("first", 0, of("one")))
	w.runs("first")
	w.create(aSuite("second", 1, of("one")))
	w.reaches("second", v1alpha1.ReasonQueued, "at position 1")
	w.cancel("second", "ada")
	w.archivedAs("second", v1alpha1.ReasonSaved, "")
	if rec, _ := w.shelf.record("second"); rec.State != v1alpha1.ReasonCanceled || len(rec.Logs) != 0 {
		t.Errorf("the record is %s with %d logs", rec.State, len(rec.Logs))
	}
}

// TestStoreAway: the end of a run never waits for the store, and its deletion does.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.create(aTrigger("brief", keptFor(time.Hour)))
	w.create(aSuite("saved", 0, of("brief")), aSuite("run", 0, of("brief")))
	w.runs("saved")
	w.exits("saved", 1)
	w.archivedAs("saved", v1alpha1.ReasonSaved, "")
	w.shelf.close(errClosed)
	w.runs("run")
	w.exits("run", 1)
	w.reaches("run", v1alpha1.ReasonFailed, "")
	s := w.archivedAs("run", v1alpha1.ReasonStoreUnavailable, "Waiting for the store: it refuses connections.")
	if s.Archived() {
		t.Error("the run is archived in a store that is away")
	}
	w.clock.moveOn(2 * time.Hour)
	w.touch("run")
	w.touch("saved")
	w.collectSuite("saved") // shows that the manager has looked at both
	if s := w.archivedAs("run", v1alpha1.ReasonStoreUnavailable, ""); s.DeletionTimestamp != nil {
		t.Fatal("the run is deleted before it is archived")
	}
	w.stop()
	w.shelf.close(nil)
	w.startManager()
	w.collectSuite("run")
	if text, _ := w.shelf.log("run-pod", "test"); text == "" {
		t.Error("the log is not archived")
	}
}

// TestStoreAwayForLong: after a day, the run is deleted all the same.
func TestStoreAwayForLong(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.shelf.close(errClosed)
	w.create(aTrigger("brief", keptFor(time.Second)))
	w.create(aSuite("run", 0, of("brief")))
	w.runs("run")
	w.exits("run", 1)
	w.archivedAs("run", v1alpha1.ReasonStoreUnavailable, "")
	w.clock.moveOn(24*time.Hour + time.Minute)
	w.touch("run")
	w.collectSuite("run")
}

// TestExpiredEnvironmentWaits: its runs are deleted with it, so they are archived before.
func TestExpiredEnvironmentWaits(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.shelf.close(errClosed)
	w.create(anEnvironment("pr-1", ephemeral(w.clock.Now().Add(time.Hour))))
	w.create(aSuite("run", 0, at("pr-1")))
	w.runs("run")
	w.exits("run", 1)
	w.archivedAs("run", v1alpha1.ReasonStoreUnavailable, "")
	w.clock.moveOn(2 * time.Hour)
	w.change(anEnvironment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.create(anEnvironment("pr-2", ephemeral(w.clock.Now()))) // its end shows that the manager has reconciled
	w.gone(&v1alpha1.Environment{}, "pr-2")
	w.must(w.Client.Get(context.Background(), w.key("pr-1"), &v1alpha1.Environment{}))
	w.stop() // so that the next attempt need not be waited for
	w.shelf.close(nil)
	w.startManager()
	w.gone(&v1alpha1.Environment{}, "pr-1")
	if _, ok := w.shelf.record("run"); !ok {
		t.Error("the Environment went before its run was archived")
	}
}

// TestNodeAway: the log is asked for as long as the node may come back, and then told.
func TestNodeAway(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, nil)
	w.create(aSuite("run", 0))
	w.runs("run")
	w.exits("run", 1)
	w.archivedAs("run", v1alpha1.ReasonLogsUnavailable, fmt.Sprintf("The node %s did not hand out the log.", w.node))
	if _, ok := w.shelf.record("run"); ok {
		t.Error("there is a record before the node was given up")
	}
	w.stop()
	w.clock.moveOn(6 * time.Minute)
	w.startManager()
	w.archivedAs("run", v1alpha1.ReasonIncomplete, "Container test of pod run-pod: The node")
	rec, _ := w.shelf.record("run")
	if len(rec.Logs) != 1 || rec.Logs[0].Problem == "" || !strings.Contains(rec.Archive.Message, "logs are lost") {
		t.Errorf("the record says %+v and %+v", rec.Logs, rec.Archive)
	}
}

// TestNodeGone: nothing brings the log back, and the record says so.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.node = "no-such-node"
	w.create(aSuite("run", 0))
	w.runs("run")
	w.exits("run", 1)
	w.archivedAs("run", v1alpha1.ReasonIncomplete, "The node no-such-node is gone, and the log with it.")
}

// TestPodGone: a pod was deleted while no manager watched.
func TestPodGone(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.create(aSuite("run", 0))
	w.runs("run")
	w.stop()
	w.podStops("run")
	w.ends("run", func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
	w.startManager()
	w.archivedAs("run", v1alpha1.ReasonIncomplete, "All pods were gone before their logs could be read.")
}

// TestArchiveIsRestored: somebody removes the condition.
func TestArchiveIsRestored(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	w.create(aSuite("run", 0))
	w.runs("run")
	w.exits("run", 1)
	s := w.archivedAs("run", v1alpha1.ReasonSaved, "")
	w.status(s, func() { meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionArchived) })
	w.archivedAs("run", v1alpha1.ReasonSaved, "")
	if _, written := w.shelf.log("run-pod", "test"); written != 1 {
		t.Errorf("the log was saved %d times", written)
	}
	if rec, _ := w.shelf.record("run"); rec.Logs[0].Bytes != int64(len("the log of test\n")) {
		t.Errorf("the second record says %+v", rec.Logs)
	}
}

// TestPodOfAnEarlierSuite is not of this run, although it has its label.
func TestPodOfAnEarlierSuite(t *testing.T) {
	t.Parallel()
	w := newArchiveWorld(t, says)
	stranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger", Labels: map[string]string{v1alpha1.LabelSuite: "run"}},
		Spec:       corev1.PodSpec{NodeName: w.node, Containers: []corev1.Container{{Name: "test", Image: "test"}}},
	}
	w.create(stranger)
	w.create(aSuite("run", 0))
	w.runs("run")
	w.exits("run", 1)
	w.archivedAs("run", v1alpha1.ReasonSaved, "")
	if rec, _ := w.shelf.record("run"); len(rec.Logs) != 1 || rec.Logs[0].Pod != "run-pod" {
		t.Errorf("the logs are %+v", rec.Logs)
	}
}
