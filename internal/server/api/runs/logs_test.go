package runs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
)

// podOf is a pod of the run r, in which all containers have run. The sidecar and the step before the tests are init containers.
func podOf(name string, minutes int, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: apitest.Namespace, Name: name, Labels: map[string]string{v1alpha1.LabelSuite: "r"},
			CreationTimestamp: metav1.NewTime(apitest.Created(minutes)),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "r", UID: "uid-job", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "postflight-collect"}, {Name: "migrate"}},
			Containers:     []corev1.Container{{Name: "test"}},
		},
	}
	for _, c := range change {
		c(p)
	}
	if p.Status.ContainerStatuses == nil {
		for _, c := range p.Spec.InitContainers {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, ran(c.Name))
		}
		for _, c := range p.Spec.Containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, ran(c.Name))
		}
	}
	return p
}

func ran(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
}

func andContainer(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name}) }
}

func restarted(p *corev1.Pod) {
	s := ran("test")
	s.LastTerminationState, s.RestartCount = s.State, 1
	p.Status.ContainerStatuses = []corev1.ContainerStatus{s}
}

func waiting(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "test",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
}

var (
	theRun = stored("r", 0)
	saved  = func(pod, container string) string {
		return record.Of(apitest.Namespace, theRun).LogKey(pod, container, false)
	}
)

