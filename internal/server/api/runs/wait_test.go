package runs_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/poll"
)

func receive(t *testing.T, answer <-chan *httptest.ResponseRecorder) httpapi.Greenlight {
	t.Helper()
	select {
	case w := <-answer:
		return apitest.Decode[httpapi.Greenlight](t, w)
	case <-time.After(poll.Limit):
		t.Fatal("no answer after the change")
		return httpapi.Greenlight{}
	}
}

func TestWaitingForTheEnd(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(h *apitest.World)
		want   httpapi.Greenlight
	}{
		"passed": {change: func(h *apitest.World) { h.Become("a", apitest.To(v1alpha1.Passed(""))) },
			want: httpapi.Greenlight{Greenlight: true, RelevantRunID: "a", RunStage: httpapi.Completed}},
		"failed": {change: func(h *apitest.World) { h.Become("a", apitest.To(v1alpha1.Failed(""))) },
			want: httpapi.Greenlight{RelevantRunID: "a", RunStage: httpapi.Completed}},
		"canceled": {change: func(h *apitest.World) { h.Become("a", apitest.To(v1alpha1.Canceled(""))) },
			want: httpapi.Greenlight{RelevantRunID: "a", RunStage: httpapi.Canceled}},
		"queued, running, passed": {reason: "the first two are one stage", change: func(h *apitest.World) {
			h.Become("a", apitest.To(v1alpha1.Queued("At place 2.")))
			h.Become("a", apitest.To(v1alpha1.Running("")))
			h.Become("a", apitest.To(v1alpha1.Passed("")))
		}, want: httpapi.Greenlight{Greenlight: true, RelevantRunID: "a", RunStage: httpapi.Completed}},
		"superseded": {reason: "the relevant run changes", change: func(h *apitest.World) { h.Become("a", apitest.SupersededBy("b")) },
			want: httpapi.Greenlight{RelevantRunID: "b", RunStage: httpapi.Initializing}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0), apitest.ARun("b", 1, v1alpha1.Running("")))})
			answer := h.Wait("a")
			tc.change(h)
			got := receive(t, answer)
			only := cmpopts.IgnoreFields(httpapi.Greenlight{}, "RootRunID", "RootRunURL", "RelevantRunURL", "RelevantRunWithBugsURL", "RunState",
				"RunMessage", "WorkflowsInRunCount", "Bugs")
			if diff := cmp.Diff(tc.want, got, only); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if h.Topics.Runs.Waiting.InUse() != 0 || h.Server.InFlight.InUse() != 0 || h.Runs.Changes.InUse() != 0 {
				t.Errorf("left behind: %d waiting, %d in flight, %d subscriptions", h.Topics.Runs.Waiting.InUse(), h.Server.InFlight.InUse(),
					h.Runs.Changes.InUse())
			}
		})
	}
}

func TestWaitingForTheSuccessor(t *testing.T) {
	a := apitest.ARun("a", 0)
	apitest.SupersededBy("b")(a)
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(a, apitest.ARun("b", 1, v1alpha1.Running("")))})
	answer := h.Wait("a")
	h.Become("b", apitest.To(v1alpha1.Failed("")))
	if got := receive(t, answer); got.RelevantRunID != "b" || got.RunStage != httpapi.Completed || got.Greenlight {
		t.Errorf("%+v", got)
	}
}

func TestWaitingForARunThatIsDeleted(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0))})
	answer := h.Wait("a")
	if err := h.Cluster.Delete(t.Context(), apitest.ARun("a", 0)); err != nil {
		t.Fatal(err)
	}
	h.SuiteChanged(nil, apitest.ARun("a", 0))
	if w := <-answer; w.Code != http.StatusNotFound {
		t.Errorf("status %d, want 404", w.Code)
	}
}

func TestWaitEndsWithoutNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0))})
		began := time.Now()
		w := h.Exchange(apitest.Ask("a", "?wait=1"))
		if got := apitest.Decode[httpapi.Greenlight](t, w); got.RunStage != httpapi.Initializing {
			t.Errorf("stage %s", got.RunStage)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s, want 1s", took)
		}
	})
}

func TestWaitersAreBoundedApart(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.ARun("a", 0), apitest.Trigger("smoke")),
		Limits:  func(l *limits.Limits) { l.Waiting, l.InFlight = 2, 1 },
	})
	first, second := h.Wait("a"), h.Wait("a")
	w := h.Exchange(apitest.Ask("a", "?wait=50"))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("the third waits, or is answered %d: %s", w.Code, w.Body)
	}
	h.Notify(`{"sha":"` + apitest.SHA + `"}`) // waiting requests do not count as in flight, of which there may be one
	h.Become("a", apitest.To(v1alpha1.Passed("")))
	receive(t, first)
	receive(t, second)
}

func TestDrainAnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0))})
		answer := h.Wait("a")
		h.Drain()
		if got := receive(t, answer); got.RunStage != httpapi.Initializing {
			t.Errorf("stage %s", got.RunStage)
		}
		began := time.Now()
		if w := h.Exchange(apitest.Ask("a", "?wait=50")); w.Code != http.StatusOK || time.Since(began) > 0 {
			t.Errorf("status %d after %s, want 200 at once", w.Code, time.Since(began))
		}
	})
}
