package runs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/poll"
)

// scene is a run whose pods and state change while it is followed.
type scene struct {
	*apitest.World
	writers map[string]*io.PipeWriter // by pod/container
	answer  *apitest.Stream
	done    chan any // how the handler ended: nil, or what it panicked with
}

func newScene(t *testing.T, state metav1.Condition, change func(*limits.Limits), pods ...*corev1.Pod) *scene {
	s := stored("r", 0, func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{state} })
	x := &scene{writers: map[string]*io.PipeWriter{}, answer: apitest.NewStream(), done: make(chan any, 1)}
	node := apitest.FakeNode{}
	for _, log := range []string{"p/test", "p/other", "q/test"} {
		reader, writer := io.Pipe()
		x.writers[log] = writer
		node[log] = func(ctx context.Context) (io.ReadCloser, error) {
			context.AfterFunc(ctx, func() { reader.CloseWithError(ctx.Err()) })
			return reader, nil
		}
	}
	objects := apitest.Acme(s)
	for _, p := range pods {
		objects = append(objects, p)
	}
	x.World = apitest.Start(t,
		apitest.Setup{Objects: objects, Config: func(c *api.Config) { c.Runs.PodLogs = node }, Limits: func(l *limits.Limits) {
			l.PodPoll, l.MaxWait, l.LogStall = time.Millisecond, 2*poll.Limit, 2*poll.Limit
			if change != nil {
				change(l)
			}
		}})
	return x
}

func (x *scene) follow(query string) {
	go func() {
		defer func() { x.done <- recover() }()
		x.ServeHTTP(x.answer, apitest.Get(apitest.RunsPath+"/r/logs?follow=true"+query))
	}()
}

func (x *scene) writes(log, text string) {
	x.T.Helper()
	if _, err := io.WriteString(x.writers[log], text); err != nil {
		x.T.Error(err)
	}
}

func (x *scene) ends(log string) { x.writers[log].Close() }

// becomes changes the state of the run, as the watch would report it.
func (x *scene) becomes(state metav1.Condition) {
	x.T.Helper()
	before := &v1alpha1.Suite{}
	if err := x.Cluster.Get(context.Background(), client.ObjectKey{Namespace: apitest.Namespace, Name: "r"}, before); err != nil {
		x.T.Fatal(err)
	}
	after := before.DeepCopy()
	after.Status.Conditions = []metav1.Condition{state}
	if err := x.Cluster.Status().Update(context.Background(), after); err != nil {
		x.T.Fatal(err)
	}
	x.SuiteChanged(before, after)
}

func (x *scene) creates(o client.Object) {
	x.T.Helper()
	if err := x.Cluster.Create(context.Background(), o); err != nil {
		x.T.Fatal(err)
	}
}

func (x *scene) shows(want string) {
	x.T.Helper()
	poll.Until(x.T, fmt.Sprintf("the answer is %q", want), func() string {
		if got := x.answer.String(); got != want {
			return fmt.Sprintf("%q", got)
		}
		return ""
	})
}

// ended waits for the end of the answer, and reports whether it was broken off.
func (x *scene) ended() (brokenOff bool) {
	x.T.Helper()
	select {
	case p := <-x.done:
		if p != nil && !isAbort(p) {
			x.T.Fatal(p)
		}
		if n := x.Runs.Sending.InUse(); n != 0 {
			x.T.Errorf("%d slots are taken", n)
		}
		return p != nil
	case <-time.After(poll.Limit):
		x.T.Fatalf("the answer does not end: %q", x.answer.String())
		return false
	}
}

// TestFollow: a run waits for its turn, starts, writes, and ends.
func TestFollow(t *testing.T) {
	x := newScene(t, v1alpha1.Queued("2nd."), nil)
	x.follow("")
	x.becomes(v1alpha1.Starting("Pulling."))
	x.creates(podOf("p", 1))
	x.writes("p/test", "one\n")
	x.shows("one\n")
	x.becomes(v1alpha1.Running("Tests."))
	x.writes("p/test", "two\n")
	x.shows("one\ntwo\n")
	x.ends("p/test")
	x.becomes(v1alpha1.Passed("The tests passed."))
	if x.ended() || x.answer.String() != "one\ntwo\n" {
		t.Errorf("the answer is %q", x.answer.String())
	}
}