// withRecord has the run r in the archive only.
func withRecord(logs ...record.Log) *apitest.FakeArchive {
	rec := apitest.Archived("r", 0, func(r *httpapi.Run) { r.State, r.Message = "TimedOut", "Too long." })
	rec.Logs = logs
	return &apitest.FakeArchive{Records: []record.Record{rec}}
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestLogs(t *testing.T) {
	node := apitest.FakeNode{
		"p/test": "hello\n", "p/migrate": "migrated\n", "p/postflight-collect": "collected\n", "p/other": "no end", "q/test": "second\n",
		"long/test": lines(1, 50),
	}
	archive := func(logs map[string]string) *apitest.FakeArchive { return &apitest.FakeArchive{LogTexts: logs} }
	running := stored("r", 0, func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{v1alpha1.Starting("Pulling the image.")}
	})
	cases := map[string]struct {
		reason  string
		objects []client.Object
		archive *apitest.FakeArchive
		query   string
		want    string
		code    string
		says    string
	}{
		"one container": {"it needs no title", []client.Object{theRun, podOf("p", 1)}, nil, "", "hello\n", "", ""},
		"two containers": {"in the order of the pod", []client.Object{theRun, podOf("p", 1, andContainer("other"))}, nil, "",
			"==> p/test <==\nhello\n==> p/other <==\nno end", "", ""},
		"two pods": {"in the order of time", []client.Object{theRun, podOf("q", 2), podOf("p", 3)}, nil, "",
			"==> q/test <==\nsecond\n==> p/test <==\nhello\n", "", ""},
		"no end of a line": {"a title begins a line", []client.Object{theRun, podOf("p", 1, andContainer("other")), podOf("q", 2)}, nil, "",
			"==> p/test <==\nhello\n==> p/other <==\nno end\n==> q/test <==\nsecond\n", "", ""},
		"one pod of two":    {"the query names it", []client.Object{theRun, podOf("q", 2), podOf("p", 3)}, nil, "pod=q", "second\n", "", ""},
		"an init container": {"the query names it", []client.Object{theRun, podOf("p", 1)}, nil, "container=migrate", "migrated\n", "", ""},
		"a sidecar": {"the query names it", []client.Object{theRun, podOf("p", 1)}, nil, "container=postflight-collect",
			"collected\n", "", ""},
		"the end":       {"of each", []client.Object{theRun, podOf("long", 1)}, nil, "tail=2", lines(49, 50), "", ""},
		"nothing of it": {"tail is 0", []client.Object{theRun, podOf("long", 1)}, nil, "tail=0", "", "", ""},
		"previous":      {"a restart", []client.Object{theRun, podOf("p", 1, restarted)}, nil, "previous=true", "hello\n", "", ""},
		"previous of none": {"no restart", []client.Object{theRun, podOf("p", 1)}, nil, "previous=true", "", "log_not_found",
			"Kubernetes restarted no such container"},
		"archived": {"the pod is gone", []client.Object{theRun},
			archive(map[string]string{saved("p", "test"): "kept\n", saved("p", "postflight-fetch"): "x"}), "", "kept\n", "", ""},
		"archived, the end": {"the pod is gone", []client.Object{theRun},
			archive(map[string]string{saved("p", "test"): lines(1, 9) + "no end"}), "tail=2", "line 9\nno end", "", ""},
		"archived, all of it": {"it has fewer lines", []client.Object{theRun}, archive(map[string]string{saved("p", "test"): lines(1, 9)}),
			"tail=10", lines(1, 9), "", ""},
		"archived, tail 0": {"tail is 0", []client.Object{theRun}, archive(map[string]string{saved("p", "test"): lines(1, 9)}), "tail=0",
			"", "", ""},
		"archived, long line": {"it is longer than the buffer", []client.Object{theRun},
			archive(map[string]string{saved("p", "test"): strings.Repeat("x", 3*limits.LogBuffer) + "\nend\n"}), "tail=1", "end\n", "", ""},
		"gone and here": {"one pod is gone, and one is not", []client.Object{theRun, podOf("q", 1)},
			archive(map[string]string{saved("p", "test"): "kept\n", saved("q", "test"): "x"}), "",
			"==> p/test <==\nkept\n==> q/test <==\nsecond\n", "", ""},
		"the node is gone": {"the pod is there, and the archive has its log", []client.Object{theRun, podOf("gone", 1)},
			archive(map[string]string{saved("gone", "test"): "kept\n"}), "", "kept\n", "", ""},
		"from the record": {"the Suite is gone", nil,
			withLogs(withRecord(record.Log{Pod: "p", Container: "test", Bytes: 5}), map[string]string{saved("p", "test"): "kept\n"}), "", "kept\n",
			"", ""},
		"lost": {"the record says why", nil,
			withRecord(record.Log{Pod: "p", Container: "test", Problem: "The node n1 is gone, and the log with it."}), "", "", "log_not_found",
			"The node n1 is gone, and the log with it."},
		"one of two lost": {"it is told in its place", nil,
			withLogs(withRecord(record.Log{Pod: "p", Container: "test", Problem: "The node n1 is gone."},
				record.Log{Pod: "q", Container: "test", Bytes: 5}), map[string]string{saved("q", "test"): "kept\n"}), "",
			"==> p/test <==\n[The node n1 is gone.]\n==> q/test <==\nkept\n", "", ""},
		"saved in part": {"what there is is better", nil,
			withLogs(withRecord(record.Log{Pod: "p", Container: "test", Bytes: 5, Problem: "It ends early."}),
				map[string]string{saved("p", "test"): "kept\n"}), "", "kept\n", "", ""},
		"no logs at all": {"it never ran", nil, withRecord(), "", "", "log_not_found", "It ended as TimedOut: Too long."},
		"hostile names": {"they could fake a line", nil, withRecord(record.Log{Pod: "p", Container: "x <==\r\nfake: 1", Bytes: 5}), "",
			"", "log_not_found", "It ended as"},
		"not started": {"the state says why", []client.Object{running, podOf("p", 1, waiting)}, nil, "", "", "log_not_found",
			"Its state is Starting: Pulling the image. Ask again later"},
		"no store": {"the pods are gone", []client.Object{theRun}, nil, "", "", "log_not_found",
			"No object store is configured, so logs end with their pods"},
		"not archived yet": {"the pods are gone", []client.Object{theRun}, archive(nil), "", "", "log_not_found", "It is being archived"},
		"another container": {"there is no such", []client.Object{theRun, podOf("p", 1)}, nil, "container=unknown", "", "log_not_found",
			"It has those of p/test."},
		"another pod": {"there is no such", []client.Object{theRun, podOf("p", 1)}, nil, "pod=q", "", "log_not_found",
			"It has those of p/test."},
		"the node is away": {"it may come back", []client.Object{theRun, podOf("away", 1)}, nil, "", "", "unavailable",
			"The node of the pod does not hand out the log"},
		"an earlier Suite's": {"it had the same name", []client.Object{theRun, podOf("p", -5)}, nil, "", "", "log_not_found",
			"No object store"},
		"archive away, pod": {"the pod is there", []client.Object{theRun, podOf("p", 1)},
			&apitest.FakeArchive{Err: errors.New("it refuses connections")}, "", "hello\n", "", ""},
		"archive away, no pod": {"nobody knows", []client.Object{theRun}, &apitest.FakeArchive{Err: errors.New("it refuses connections")}, "",
			"", "store_unavailable", "it refuses connections"},
	}
	node["away/test"] = fmt.Errorf("%w (test)", apierror.ErrNodeUnreachable)
	for name, tc := range cases {
		for _, follow := range []string{"", "&follow=true"} {
			if follow != "" && tc.code == "log_not_found" && strings.Contains(tc.says, "Its state is") {
				continue // it waits
			}
			t.Run(name+follow, func(t *testing.T) {
				h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(tc.objects...), Config: func(c *api.Config) {
					c.Runs.PodLogs = node
					if tc.archive != nil {
						c.Runs.Archive = tc.archive
					}
				}})
				w := h.Exchange(apitest.Get(apitest.RunsPath + "/r/logs?" + tc.query + follow))
				if tc.code != "" {
					if got := apitest.Decode[httpapi.Problem](t, w); got.FailureCode != tc.code || !strings.Contains(got.FailureMessage, tc.says) {
						t.Errorf("%s: status %d: %s", tc.reason, w.Code, w.Body)
					}
					return
				}
				if w.Code != http.StatusOK || w.Body.String() != tc.want {
					t.Errorf("%s: status %d: %q, want %q", tc.reason, w.Code, w.Body, tc.want)
				}
				if h := w.Header(); h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("headers %v", h)
				}
			})
		}
	}
}

