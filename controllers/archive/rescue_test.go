package archive_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

// node is a kubelet of containers that print until they stop, and whose logs are gone then.
type node struct {
	mu      sync.Mutex
	stopped chan struct{}
	follows int  // connections that followed a log
	breaks  int  // how many of them break
	quiet   bool // the containers print nothing until they stop
	removed bool // the containers
	prints  string
}

func newNode() *node { return &node{stopped: make(chan struct{}), prints: "begun"} }

// stop ends the containers. As a real kubelet does, it removes them.
func (n *node) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.removed = true
	close(n.stopped)
}

func (n *node) following() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.follows
}

func (n *node) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	follow := r.URL.Query().Get("follow") == "true"
	if n.removed {
		n.mu.Unlock()
		fmt.Fprint(rw, "unable to retrieve container logs for containerd://0a1b2c")
		return
	}
	breaks := follow && n.follows < n.breaks
	if follow {
		n.follows++
	}
	quiet := n.quiet
	n.mu.Unlock()
	if !quiet {
		fmt.Fprintln(rw, n.prints)
		_ = http.NewResponseController(rw).Flush()
	}
	if breaks {
		panic(http.ErrAbortHandler)
	}
	if follow {
		select {
		case <-n.stopped:
		case <-r.Context().Done():
		}
	}
	fmt.Fprintln(rw, "ended")
}

// running says that the container of a pod runs.
func running(w *world.World, name string) *corev1.Pod {
	w.T.Helper()
	p := w.PodOf(name)
	w.Status(p, func() {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "test", Image: "test", ImageID: "test", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}
	})
	return p
}

// follows waits until a log is being followed.
func follows(w *world.World, n *node, connections int) {
	w.T.Helper()
	w.Eventually("the log is followed", func() string {
		if got := n.following(); got < connections {
			return fmt.Sprintf("by %d connections", got)
		}
		return ""
	})
}

// losesPod deletes the pod of a run while it prints, and waits until so many connections have followed its log.
func losesPod(w *world.World, name string, n *node, connections int) {
	w.T.Helper()
	w.Runs(name)
	w.Delete(running(w, name))
	follows(w, n, connections)
	n.stop()
	w.PodStops(name)
	exitsWithoutPod(w, name)
}

// rescued checks that the archive has the whole log, although the pod is gone.
func rescued(w *world.World, name string) {
	w.T.Helper()
	w.ArchivedAs(name, v1alpha1.ReasonSaved, "")
	if text, written := w.Archive.Log(name+"-pod", "test"); text != "begun\nended\n" || written != 1 {
		w.T.Errorf("the log of %s is %q, saved %d times", name, text, written)
	}
	if rec, _ := w.Archive.Record(name); len(rec.Logs) != 1 || rec.Logs[0].Problem != "" || rec.Logs[0].Bytes != int64(len("begun\nended\n")) {
		w.T.Errorf("the record of %s says %+v", name, rec.Logs)
	}
}

// TestDeletedPod: its log is followed from the moment it is deleted, in any way, and kept.
func TestDeletedPod(t *testing.T) {
	t.Parallel()
	n := newNode()
	w := world.WithArchive(t, n.ServeHTTP)
	w.Create(build.Suite("run", 0))
	losesPod(w, "run", n, 1)
	rescued(w, "run")
}

// TestDeletedPodAndSlowStore: the kubelet does not wait until the store has said which logs it has.
func TestDeletedPodAndSlowStore(t *testing.T) {
	t.Parallel()
	n := newNode()
	w := world.WithArchive(t, n.ServeHTTP)
	release := w.Archive.Hold()
	w.Start(build.Suite("run", 0))
	w.Delete(running(w, "run"))
	follows(w, n, 1)
	n.stop()
	w.PodStops("run")
	release()
	exitsWithoutPod(w, "run")
	rescued(w, "run")
}

// TestDeletedPodThatIsQuiet: the kubelet does not answer before the container prints something, which may take longer
// than a node has time to answer.
func TestDeletedPodThatIsQuiet(t *testing.T) {
	t.Parallel()
	n := newNode()
	n.quiet = true
	w := world.WithArchive(t, n.ServeHTTP)
	w.Start(build.Suite("run", 0))
	w.Delete(running(w, "run"))
	follows(w, n, 2)
	n.stop()
	w.Eventually("the log is saved", func() string {
		if text, _ := w.Archive.Log("run-pod", "test"); text != "ended\n" {
			return fmt.Sprintf("it is %q", text)
		}
		return ""
	})
}

