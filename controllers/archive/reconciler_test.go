package archive_test

import (
	"errors"
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
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

var errClosed = errors.New("it refuses connections")

// ran says that containers of the pod of a run have ended.
func ran(w *world.World, name string, containers ...string) {
	w.T.Helper()
	p := w.PodOf(name)
	w.Status(p, func() {
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
	w := world.WithArchive(t, world.PrintsName)
	w.Start(build.Suite("run", 0, func(s *v1alpha1.Suite) { s.Spec.Variables = v1alpha1.Variables{"GREP": "@smoke"} }))
	w.Exits("run", 1)
	s := w.ArchivedAs("run", v1alpha1.ReasonSaved, "The record and the logs are in the object store.")
	rec, _ := w.Archive.Record("run")
	if rec.State != v1alpha1.ReasonFailed || rec.Team != w.NS || rec.Archive == nil || !rec.Archive.Done || rec.EndedAt == nil {
		t.Errorf("the record is %+v", rec.Run)
	}
	if rec.Suite.Spec.Variables["GREP"] != "@smoke" {
		t.Error("the record lacks the variables, which the cache drops")
	}
	if len(rec.Logs) != 1 || rec.Logs[0].Container != "test" || rec.Logs[0].Bytes != int64(len("the log of test\n")) {
		t.Errorf("the logs are %+v", rec.Logs)
	}
	if text, _ := w.Archive.Log("run-pod", "test"); text != "the log of test\n" {
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
	w := world.WithArchive(t, func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/deleted-pod/") {
			n.ServeHTTP(rw, r)
			return
		}
		world.PrintsName(rw, r)
	})
	w.Create(build.Suite("kept", 0, secret), build.Suite("deleted", 1, secret))
	w.Runs("kept")
	w.Exits("kept", 1)
	losesPod(w, "deleted", n, 1)
	for name, want := range map[string]string{"kept": "the ***\n", "deleted": "*** and more\nended\n"} {
		w.ArchivedAs(name, v1alpha1.ReasonSaved, "")
		if text, _ := w.Archive.Log(name+"-pod", "test"); text != want {
			t.Errorf("the log of %s is saved as %q, want %q", name, text, want)
		}
	}
}

// TestRequestsOfTheArchive counts what it costs the API server to archive a run whose pod has two containers.
func TestRequestsOfTheArchive(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Create(build.Trigger("two", func(t *v1alpha1.Trigger) {
		pod := &t.Spec.JobTemplate.Spec.Template.Spec
		pod.Containers = append(pod.Containers, corev1.Container{Name: "browser", Image: "test"})
	}))
	w.Start(build.Suite("run", 0, build.OfTrigger("two")))
	ran(w, "run", "test", "browser")
	w.Ends("run", func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
	ended := w.Reaches("run", v1alpha1.ReasonFailed, "")
	w.ArchivedAs("run", v1alpha1.ReasonSaved, "")
	logs := w.Wire.Count("GET pods/log")
	fmt.Printf("ARCHIVE_REQUESTS containers=2 get_suite=%d list_pods=1 get_logs=%d patch_status=1\n", w.Wire.Count("GET suites"), logs)
	if logs != 2 || ended == nil {
		t.Errorf("%d logs were read, want 2", logs)
	}
}

// TestNoStore: without an archive, a run says nothing about one, and is deleted in time.
func TestNoStore(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("brief", build.KeptFor(time.Second)))
	w.Start(build.Suite("run", 0, build.OfTrigger("brief")))
	w.Passes("run")
	s := w.Reaches("run", v1alpha1.ReasonPassed, "")
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived); c != nil {
		t.Errorf("the run says %+v", c)
	}
	w.CollectSuite("run")
}

// TestRunWithoutPods is canceled in the queue: it has a record, and no log is missing.
func TestRunWithoutPods(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Create(build.Trigger("one", build.AtMost(1)))
	w.Start(build.Suite("first", 0, build.OfTrigger("one")))
	w.Create(build.Suite("second", 1, build.OfTrigger("one")))
	w.Reaches("second", v1alpha1.ReasonQueued, "at position 1")
	w.Cancel("second", "ada")
	w.ArchivedAs("second", v1alpha1.ReasonSaved, "")
	if rec, _ := w.Archive.Record("second"); rec.State != v1alpha1.ReasonCanceled || len(rec.Logs) != 0 {
		t.Errorf("the record is %s with %d logs", rec.State, len(rec.Logs))
	}
}

// TestStoreAway: the end of a run never waits for the store, and its deletion does.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Create(build.Trigger("brief", build.KeptFor(time.Hour)))
	w.Create(build.Suite("saved", 0, build.OfTrigger("brief")), build.Suite("run", 0, build.OfTrigger("brief")))
	w.Runs("saved")
	w.Exits("saved", 1)
	w.ArchivedAs("saved", v1alpha1.ReasonSaved, "")
	w.Archive.Close(errClosed)
	w.Runs("run")
	w.Exits("run", 1)
	w.Reaches("run", v1alpha1.ReasonFailed, "")
	s := w.ArchivedAs("run", v1alpha1.ReasonStoreUnavailable, "Waiting for the store: it refuses connections.")
	if s.Archived() {
		t.Error("the run is archived in a store that is away")
	}
	w.Clock.MoveOn(2 * time.Hour)
	w.Touch("run")
	w.Touch("saved")
	w.CollectSuite("saved") // shows that the manager has looked at both
	if s := w.ArchivedAs("run", v1alpha1.ReasonStoreUnavailable, ""); s.DeletionTimestamp != nil {
		t.Fatal("the run is deleted before it is archived")
	}
	w.Stop()
	w.Archive.Close(nil)
	w.StartManager()
	w.CollectSuite("run")
	if text, _ := w.Archive.Log("run-pod", "test"); text == "" {
		t.Error("the log is not archived")
	}
}

