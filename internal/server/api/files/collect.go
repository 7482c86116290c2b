package files

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
)

var podFailures = map[int]exchange.Failure{
	http.StatusUnauthorized: {Code: "unauthenticated",
		Message: "Only pods of runs may send this request, with the token that Postflight gives their collector. API keys are for all other " +
			"requests."},
	http.StatusServiceUnavailable: {Code: "unavailable",
		Message: "Tokens cannot be checked at the moment. Send the request again in a few seconds."},
}

var errNoRun = &exchange.Failure{Code: "run_not_found", Message: "Run not found: this pod belongs to no run, or the run has ended."}

// Collect signs what the pod of a run asks to upload. It authenticates the pod itself.
func (a *API) Collect(w http.ResponseWriter, r *exchange.Request) error {
	pod, err := a.AuthenticatePod(r.Request)
	if err != nil {
		return exchange.AuthFailure(err, podFailures)
	}
	run, err := a.signer.Run(r.Context(), pod)
	if errors.Is(err, podfiles.ErrNoRun) {
		return errNoRun
	}
	if err != nil {
		return exchange.RunUnavailable(err)
	}
	r.Principal.Team, r.Pod = run.Team, run
	return a.Answer(w, r, a.collect)
}

// collect answers also for a suspended team, whose runs continue.
func (a *API) collect(w http.ResponseWriter, r *exchange.Request) error {
	if a.Pods.Store == nil {
		return exchange.ErrNoStore
	}
	request, err := a.readCollect(w, r)
	if err != nil {
		return err
	}
	answer, err := a.collectInTurn(r, request)
	if err != nil {
		return err
	}
	refused := 0
	for _, f := range answer.Files {
		if f.Problem != "" {
			refused++
		}
	}
	a.asked.WithLabelValues(fileSigned).Add(float64(len(answer.Files) - refused))
	a.asked.WithLabelValues(fileRefused).Add(float64(refused))
	r.AddToAudit("suite", answer.Run, "files", len(answer.Files), "refused", refused, "resultsBytes", request.ResultsBytes)
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// collectInTurn holds a slot of the team only while URLs are signed, so a slow pod cannot keep it.
func (a *API) collectInTurn(r *exchange.Request, request *httpapi.CollectRequest) (*httpapi.CollectAnswer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), a.Limits.CollectWait)
	defer cancel()
	release, err := a.collects.Acquire(ctx, r.Team())
	if err != nil {
		return nil, exchange.Overloaded("The server is answering as many pods as it can. Send the request again in a few seconds.")
	}
	defer release()
	answer, err := a.signer.Sign(r.Context(), r.Pod, request)
	if err != nil {
		return nil, &exchange.Failure{Code: "store_unavailable", Cause: err,
			Message: "The store for files cannot be used at the moment. Send the request again."}
	}
	return answer, nil
}

func (a *API) readCollect(w http.ResponseWriter, r *exchange.Request) (*httpapi.CollectRequest, error) {
	if err := exchange.CheckContent(r.Header, "application/json"); err != nil {
		return nil, err
	}
	if !a.AcquireLarge(r, false) {
		return nil, exchange.Overloaded("The server is reading as many requests of more than %d bytes (or of unknown length) as it can, "+
			"or as many of this team as leave room for others. Send the request again in a few seconds.", a.Limits.SmallBodyBytes)
	}
	body, err := a.ReadBody(w, r, a.Limits.CollectBytes)
	if err != nil {
		return nil, err
	}
	request := &httpapi.CollectRequest{}
	if !utf8.Valid(body) || json.Unmarshal(body, request) != nil || len(request.Files) > limits.MaxCollectFiles ||
		request.ResultsBytes < 0 || request.ResultsBytes > record.MaxResultsBytes ||
		request.TestsBytes < 0 || request.TestsBytes > record.MaxTestsBytes || request.TestsBytes > 0 && request.ResultsBytes == 0 ||
		slices.ContainsFunc(request.Files, func(f httpapi.CollectFile) bool { return f.Bytes < 0 }) {
		return nil, exchange.InvalidRequest("Send an object with files, a list of at most %d objects with path and bytes, or with "+
			"resultsBytes from 1 to %d, "+
			"and beside it testsBytes from 1 to %d.", limits.MaxCollectFiles, record.MaxResultsBytes, record.MaxTestsBytes)
	}
	return request, nil
}
