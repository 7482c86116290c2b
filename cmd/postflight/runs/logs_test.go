package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	postflight "github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/test/clitest"
)

// aPod of the run a downloads before it tests.
func aPod(phase corev1.PodPhase, fetch, test corev1.ContainerState) *corev1.Pod {
	status := func(name string, state corev1.ContainerState) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name, State: state}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "a-1", Labels: map[string]string{v1alpha1.LabelSuite: "a"},
			CreationTimestamp: metav1.NewTime(clitest.Noon)},
		Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "postflight-fetch"}},
			Containers: []corev1.Container{{Name: "test"}, {Name: "browser"}}},
		Status: corev1.PodStatus{Phase: phase, InitContainerStatuses: status("postflight-fetch", fetch),
			ContainerStatuses: append(status("test", test), status("browser", test)...)},
	}
}

func TestRunsLogs(t *testing.T) {
	waiting, running := corev1.ContainerState{}, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	again := aPod(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, waiting)
	again.Status.InitContainerStatuses[0].LastTerminationState = ended(3)
	const none, both = "", "==> a-1/test <==\nfake logs\n==> a-1/browser <==\nfake logs"
	cases := map[string]struct {
		reason    string
		pod       *corev1.Pod
		logs      postflight.LogOptions
		want      string
		requested string // the containers whose logs were requested
		says      string
	}{
		"tests":             {pod: aPod(corev1.PodRunning, ended(0), running), want: both, requested: "test browser"},
		"tests that failed": {pod: aPod(corev1.PodFailed, ended(0), ended(1)), want: both, requested: "test browser"},
		"one of the tests": {pod: aPod(corev1.PodRunning, ended(0), running), logs: postflight.LogOptions{Container: "browser"},
			want: "fake logs", requested: "browser"},
		"download, by name": {pod: aPod(corev1.PodRunning, ended(0), running), logs: postflight.LogOptions{Container: "postflight-fetch"},
			want: "fake logs", requested: "postflight-fetch"},
		"download, by name, while it runs": {pod: aPod(corev1.PodPending, running, waiting),
			logs: postflight.LogOptions{Container: "postflight-fetch"},
			want: "fake logs", requested: "postflight-fetch"},
		"download, followed by name": {pod: aPod(corev1.PodPending, running, waiting),
			logs: postflight.LogOptions{Container: "postflight-fetch", Follow: true},
			want: "fake logs", requested: "postflight-fetch"},
		"download that failed": {reason: "the kubelet has no log of the tests", pod: aPod(corev1.PodFailed, ended(3), waiting),
			want: "fake logs", requested: "postflight-fetch",
			says: "No test has started. This is the log of the init container postflight-fetch, which failed with exit code 3."},
		"download that runs": {pod: aPod(corev1.PodPending, running, waiting), want: "fake logs", requested: "postflight-fetch",
			says: "which is running"},
		"download begins again": {pod: again, want: "fake logs", requested: "postflight-fetch", says: "failed with exit code 3"},
		"download has ended": {pod: aPod(corev1.PodPending, ended(0), waiting), want: "fake logs", requested: "postflight-fetch",
			says: "which has ended"},
		"nothing has started": {pod: aPod(corev1.PodPending, waiting, waiting), want: none,
			says: "has such a log. Its state is Running: The pod runs."},
		"a container of no name": {pod: aPod(corev1.PodFailed, ended(0), ended(1)), logs: postflight.LogOptions{Container: "nope"},
			says: `no container "nope", but postflight-fetch, test, browser`},
		"a test not yet started": {pod: aPod(corev1.PodPending, running, waiting), logs: postflight.LogOptions{Container: "test"},
			says: "has such a log"},
		"no pod": {says: "Its state is Running: The pod runs."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := clitest.Suite("a")
			if tc.logs.Follow { // until its end
				clitest.Failed(run)
			}
			objects := []client.Object{run}
			if tc.pod != nil {
				objects = append(objects, tc.pod)
			}
			c, out, log := clitest.Console()
			source := clitest.Cluster(c, objects...)
			err := (&LogsOptions{Options: onCluster(source), LogOptions: tc.logs}).Run(t.Context(), "a")
			if out.String() != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s: %v: %q, want %q", tc.reason, err, out, tc.want)
			}
			if got := requested(&source); got != tc.requested {
				t.Errorf("%s: requested logs of %q, want %q", tc.reason, got, tc.requested)
			}
			if all := fmt.Sprint(log, err); !strings.Contains(all, tc.says) {
				t.Errorf("%q is not said in\n%s", tc.says, all)
			}
		})
	}
}

