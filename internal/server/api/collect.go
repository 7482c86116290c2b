package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
)

const (
	artifactSigned  = "signed"
	artifactRefused = "refused"
)

// collect answers also for a suspended team, whose runs continue.
func (a *API) collect(w http.ResponseWriter, r *Request) error {
	if a.Artifacts == nil {
		return errNoStore
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
	a.metrics.artifacts.WithLabelValues(artifactSigned).Add(float64(len(answer.Files) - refused))
	a.metrics.artifacts.WithLabelValues(artifactRefused).Add(float64(refused))
	r.audit = append(r.audit, "suite", answer.Run, "files", len(answer.Files), "refused", refused, "resultsBytes", request.ResultsBytes)
	writeJSON(w, "application/json", http.StatusOK, answer)
	return nil
}

// collectInTurn holds a slot of the team only while URLs are signed, so a slow pod cannot keep it.
func (a *API) collectInTurn(r *Request, request *httpapi.CollectRequest) (*httpapi.CollectAnswer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), a.Limits.CollectWait)
	defer cancel()
	release, err := a.collects.Acquire(ctx, r.team())
	if err != nil {
		return nil, overloaded("The server is answering as many pods as it can. Send the request again in a few seconds.")
	}
	defer release()
	answer, err := a.signer.Sign(r.Context(), r.pod, request)
	if err != nil {
		return nil, &failure{code: "store_unavailable", cause: err, message: "The store for files cannot be used at the moment. Send the request again."}
	}
	return answer, nil
}

func (a *API) readCollect(w http.ResponseWriter, r *Request) (*httpapi.CollectRequest, error) {
	if err := checkContent(r.Header, "application/json"); err != nil {
		return nil, err
	}
	if large := r.ContentLength < 0 || r.ContentLength > a.Limits.SmallBodyBytes; large && !r.acquire(a.large) {
		return nil, overloaded("The server is reading as many requests of more than %d bytes (or of unknown length) as it can, "+
			"or as many of this team as leave room for others. Send the request again in a few seconds.", a.Limits.SmallBodyBytes)
	}
	body, err := a.readBody(w, r, a.Limits.CollectBytes)
	if err != nil {
		return nil, err
	}
	request := &httpapi.CollectRequest{}
	if !utf8.Valid(body) || json.Unmarshal(body, request) != nil || len(request.Files) > maxCollectFiles ||
		request.ResultsBytes < 0 || request.ResultsBytes > record.MaxResultsBytes ||
		request.TestsBytes < 0 || request.TestsBytes > record.MaxTestsBytes || request.TestsBytes > 0 && request.ResultsBytes == 0 ||
		slices.ContainsFunc(request.Files, func(f httpapi.CollectFile) bool { return f.Bytes < 0 }) {
		return nil, invalidRequest("Send an object with files, a list of at most %d objects with path and bytes, or with resultsBytes from 1 to %d, "+
			"and beside it testsBytes from 1 to %d.", maxCollectFiles, record.MaxResultsBytes, record.MaxTestsBytes)
	}
	return request, nil
}