func withLogs(a *apitest.FakeArchive, logs map[string]string) *apitest.FakeArchive {
	a.LogTexts = logs
	return a
}

func TestBadLogRequests(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(theRun, podOf("p", 1)),
		Config: func(c *api.Config) { c.Runs.PodLogs = apitest.FakeNode{"p/test": "hello\n"} }})
	for _, query := range []string{
		"tail=-1", "tail=1e9", "tail=1000000000", "tail=99999999999999999999", "tail=", "tail=x", "follow=yes", "previous=1", "pod=",
		"container=", "pods=p", "pod=a&pod=b",
	} {
		if w := h.Exchange(apitest.Get(apitest.RunsPath + "/r/logs?" + query)); w.Code != http.StatusBadRequest ||
			apitest.Decode[httpapi.Problem](t, w).FailureCode != "invalid_request" {
			t.Errorf("%s: status %d: %s", query, w.Code, w.Body)
		}
	}
	for _, query := range []string{"container=a%0d%0aX-Injected:1", "pod=..%2f..", "container=" + strings.Repeat("a", 1000), "pod=%00"} {
		w := h.Exchange(apitest.Get(apitest.RunsPath + "/r/logs?" + query))
		if w.Code != http.StatusNotFound || apitest.Decode[httpapi.Problem](t, w).FailureCode != "log_not_found" ||
			len(w.Header().Values("X-Injected")) > 0 {
			t.Errorf("%s: status %d: %s", query, w.Code, w.Body)
		}
	}
}

// TestSecretsInLogs: values of secret variables are masked in the logs of runs, before and after they end.
func TestSecretsInLogs(t *testing.T) {
	secret := func(s *v1alpha1.Suite) {
		s.Spec.Variables = v1alpha1.Variables{"DB_PASSWORD": "hunter2", "BRANCH": "feature"}
	}
	running := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Running("")} }
	for name, run := range map[string]*v1alpha1.Suite{"running": stored("r", 0, secret, running), "ended": stored("r", 0, secret)} {
		for _, query := range []string{"", "?follow=true", "?tail=1"} {
			if query == "?follow=true" && !run.Finished() {
				continue // it waits for the next container
			}
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(run, podOf("p", 1)), Config: func(c *api.Config) {
				c.Runs.PodLogs = apitest.FakeNode{"p/test": "connecting to feature with password=hunter2\n"}
			}})
			const want = "connecting to feature with password=***\n"
			if w := h.Exchange(apitest.Get(apitest.RunsPath + "/r/logs" + query)); w.Code != http.StatusOK ||
				!strings.HasSuffix(w.Body.String(), want) {
				t.Errorf("%s, %q: status %d: %q", name, query, w.Code, w.Body)
			}
		}
	}
}

// TestHungNode: what hangs is given up, before the log and within it.
func TestHungNode(t *testing.T) {
	hung := func(ctx context.Context) (io.ReadCloser, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	stalled := func(ctx context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("begun\n"), readerFunc(func([]byte) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}))), nil
	}
	limits := func(l *limits.Limits) { l.LookupTimeout, l.LogStall = 20*time.Millisecond, 20*time.Millisecond }
	for name, tc := range map[string]struct {
		node    any
		archive *apitest.FakeArchive
		want    string
	}{
		"before the log":              {hung, nil, "status 503"},
		"before it, archived":         {hung, &apitest.FakeArchive{LogTexts: map[string]string{saved("p", "test"): "kept\n"}}, "kept\n"},
		"within the log":              {stalled, nil, "begun\n, broken off"},
		"within the log, followed":    {stalled, nil, "begun\n, broken off"},
		"before the log, while ended": {hung, nil, "status 503"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(theRun, podOf("p", 1)), Limits: limits, Config: func(c *api.Config) {
					c.Runs.PodLogs = apitest.FakeNode{"p/test": tc.node}
					if tc.archive != nil {
						c.Runs.Archive = tc.archive
					}
				}})
				query := ""
				if strings.Contains(name, "followed") {
					query = "?follow=true"
				}
				if got := h.Read(query); got != tc.want {
					t.Errorf("%q, want %q", got, tc.want)
				}
				if n := h.Runs.Sending.InUse(); n != 0 {
					t.Errorf("%d slots are taken", n)
				}
			})
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
