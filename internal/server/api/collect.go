package api

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/inputpath"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// Artifacts is the store of what tests write.
type Artifacts interface {
	// Stored are the files of a run. It ends with an error.
	Stored(ctx context.Context, r record.Run) iter.Seq2[record.Artifact, error]

	// SignCollect signs the upload of a file of a pod, of exactly so many bytes.
	SignCollect(ctx context.Context, r record.Run, pod, path string, bytes int64) (string, error)

	// SignResults signs the upload of the results document of a pod, of exactly so many bytes.
	SignResults(ctx context.Context, r record.Run, pod string, bytes int64) (string, error)

	// SignPreviousResults signs the downloads of the results documents of an earlier run.
	SignPreviousResults(ctx context.Context, r record.Run) ([]string, error)
}

// The decisions on files.
const (
	artifactSigned  = "signed"
	artifactRefused = "refused"
)

// collect tells the collector in a pod where to upload what the tests wrote. A team that is suspended keeps it, too:
// its runs go on.
func (a *API) collect(w http.ResponseWriter, r *Request) error {
	if a.Artifacts == nil {
		return &failure{code: "store_not_configured", retryAfter: storeRetryAfter, message: "No store for files is configured, so nothing can be uploaded. " +
			"Ask the operator of this service to set --store-bucket and --store-endpoint."}
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

// collectInTurn waits for the turn of the pod's team. The pod cannot make it longer: its request was read, and its answer is sent later.
func (a *API) collectInTurn(r *Request, request *httpapi.CollectRequest) (*httpapi.CollectAnswer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), a.Limits.CollectWait)
	defer cancel()
	release, err := a.collects.Acquire(ctx, r.team())
	if err != nil {
		return nil, overloaded("The server is answering as many pods as it can. Send the request again in a few seconds.")
	}
	defer release()
	return a.collected(r.Context(), r.pod, request)
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
	bad := &failure{code: "invalid_request", message: fmt.Sprintf(
		"Send an object with files, a list of at most %d objects with path and bytes, or with resultsBytes from 1 to %d.", maxCollectFiles, record.MaxResultsBytes)}
	if !utf8.Valid(body) || json.Unmarshal(body, request) != nil || len(request.Files) > maxCollectFiles ||
		request.ResultsBytes < 0 || request.ResultsBytes > record.MaxResultsBytes ||
		slices.ContainsFunc(request.Files, func(f httpapi.CollectFile) bool { return f.Bytes < 0 }) {
		return nil, bad
	}
	return request, nil
}

func (a *API) collected(ctx context.Context, p *podRun, request *httpapi.CollectRequest) (*httpapi.CollectAnswer, error) {
	answer := &httpapi.CollectAnswer{Run: p.suite.Name}
	var err error
	if answer.Files, err = a.signFiles(ctx, p, request.Files); err != nil {
		return nil, storeUnavailable(err)
	}
	if request.ResultsBytes > 0 {
		url, err := a.Artifacts.SignResults(ctx, p.run(), p.Name, request.ResultsBytes)
		if err != nil {
			return nil, storeUnavailable(err)
		}
		answer.Results = &httpapi.CollectURL{URL: url}
		return answer, nil
	}
	answer.Previous, err = a.previousResults(ctx, p)
	return answer, err
}

func storeUnavailable(err error) error {
	return &failure{code: "store_unavailable", cause: err, message: "The store for files cannot be used at the moment. Send the request again."}
}

// signFiles counts what the run has stored, which takes one request to the store, and what was signed for the pod. Pods that ask at
// the same time do not see each other's files, so together they may store more than one pod can.
func (a *API) signFiles(ctx context.Context, p *podRun, files []httpapi.CollectFile) ([]httpapi.CollectURL, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var own []record.Artifact
	var others usage
	for f, err := range a.Artifacts.Stored(ctx, p.run()) {
		switch {
		case err != nil:
			return nil, err
		case f.Pod == p.Name:
			own = append(own, f)
		default:
			others = others.plus(usage{1, f.Bytes})
		}
	}
	urls := make([]httpapi.CollectURL, len(files))
	a.signed.of(p.UID, func(pod *podFiles) {
		for _, f := range own {
			pod.add(f.Path, f.Bytes)
		}
		for i, f := range files {
			urls[i].Path = f.Path
			if urls[i].Problem = refusal(f, pod.beside(f.Path).plus(others)); urls[i].Problem == "" {
				pod.add(f.Path, f.Bytes)
			}
		}
	})
	var err error
	for i, f := range files {
		if urls[i].Problem != "" {
			continue
		}
		if urls[i].URL, err = a.Artifacts.SignCollect(ctx, p.run(), p.Name, f.Path, f.Bytes); err != nil {
			return nil, err
		}
	}
	return urls, nil
}

// refusal is a sentence: why a file cannot be kept beside the others of its run. It is empty where it can.
func refusal(f httpapi.CollectFile, beside usage) string {
	err := inputpath.Check(f.Path)
	switch {
	case err != nil:
		return fmt.Sprintf("The path %s.", err)
	case f.Bytes > record.MaxArtifactBytes:
		return fmt.Sprintf("The file has %s, and at most %s are kept.", plaintext.Bytes(f.Bytes), plaintext.Bytes(record.MaxArtifactBytes))
	case beside.count >= record.MaxArtifacts:
		return fmt.Sprintf("The run has %d files, and no more are kept.", beside.count)
	case beside.bytes+f.Bytes > record.MaxRunBytes:
		return fmt.Sprintf("With this file, the run would have more than the %s that are kept.", plaintext.Bytes(record.MaxRunBytes))
	default:
		return ""
	}
}

// previousResults are those of the run that ended last with results, of the same Trigger and Environment; nil if
// there is none that can be read.
func (a *API) previousResults(ctx context.Context, p *podRun) (*httpapi.PreviousResults, error) {
	last := a.Runs.LastWithResults(p.suite.Namespace, p.suite.Spec.Trigger.Name, p.suite.Spec.Environment)
	if last == nil {
		return nil, nil
	}
	urls, err := a.Artifacts.SignPreviousResults(ctx, record.Of(p.team.Name, last))
	if err != nil {
		return nil, storeUnavailable(err)
	}
	if len(urls) == 0 { // its records are gone
		return nil, nil
	}
	return &httpapi.PreviousResults{Run: last.Name, URLs: urls}, nil
}
