package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// become changes a run, and publishes the change as the watch does.
func (h *harness) become(name string, change func(*v1alpha1.Suite)) {
	h.t.Helper()
	s := &v1alpha1.Suite{}
	if err := h.cluster.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		h.t.Fatal(err)
	}
	was := s.DeepCopy()
	change(s)
	if err := h.cluster.Status().Update(h.t.Context(), s); err != nil {
		h.t.Fatal(err)
	}
	h.SuiteChanged(was, s)
}

func to(condition metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{condition} }
}

// wait sends a request in the background, and returns once it waits.
func (h *harness) wait(id string) <-chan *httptest.ResponseRecorder {
	h.t.Helper()
	before := h.waiting.InUse()
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, ask(id, "?wait=50"))
		answer <- w
	}()
	poll.True(h.t, "the request waits", func() bool { return h.waiting.InUse() > before })
	return answer
}

func receive(t *testing.T, answer <-chan *httptest.ResponseRecorder) httpapi.Greenlight {
	t.Helper()
	select {
	case w := <-answer:
		return decode[httpapi.Greenlight](t, w)
	case <-time.After(poll.Limit):
		t.Fatal("no answer after the change")
		return httpapi.Greenlight{}
	}
}

func TestWaitingForTheEnd(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(h *harness)
		want   httpapi.Greenlight
	}{
		"passed":   {change: func(h *harness) { h.become("a", to(v1alpha1.Passed(""))) }, want: httpapi.Greenlight{Greenlight: true, RelevantRunID: "a", RunStage: httpapi.Completed}},
		"failed":   {change: func(h *harness) { h.become("a", to(v1alpha1.Failed(""))) }, want: httpapi.Greenlight{RelevantRunID: "a", RunStage: httpapi.Completed}},
		"canceled": {change: func(h *harness) { h.become("a", to(v1alpha1.Canceled(""))) }, want: httpapi.Greenlight{RelevantRunID: "a", RunStage: httpapi.Canceled}},
		"queued, running, passed": {reason: "the first two are one stage", change: func(h *harness) {
			h.become("a", to(v1alpha1.Queued("At place 2.")))
			h.become("a", to(v1alpha1.Running("")))
			h.become("a", to(v1alpha1.Passed("")))
		}, want: httpapi.Greenlight{Greenlight: true, RelevantRunID: "a", RunStage: httpapi.Completed}},
		"superseded": {reason: "the relevant run changes", change: func(h *harness) { h.become("a", supersededBy("b")) },
			want: httpapi.Greenlight{RelevantRunID: "b", RunStage: httpapi.Initializing}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(aRun("a", 0), aRun("b", 1, v1alpha1.Running("")))})
			answer := h.wait("a")
			tc.change(h)
			got := receive(t, answer)
			only := cmpopts.IgnoreFields(httpapi.Greenlight{}, "RootRunID", "RootRunURL", "RelevantRunURL", "RelevantRunWithBugsURL", "RunState", "RunMessage", "WorkflowsInRunCount", "Bugs")
			if diff := cmp.Diff(tc.want, got, only); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if h.waiting.InUse() != 0 || h.inFlight.InUse() != 0 || h.Runs.Changes.InUse() != 0 {
				t.Errorf("left behind: %d waiting, %d in flight, %d subscriptions", h.waiting.InUse(), h.inFlight.InUse(), h.Runs.Changes.InUse())
			}
		})
	}
}

func TestWaitingForTheSuccessor(t *testing.T) {
	a := aRun("a", 0)
	supersededBy("b")(a)
	h := start(t, setup{objects: acme(a, aRun("b", 1, v1alpha1.Running("")))})
	answer := h.wait("a")
	h.become("b", to(v1alpha1.Failed("")))
	if got := receive(t, answer); got.RelevantRunID != "b" || got.RunStage != httpapi.Completed || got.Greenlight {
		t.Errorf("%+v", got)
	}
}

func TestWaitingForARunThatIsDeleted(t *testing.T) {
	h := start(t, setup{objects: acme(aRun("a", 0))})
	answer := h.wait("a")
	if err := h.cluster.Delete(t.Context(), aRun("a", 0)); err != nil {
		t.Fatal(err)
	}
	h.SuiteChanged(nil, aRun("a", 0))
	if w := <-answer; w.Code != http.StatusNotFound {
		t.Errorf("status %d, want 404", w.Code)
	}
}

func TestWaitEndsWithoutNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, setup{objects: acme(aRun("a", 0))})
		began := time.Now()
		w := h.exchange(ask("a", "?wait=1"))
		if got := decode[httpapi.Greenlight](t, w); got.RunStage != httpapi.Initializing {
			t.Errorf("stage %s", got.RunStage)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s, want 1s", took)
		}
	})
}

func TestWaitersAreBoundedApart(t *testing.T) {
	h := start(t, setup{
		objects: acme(aRun("a", 0), trigger("smoke")),
		limits:  func(l *Limits) { l.Waiting, l.InFlight = 2, 1 },
	})
	first, second := h.wait("a"), h.wait("a")
	w := h.exchange(ask("a", "?wait=50"))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("the third waits, or is answered %d: %s", w.Code, w.Body)
	}
	h.notify(`{"sha":"` + sha + `"}`) // waiting requests do not count as in flight, of which there may be one
	h.become("a", to(v1alpha1.Passed("")))
	receive(t, first)
	receive(t, second)
}

func TestDrainAnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, setup{objects: acme(aRun("a", 0))})
		answer := h.wait("a")
		h.Drain()
		if got := receive(t, answer); got.RunStage != httpapi.Initializing {
			t.Errorf("stage %s", got.RunStage)
		}
		began := time.Now()
		if w := h.exchange(ask("a", "?wait=50")); w.Code != http.StatusOK || time.Since(began) > 0 {
			t.Errorf("status %d after %s, want 200 at once", w.Code, time.Since(began))
		}
	})
}
