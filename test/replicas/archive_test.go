package replicas

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
	"github.com/postflight-dev/postflight/test/tier"
)

// logSize is more than is kept of a log, in bytes.
const logSize = 20 << 20

// TestArchiveMemory ends 200 runs at once, or 40 unless POSTFLIGHT_E2E_FULL=1, each with a log of 20 MiB, under the memory
// limit of the container. The manager must survive, save them all, and meanwhile report the end of other runs without delay.
// The API server and the store are real; the node is a handler of this test.
func TestArchiveMemory(t *testing.T) {
	tier.All(t, "it archives gigabytes, and compares times with a bound")
	s := apiserver.Alone(t)
	runs := 40
	if os.Getenv("POSTFLIGHT_E2E_FULL") == "1" {
		runs = 200
	}
	memory := newCgroup(t, containerMemory)
	store := stores.Rclone(t)
	stores.Credentials(t)
	a := &archive.Archive{Bucket: store.Bucket(t)}
	for name, value := range map[string]string{
		"POSTFLIGHT_STORE_ENDPOINT": store.Address, "POSTFLIGHT_STORE_BUCKET": store.Options().Bucket, "POSTFLIGHT_IMAGE": "none",
		"GOMEMLIMIT": goMemoryLimit,
	} {
		t.Setenv(name, value)
	}
	systemNamespace(t, s)
	tier.AtMost(t, "the end of another run", promptly, func() time.Duration { return archiveBeside(t, s, a, memory, runs) })
}

// archiveBeside archives runs, and returns how long the slowest end of another one took to be reported meanwhile.
func archiveBeside(t *testing.T, s *apiserver.Server, a *archive.Archive, memory *cgroup, runs int) (slowest time.Duration) {
	busy, other := newTeam(t, s), newTeam(t, s)
	all := busy.endedRuns(runs, s.Node(t, chatter))
	began := time.Now()
	r := startWith(t, managers.Options{Kubeconfig: kubeconfigOf(t, s.Manager(t)), Within: memory.run()})
	defer r.Kill()
	r.AwaitReady()
	slowest = other.endRuns(r, 20)
	err := poll.Wait(10*time.Minute, "all runs are archived", func() string {
		time.Sleep(time.Second) // a list of runs costs the API server much
		if n := busy.archived(); n < runs {
			return fmt.Sprintf("%d of %d", n, runs)
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	fmt.Printf("ARCHIVE_MEMORY runs=%d log_mib=%d seconds=%.0f cgroup_peak_mib=%d process_peak_mib=%d slowest_end_of_others_ms=%d\n",
		runs, logSize>>20, took.Seconds(), memory.peakMiB(), r.peakMiB(), slowest.Milliseconds())
	if memory.kills() > 0 {
		t.Error("the kernel killed the manager for its memory")
	}
	for _, run := range all[:3] {
		checkLog(t, a, run)
	}
	return slowest
}

// chatter is a kubelet with a log of logSize, which compresses to about half.
func chatter(w http.ResponseWriter, r *http.Request) {
	var line []byte
	for n := 0; n < logSize; n += len(line) {
		line = fmt.Appendf(line[:0], "%09d %x\n", n, uint64(n)*0x9e3779b97f4a7c15)
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// endedRuns have ended, and their pods wait to be read.
func (tm *team) endedRuns(n int, node string) []record.Run {
	tm.t.Helper()
	all := make([]record.Run, n)
	var group sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			name := fmt.Sprintf("run-%03d", i)
			s := &v1alpha1.Suite{ObjectMeta: tm.meta(name), Spec: v1alpha1.SuiteSpec{
				Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", Supersede: v1alpha1.SupersedeNone,
			}}
			tm.create(s)
			p := &corev1.Pod{ObjectMeta: tm.meta(name + "-pod"), Spec: corev1.PodSpec{
				NodeName: node, Containers: []corev1.Container{{Name: "test", Image: "test"}},
			}}
			p.Labels = map[string]string{v1alpha1.LabelSuite: name}
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID(name), Controller: new(true)}}
			tm.create(p)
			tm.updateStatus(p, func() { fakecluster.EndPod(p, 1) })
			tm.updateStatus(s, func() {
				lifecycle.SetStatus(s, lifecycle.Observation{Suite: s}, lifecycle.Decision{Condition: v1alpha1.Failed("The tests failed.")}, time.Now())
			})
			all[i] = record.Of(tm.namespace, s)
		})
	}
	group.Wait()
	return all
}

func (tm *team) updateStatus(o k8sclient.Object, change func()) {
	was := o.DeepCopyObject().(k8sclient.Object)
	change()
	if err := tm.s.Client.Status().Patch(context.Background(), o, k8sclient.MergeFrom(was)); err != nil {
		tm.t.Error(err)
	}
}

// endRuns ends runs, one after the other, and returns how long the slowest end took to be reported.
func (tm *team) endRuns(r *replica, n int) (slowest time.Duration) {
	tm.t.Helper()
	for i := range n {
		name := tm.byHand(fmt.Sprintf("other-%d", i))
		poll.True(tm.t, "the Job of "+name, func() bool {
			return tm.s.Client.Get(context.Background(), types.NamespacedName{Namespace: tm.namespace, Name: name}, &batchv1.Job{}) == nil
		})
		tm.complete(name)
		began := time.Now()
		poll.True(tm.t, "the end of "+name, func() bool {
			s := &v1alpha1.Suite{ObjectMeta: tm.meta(name)}
			tm.get(s)
			return s.Finished()
		})
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

func (tm *team) archived() (n int) {
	for _, s := range tm.suites() {
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived); c != nil && c.Reason == v1alpha1.ReasonSaved {
			n++
		}
	}
	return n
}

// peakMiB is the most memory that the process itself has used: without the files that it wrote, which the cgroup
// counts until they are on the disk.
func (r *replica) peakMiB() int { return r.MemoryMiB("VmHWM:") }

// checkLog reads a log from the archive: its head and its tail.
func checkLog(t *testing.T, a *archive.Archive, run record.Run) {
	t.Helper()
	log, err := a.OpenLog(t.Context(), run, run.ID+"-pod", "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	content, err := io.ReadAll(log)
	if err != nil || len(content) < 16<<20-1<<18 || len(content) > 16<<20+1<<10 {
		t.Errorf("%d bytes of the log were kept, %v", len(content), err)
	}
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if marks := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "[postflight:") }); len(marks) != 1 {
		t.Errorf("the log has the marks %q", marks)
	}
	if !strings.HasPrefix(lines[0], "000000000 ") || !strings.HasPrefix(lines[len(lines)-1], "0209715") {
		t.Errorf("the log begins with %q and ends with %q", lines[0], lines[len(lines)-1])
	}
}
