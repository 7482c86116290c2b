package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
)

// ask requests URLs from the manager. The token is read for each attempt, because the kubelet replaces it.
func (w *collection) ask(ctx context.Context, request httpapi.CollectRequest) (answer httpapi.CollectAnswer, failed *failure) {
	body := encode(request)
	failed = retry(ctx, func(ctx context.Context) *failure {
		var failed *failure
		answer, failed = w.askOnce(ctx, body)
		return failed
	})
	if failed == nil && !fits(request, answer) {
		failed = &failure{text: "did not answer for the files that it was asked for"}
	}
	return answer, failed
}

// encode cannot fail: the values are strings, numbers and times. Without HTML escapes, a name at most doubles in bytes.
func encode(value any) []byte {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	_ = out.Encode(value)
	return b.Bytes()
}

func (w *collection) askOnce(ctx context.Context, body []byte) (answer httpapi.CollectAnswer, failed *failure) {
	token, err := os.ReadFile(w.TokenFile)
	if err != nil {
		return answer, &failure{"could not be asked: the token of the pod is " + cannotRead(err), true}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, publicurl.Join(w.Manager, "/api/v0/collect"), bytes.NewReader(body))
	if err != nil {
		return answer, &failure{text: "has no URL that can be requested"}
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	response, failed := do(w.Client, request)
	if response == nil {
		return answer, failed
	}
	defer drain(response)
	if failed != nil {
		failed.text += reason(response.Body)
		return answer, failed
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswerBytes)).Decode(&answer); err != nil {
		return answer, &failure{"sent an answer that could not be read", true}
	}
	return answer, nil
}

// reason returns the manager's explanation in parentheses, or "".
func reason(body io.Reader) string {
	var problem httpapi.Problem
	if json.NewDecoder(io.LimitReader(body, maxAnswerBytes)).Decode(&problem) != nil || problem.FailureMessage == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.TrimSuffix(plaintext.Line(problem.FailureMessage, maxPath), "."))
}

// fits reports whether the answer has the requested files, in the same order.
func fits(request httpapi.CollectRequest, answer httpapi.CollectAnswer) bool {
	if len(answer.Files) != len(request.Files) {
		return false
	}
	for i, f := range request.Files {
		if answer.Files[i].Path != f.Path {
			return false
		}
	}
	return true
}

// compare finds and reports which failures are new. It needs the results of all pods of the earlier run: if a pod's are missing, its
// failures look new.
func (w *collection) compare(ctx context.Context, previous *httpapi.PreviousResults) {
	if previous == nil || w.tests.Counts.Reports == 0 || len(previous.URLs) > record.MaxComparedPods {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, previousTimeout)
	defer cancel()
	var documents []results.Document
	for _, url := range previous.URLs {
		d, failed := w.get(ctx, url)
		if failed != nil {
			w.Log.Warn("the tests are not compared with those of "+previous.Run, "reason", failed.text)
			return
		}
		documents = append(documents, d.ToCompare())
	}
	w.tests.Compare(previous.Run, documents)
	counts := w.tests.Counts
	w.Log.Info("compared with "+previous.Run, "new", counts.NewFailures, "known", counts.KnownFailures, "fixed", counts.Fixed)
	w.Report(w.interim())
}

func (w *collection) get(ctx context.Context, url string) (d results.Document, failed *failure) {
	failed = retry(ctx, func(ctx context.Context) *failure {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return &failure{text: "Postflight gave no URL to read them from"}
		}
		response, failed := do(w.Client, request)
		if response == nil {
			return failed
		}
		defer drain(response)
		if failed != nil {
			return &failure{"the store " + failed.text, failed.retryable}
		}
		content, err := io.ReadAll(io.LimitReader(response.Body, record.MaxResultsBytes))
		if err != nil {
			return &failure{"the store " + unreachable(ctx, err), true}
		}
		if d, err = results.ParseDocument(content); err != nil {
			return &failure{text: "they could not be read"}
		}
		return nil
	})
	return d, failed
}