// TestStoreAwayForLong: after a day, the run is deleted all the same.
func TestStoreAwayForLong(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Archive.Close(errClosed)
	w.Create(build.Trigger("brief", build.KeptFor(time.Second)))
	w.Start(build.Suite("run", 0, build.OfTrigger("brief")))
	w.Exits("run", 1)
	w.ArchivedAs("run", v1alpha1.ReasonStoreUnavailable, "")
	w.Clock.MoveOn(24*time.Hour + time.Minute)
	w.Touch("run")
	w.CollectSuite("run")
}

// TestExpiredEnvironmentWaits: its runs are deleted with it, so they are archived before.
func TestExpiredEnvironmentWaits(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Archive.Close(errClosed)
	w.Create(build.Environment("pr-1", build.Ephemeral(w.Clock.Now().Add(time.Hour))))
	w.Start(build.Suite("run", 0, build.InEnvironment("pr-1")))
	w.Exits("run", 1)
	w.ArchivedAs("run", v1alpha1.ReasonStoreUnavailable, "")
	w.Clock.MoveOn(2 * time.Hour)
	w.Change(build.Environment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.Create(build.Environment("pr-2", build.Ephemeral(w.Clock.Now()))) // its end shows that the manager has reconciled
	w.Gone(&v1alpha1.Environment{}, "pr-2")
	w.Read(build.Environment("pr-1"))
	w.Stop() // so that the next attempt need not be waited for
	w.Archive.Close(nil)
	w.StartManager()
	w.Gone(&v1alpha1.Environment{}, "pr-1")
	if _, ok := w.Archive.Record("run"); !ok {
		t.Error("the Environment went before its run was archived")
	}
}

// TestNodeAway: the log is asked for as long as the node may come back, and then told.
func TestNodeAway(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, nil)
	w.Start(build.Suite("run", 0))
	w.Exits("run", 1)
	w.ArchivedAs("run", v1alpha1.ReasonLogsUnavailable, fmt.Sprintf("The node %s did not hand out the log.", w.NodeName))
	if _, ok := w.Archive.Record("run"); ok {
		t.Error("there is a record before the node was given up")
	}
	w.Stop()
	w.Clock.MoveOn(6 * time.Minute)
	w.StartManager()
	w.ArchivedAs("run", v1alpha1.ReasonIncomplete, "Container test of pod run-pod: The node")
	rec, _ := w.Archive.Record("run")
	if len(rec.Logs) != 1 || rec.Logs[0].Problem == "" || !strings.Contains(rec.Archive.Message, "logs are lost") {
		t.Errorf("the record says %+v and %+v", rec.Logs, rec.Archive)
	}
}

// TestNodeGone: nothing brings the log back, and the record says so.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.NodeName = "no-such-node"
	w.Start(build.Suite("run", 0))
	w.Exits("run", 1)
	w.ArchivedAs("run", v1alpha1.ReasonIncomplete, "The node no-such-node is gone, and the log with it.")
}

// TestPodGone: a pod was deleted while no manager watched.
func TestPodGone(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Start(build.Suite("run", 0))
	w.Stop()
	w.PodStops("run")
	w.Ends("run", func(j *batchv1.Job) { j.Status.Failed = 1 }, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget, batchv1.JobFailed)
	w.StartManager()
	w.ArchivedAs("run", v1alpha1.ReasonIncomplete, "All pods were gone before their logs could be read.")
}

// TestArchiveIsRestored: somebody removes the condition.
func TestArchiveIsRestored(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	w.Start(build.Suite("run", 0))
	w.Exits("run", 1)
	s := w.ArchivedAs("run", v1alpha1.ReasonSaved, "")
	w.Status(s, func() { meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionArchived) })
	w.ArchivedAs("run", v1alpha1.ReasonSaved, "")
	if _, written := w.Archive.Log("run-pod", "test"); written != 1 {
		t.Errorf("the log was saved %d times", written)
	}
	if rec, _ := w.Archive.Record("run"); rec.Logs[0].Bytes != int64(len("the log of test\n")) {
		t.Errorf("the second record says %+v", rec.Logs)
	}
}

// TestPodOfAnEarlierSuite is not of this run, although it has its label.
func TestPodOfAnEarlierSuite(t *testing.T) {
	t.Parallel()
	w := world.WithArchive(t, world.PrintsName)
	stranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger", Labels: map[string]string{v1alpha1.LabelSuite: "run"}},
		Spec:       corev1.PodSpec{NodeName: w.NodeName, Containers: []corev1.Container{{Name: "test", Image: "test"}}},
	}
	w.Create(stranger)
	w.Start(build.Suite("run", 0))
	w.Exits("run", 1)
	w.ArchivedAs("run", v1alpha1.ReasonSaved, "")
	if rec, _ := w.Archive.Record("run"); len(rec.Logs) != 1 || rec.Logs[0].Pod != "run-pod" {
		t.Errorf("the logs are %+v", rec.Logs)
	}
}