// With --follow, logs waits for the tests while the files are downloaded.
func TestRunsLogsFollowedWaitForTheTests(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c, out, _ := clitest.Console()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	source := clitest.Cluster(c, clitest.Suite("a"), aPod(corev1.PodPending, running, corev1.ContainerState{}))
	o := &LogsOptions{Options: onCluster(source), LogOptions: postflight.LogOptions{Follow: true}}
	if err := o.Run(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) || out.Len() > 0 {
		t.Errorf("%v: %q", err, out)
	}
}

// requested returns the containers whose logs were requested.
func requested(c *access.Cluster) string {
	var containers []string
	for _, action := range c.Pods.(*kubefake.Clientset).Actions() {
		if options, ok := action.(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions); ok {
			containers = append(containers, options.Container)
		}
	}
	return strings.Join(containers, " ")
}

// Pods of a Job that is parallel or retried are all printed, oldest first, unless one is chosen.
func TestRunsLogsOfSeveralPods(t *testing.T) {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	older, newer := aPod(corev1.PodFailed, ended, ended), aPod(corev1.PodFailed, ended, ended)
	newer.Name, newer.CreationTimestamp = "a-0", metav1.NewTime(clitest.Noon.Add(time.Minute))
	for _, pod := range []*corev1.Pod{older, newer} {
		pod.Spec.Containers = pod.Spec.Containers[:1]
	}
	for chosen, want := range map[string]string{"": "==> a-1/test <==\nfake logs\n==> a-0/test <==\nfake logs", "a-0": "fake logs"} {
		c, out, _ := clitest.Console()
		source := clitest.Cluster(c, clitest.Suite("a"), newer, older)
		if err := (&LogsOptions{Options: onCluster(source), LogOptions: postflight.LogOptions{Pod: chosen, Tail: new(3),
			Previous: true}}).Run(t.Context(), "a"); err != nil || out.String() != want {
			t.Errorf("pod %q: %v, %q, want %q", chosen, err, out, want)
		}
		for _, action := range source.Pods.(*kubefake.Clientset).Actions() {
			options := action.(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions)
			if *options.TailLines != 3 || !options.Previous {
				t.Errorf("requested %+v", options)
			}
		}
	}
}

// The log of a run whose pods are gone is in the archive, which needs a key.
func TestRunsLogsOfAnArchivedRun(t *testing.T) {
	c, _, _ := clitest.Console()
	run := clitest.Suite("a", clitest.Failed, func(s *v1alpha1.Suite) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue,
			Message: "All logs are saved."})
	})
	err := (&LogsOptions{Options: onCluster(clitest.Cluster(c, run))}).Run(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "All logs are saved.") || !strings.Contains(err.Error(), "set POSTFLIGHT_URL") {
		t.Error(err)
	}
}

// TestRunsLogsWaitForTheServer: the server waits for a log for a minute only, and the command until there is one.
func TestRunsLogsWaitForTheServer(t *testing.T) {
	queued := clitest.Run("smoke-1", func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Queued("At place 2.")} })
	api := &clitest.API{Runs: []httpapi.Run{queued}, Logs: map[string]string{"smoke-1": "hello\n"}, LogMissing: 1}
	api.Start(t)
	out, log, code := program.Invoke(t, "runs", "logs", "-f", "smoke-1")
	if out != "hello\n" || log != "Queued: At place 2.\n" || code != 0 {
		t.Errorf("%q, %q, exit code %d", out, log, code)
	}
}
