package handon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
)

// mediaTypes are what the API answers with. Anything else may be a page of a proxy, which browsers must not take for a page of the hub.
var mediaTypes = []string{
	"application/json", "application/problem+json", "text/plain", "text/markdown", "application/vnd.dev.sigstore.bundle.v0.3+json",
}

// passedHeaders of an answer are the only ones that a client of the hub gets from a cluster.
var passedHeaders = []string{"Content-Type", "Retry-After", "Vary"}

// pass sends the request to a cluster, and its answer to the sender, while it arrives.
func (q *question) pass(w http.ResponseWriter, s Subject, t delegation.Target) error {
	timeout, bounded, err := q.timeout()
	if err != nil {
		return err
	}
	if !bounded {
		if !q.slots.TryAcquire(t.Cluster) {
			return errBusy(t.Cluster)
		}
		defer q.slots.Release(t.Cluster)
	}
	command, request := q.command(t), q.request()
	run, environment := q.PathValue("id"), EnvironmentOf(q.Request)
	q.Forget()
	ctx, cancel := context.WithTimeout(q.Context(), timeout)
	defer cancel()
	resp, err := q.Clusters.Do(ctx, t.Cluster, command, request)
	if err != nil {
		return Failure(t.Cluster, err)
	}
	defer resp.Body.Close()
	if s == Run && resp.StatusCode == http.StatusNotFound {
		q.found.Add(q.Principal.Team.NamespaceName(), run, "") // it is looked for again
	}
	if s == Environment && resp.StatusCode == http.StatusNotFound && slices.Contains(t.Environments, environment) {
		return &exchange.Failure{Code: "environment_not_found", Message: fmt.Sprintf("The team has no Environment %s in the cluster %s, which "+
			"this hub names for it. Create it there, or correct spec.cluster of the Environment here.", environment, t.Cluster)}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 599 { // others are of the protocol, or of none
		return Failure(t.Cluster, &delegation.Error{Message: "does not answer", Cause: fmt.Errorf("it answers %s", resp.Status)})
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || !slices.Contains(mediaTypes, media) {
		cause := fmt.Errorf("something in its place answers %s", resp.Status)
		return Failure(t.Cluster, &delegation.Error{Message: "does not answer", Cause: cause})
	}
	return q.copy(w, resp)
}

// timeout is of the whole answer: a wait takes as long as it was asked to, and a log as long as the run that is followed. These have bounds
// of their own.
func (q *question) timeout() (timeout time.Duration, bounded bool, err error) {
	query := q.URL.Query()
	if query.Get("follow") == "true" {
		if !q.MoveTo(q.Runs.Sending) {
			return 0, false, exchange.Overloaded("The server is sending logs for as many requests as it can, or for as many of this team as leave " +
				"room for others. Send the request again in a few seconds.")
		}
		return q.Limits.MaxFollow, true, nil
	}
	seconds, err := strconv.ParseUint(query.Get("wait"), 10, 16)
	if wait := time.Duration(seconds) * time.Second; err == nil && wait > 0 && wait <= q.Limits.MaxWait {
		if err := q.BeginWait(q.Waiting); err != nil {
			return 0, false, err
		}
		return wait + limits.ClusterTimeout, true, nil
	}
	return limits.ClusterTimeout, false, nil
}

// request has nothing of the sender's but its question: the credential is the hub's.
func (q *question) request() *http.Request {
	r := &http.Request{Method: q.Method, URL: &url.URL{Path: q.URL.Path, RawQuery: q.URL.RawQuery}, Header: http.Header{}}
	for _, name := range []string{"Accept", "Content-Type"} {
		if value := q.Header.Get(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	if q.body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(q.body)), int64(len(q.body))
	}
	return r
}

// copy sends each part of the answer at once, as logs need it. An answer that is too long, or that breaks off, cuts the connection.
func (q *question) copy(w http.ResponseWriter, resp *http.Response) error {
	for _, name := range passedHeaders {
		if value := resp.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(q.Limits.LogWrite)) // not every ResponseWriter has one
	w.WriteHeader(resp.StatusCode)
	body := http.MaxBytesReader(nil, resp.Body, limits.MaxLogBytes)
	buffer := make([]byte, limits.LogBuffer)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(q.Limits.LogWrite))
			if _, err := w.Write(buffer[:n]); err != nil {
				return nil // the client is gone
			}
			_ = control.Flush()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			const message = "The answer of the cluster broke off. Send the request again."
			return &exchange.Failure{Code: "cluster_unavailable", Cause: err, Message: message}
		}
	}
}

func errBusy(cluster string) error {
	return exchange.Overloaded("The cluster %s is answering as many requests of this hub as it may at once. Send the request again in a few "+
		"seconds.", cluster)
}

// Failure is the failure of a request that a cluster did not answer.
func Failure(cluster string, err error) error {
	failed, ok := errors.AsType[*delegation.Error](err)
	switch {
	case !ok:
		return err
	case failed.Refused:
		return &exchange.Failure{Code: "cluster_refused", Cause: err, Message: failed.Sentence(cluster) + "."}
	default:
		return &exchange.Failure{Code: "cluster_unavailable", Cause: err,
			Message: failed.Sentence(cluster) + ". Send the request again in a few seconds."}
	}
}