// TestFollowAnotherPod: a Job that retries makes another one.
func TestFollowAnotherPod(t *testing.T) {
	x := newScene(t, v1alpha1.Running("Tests."), nil, podOf("p", 1))
	x.follow("")
	x.writes("p/test", "one\n")
	x.ends("p/test")
	x.creates(podOf("q", 2))
	x.writes("q/test", "two\n")
	x.ends("q/test")
	x.becomes(v1alpha1.Failed("Exit code 1."))
	if x.ended() || x.answer.String() != "one\n==> q/test <==\ntwo\n" {
		t.Errorf("the answer is %q", x.answer.String())
	}
}

// TestFollowWhatIsGone: the first read says so, and the archive has the log.
func TestFollowWhatIsGone(t *testing.T) {
	x := newScene(t, v1alpha1.Running("Tests."), nil, podOf("p", 1))
	x.Runs.Archive = &apitest.FakeArchive{LogTexts: map[string]string{saved("p", "test"): "kept\n"}}
	x.writers["p/test"].CloseWithError(apierror.ErrLogGone)
	x.Runs.PodLogs = failing{x.Runs.PodLogs}
	x.follow("")
	x.shows("kept\n")
	x.becomes(v1alpha1.Passed("0"))
	if x.ended() {
		t.Error("it was broken off")
	}
}

// failing only follows.
type failing struct{ runs.PodLogs }

func (f failing) Open(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	if !o.Follow {
		return nil, apierror.ErrLogGone
	}
	return f.PodLogs.Open(ctx, namespace, pod, o)
}

// TestFollowSilentContainer: the headers come at once.
func TestFollowSilentContainer(t *testing.T) {
	x := newScene(t, v1alpha1.Running("Tests."), nil, podOf("p", 1))
	x.follow("")
	poll.True(t, "the headers are there", func() bool { return x.answer.Status.Load() == http.StatusOK })
	x.ends("p/test")
	x.becomes(v1alpha1.Passed("0"))
	if x.ended() || x.answer.String() != "" {
		t.Errorf("the answer is %q", x.answer.String())
	}
}

func TestFollowWhatDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newScene(t, v1alpha1.Queued("2nd in the queue."), func(l *limits.Limits) { l.MaxWait = 20 * time.Millisecond })
		x.follow("")
		if x.ended() || x.answer.Status.Load() != http.StatusNotFound ||
			!strings.Contains(x.answer.String(), "Its state is Queued: 2nd in the queue. Ask again later") {
			t.Errorf("status %d: %s", x.answer.Status.Load(), x.answer.String())
		}
	})
}

// TestFollowEndsBadly: the connection breaks off, so that a client can tell.
func TestFollowEndsBadly(t *testing.T) {
	for name, tc := range map[string]struct {
		limits func(*limits.Limits)
		do     func(*scene)
	}{
		"the node hangs after the end": {func(l *limits.Limits) { l.LogStall = 20 * time.Millisecond },
			func(x *scene) { x.becomes(v1alpha1.Passed("0")) }},
		"too long":         {func(l *limits.Limits) { l.MaxFollow = 50 * time.Millisecond }, func(*scene) {}},
		"the server stops": {nil, func(x *scene) { x.Drain() }},
		"the node breaks":  {nil, func(x *scene) { x.writers["p/test"].CloseWithError(io.ErrUnexpectedEOF) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newScene(t, v1alpha1.Running("Tests."), tc.limits, podOf("p", 1))
				x.follow("")
				x.writes("p/test", "one\n")
				x.shows("one\n")
				tc.do(x)
				if !x.ended() || x.answer.String() != "one\n" {
					t.Errorf("the answer is %q, and was not broken off", x.answer.String())
				}
			})
		})
	}
}

// TestDrainBeforeTheLog: another replica can answer.
func TestDrainBeforeTheLog(t *testing.T) {
	x := newScene(t, v1alpha1.Queued("2nd."), nil)
	x.Drain()
	x.follow("")
	if x.ended() || x.answer.Status.Load() != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", x.answer.Status.Load(), x.answer.String())
	}
}

// TestFollowersLeave: a client that is gone holds nothing.
func TestFollowersLeave(t *testing.T) {
	x := newScene(t, v1alpha1.Running("Tests."), nil, podOf("p", 1))
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			x.ServeHTTP(apitest.NewStream(), apitest.Get(apitest.RunsPath+"/r/logs?follow=true").WithContext(ctx))
		})
	}
	poll.True(t, "20 follow", func() bool { return x.Runs.Sending.InUse() == 20 })
	leave()
	all.Wait()
	if n := x.Runs.Sending.InUse() + x.Server.InFlight.InUse(); n != 0 {
		t.Errorf("%d slots are taken", n)
	}
}

// isAbort reports whether a panic is the one by which a handler breaks off its answer.
func isAbort(p any) bool {
	err, ok := p.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}