// TestDeletedPodThatStarts: the pod is deleted before its kubelet has said that the container runs.
func TestDeletedPodThatStarts(t *testing.T) {
	t.Parallel()
	n := newNode()
	w := world.WithArchive(t, n.ServeHTTP)
	w.Start(build.Suite("run", 0))
	before := w.Wire.Count("GET pods")
	w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "run-pod"}})
	poll.True(t, "the manager has read the pod", func() bool { return w.Wire.Count("GET pods") > before })
	running(w, "run")
	follows(w, n, 1)
	n.stop()
	w.PodStops("run")
	exitsWithoutPod(w, "run")
	rescued(w, "run")
}

// exitsWithoutPod fails a Job whose pod is gone.
func exitsWithoutPod(w *world.World, name string) {
	w.T.Helper()
	w.Delete(w.HasJob(name))
	w.Reaches(name, v1alpha1.ReasonError, "was deleted before it ended")
}

// TestDeletedRun: the Job is deleted, and the manager is killed while the log is followed. The next one begins anew.
func TestDeletedRun(t *testing.T) {
	t.Parallel()
	n := newNode()
	w := world.WithArchive(t, n.ServeHTTP)
	w.Start(build.Suite("run", 0))
	p := running(w, "run")
	w.Delete(w.HasJob("run"))
	w.Delete(p)
	follows(w, n, 1)
	w.Stop()
	w.StartManager()
	follows(w, n, 2)
	n.stop()
	w.PodStops("run")
	w.Reaches("run", v1alpha1.ReasonError, "was deleted before it ended")
	rescued(w, "run")
}

// TestConnectionBreaks: the log goes on where it was, although the API server makes a broken connection to a kubelet
// look like the end of the log.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	n := newNode()
	n.breaks = 1
	w := world.WithArchive(t, n.ServeHTTP)
	w.Create(build.Suite("run", 0))
	losesPod(w, "run", n, 2)
	rescued(w, "run")
}

// TestEvictedPod: the kubelet says so by an event alone until the containers have stopped.
func TestEvictedPod(t *testing.T) {
	t.Parallel()
	n := newNode()
	w := world.WithArchive(t, n.ServeHTTP)
	w.Start(build.Suite("run", 0))
	p := running(w, "run")
	w.Create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "run-pod.evicted"}, EventTime: metav1.NowMicro(), Type: corev1.EventTypeWarning,
		Reason: "Evicted", Action: "Evicting", Note: "The node was low on resource: ephemeral-storage.",
		ReportingController: "kubelet", ReportingInstance: w.NodeName,
		Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: w.NS, Name: p.Name, UID: p.UID},
	})
	follows(w, n, 1)
	n.stop()
	w.Exits("run", 137)
	rescued(w, "run")
}

// TestRestartedPodBesideOthers: the kubelet removes the log from before the restart as soon as the container stops again, so
// it is read although the team's other logs, which take long, have all the streams that they can get.
func TestRestartedPodBesideOthers(t *testing.T) {
	t.Parallel()
	const streams = 7 // of a team, for containers that run
	n := newNode()
	w := world.WithArchive(t, n.ServeHTTP)
	for i := range streams {
		name := fmt.Sprintf("slow-%d", i)
		w.Start(build.Suite(name, 0))
		w.Delete(running(w, name))
	}
	follows(w, n, streams)
	w.Start(build.Suite("restarted", 0))
	restarted := running(w, "restarted")
	w.Status(restarted, func() {
		restarted.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	})
	w.Delete(restarted)
	w.Eventually("the log from before the restart is saved", func() string {
		if text, _ := w.Archive.PreviousLog("restarted-pod", "test"); text != "begun\nended\n" {
			return fmt.Sprintf("it is %q", text)
		}
		return ""
	})
	for i := range streams {
		if _, written := w.Archive.Log(fmt.Sprintf("slow-%d-pod", i), "test"); written > 0 {
			t.Errorf("slow-%d had given up its stream", i)
		}
	}
	n.stop()
}

// TestPodOfAnArchivedRun: the deletion of an old run reads nothing again.
func TestPodOfAnArchivedRun(t *testing.T) {
	t.Parallel()
	n := newNode()
	w := world.WithArchive(t, n.ServeHTTP)
	w.Create(build.Suite("old", 0), build.Suite("new", 0))
	for _, name := range []string{"old", "new"} {
		w.Runs(name)
		running(w, name)
	}
	w.Exits("old", 1)
	w.ArchivedAs("old", v1alpha1.ReasonSaved, "")
	old := w.PodOf("old")
	w.Status(old, func() { old.Status.Phase = corev1.PodRunning })
	w.Delete(old)
	w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "new-pod"}})
	follows(w, n, 1)
	n.stop()
	w.PodStops("new")
	exitsWithoutPod(w, "new")
	rescued(w, "new") // long after the manager has seen that the old one is deleted
	if got := n.following(); got != 1 {
		t.Errorf("%d logs were followed, want that of the new run", got)
	}
	if _, written := w.Archive.Log("old-pod", "test"); written != 1 {
		t.Errorf("the log of the old run was saved %d times", written)
	}
}
