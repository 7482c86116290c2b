package runs

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/greenlight"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

// Greenlight returns the verdict of a run and its successors, or waits for it.
func (a *API) Greenlight(w http.ResponseWriter, r *exchange.Request) error {
	wait, err := a.waitOf(r.Request)
	if err != nil {
		return err
	}
	request := &greenlightRequest{API: a, Request: r, run: runName(r)}
	answer, err := request.answer(wait)
	if err != nil {
		return err
	}
	r.AddToAudit("suite", answer.RootRunID, "relevantSuite", answer.RelevantRunID, "stage", answer.RunStage)
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func (a *API) waitOf(r *http.Request) (time.Duration, error) {
	bad := &exchange.Failure{Code: "invalid_request", Message: "Send wait once, as whole seconds from 0 to " +
		strconv.Itoa(int(a.Limits.MaxWait.Seconds())) + ", or leave it out."}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(query["wait"]) > 1 {
		return 0, bad
	}
	if !query.Has("wait") {
		return 0, nil
	}
	n, err := strconv.ParseUint(query.Get("wait"), 10, 16)
	if wait := time.Duration(n) * time.Second; err == nil && wait <= a.Limits.MaxWait {
		return wait, nil
	}
	return 0, bad
}

type greenlightRequest struct {
	*API
	*exchange.Request
	run types.NamespacedName
}

// answer returns the first answer if it is final, else the next one after a change or the wait.
func (g *greenlightRequest) answer(wait time.Duration) (*httpapi.Greenlight, error) {
	first, err := g.read()
	if err != nil || wait == 0 || first.Final() || g.Runs.Changes.Closed() {
		return first, err
	}
	if err := g.BeginWait(g.Waiting); err != nil {
		return nil, err
	}
	relevant := types.NamespacedName{Namespace: g.run.Namespace, Name: first.Counting()}
	g.Forget()
	ctx, cancel := context.WithTimeout(g.Context(), wait)
	defer cancel()
	for {
		changed, unsubscribe := g.Runs.Changes.Subscribe(relevant)
		now, err := g.read()
		if err != nil || now.Final() || !now.Same(*first) {
			unsubscribe()
			return now, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
		unsubscribe()
		if ctx.Err() != nil || g.Runs.Changes.Closed() {
			return now, nil
		}
	}
}

func (g *greenlightRequest) read() (*httpapi.Greenlight, error) {
	root, err := g.findSuite(g.Context(), g.run)
	if err != nil {
		return nil, err
	}
	stream, err := g.Runs.Successors(g.Context(), root)
	if err != nil {
		return nil, lookupFailure(err)
	}
	answer := greenlight.Of(root, verdict.Relevant(root, stream), func(s *v1alpha1.Suite) string {
		return suite.PageURL(g.PublicURL, s.Namespace, s.Name)
	})
	return &answer, nil
}
