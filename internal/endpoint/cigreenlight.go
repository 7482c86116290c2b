package endpoint

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/greenlight"
	"github.com/postflight-dev/postflight/internal/index"
	"github.com/postflight-dev/postflight/internal/suite"
)

// noSuite is a name that no Suite can have, for it is longer than the API server allows, and that
// can be asked for.
var noSuite = strings.Repeat("0", 64)

// ciGreenlight tells a pipeline whether it may go on.
func (a *API) ciGreenlight(w http.ResponseWriter, r *Request) error {
	wait, err := a.waitOf(r.Request)
	if err != nil {
		return err
	}
	run := types.NamespacedName{Namespace: r.Principal.Team.NamespaceName(), Name: strings.Clone(r.PathValue("id"))}
	if len(validation.IsDNS1123Label(run.Name)) > 0 || r.PathValue("rest") != "" {
		run.Name = noSuite // looked up as well, so that a malformed id takes as long as an unknown one
	}
	inquiry := &inquiry{api: a, request: r, run: run}
	answer, err := inquiry.answer(wait)
	if err != nil {
		return err
	}
	r.audit = append(r.audit, "suite", answer.RootRunID, "relevantSuite", answer.RelevantRunID, "stage", answer.RunStage)
	writeJSON(w, "application/json", http.StatusOK, answer)
	return nil
}

// waitOf is how long the client is willing to wait for news.
func (a *API) waitOf(r *http.Request) (time.Duration, error) {
	bad := &failure{code: "invalid_request", message: "Send wait once, as whole seconds from 0 to " +
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

// inquiry is one request for the state of a run.
type inquiry struct {
	api     *API
	request *Request
	run     types.NamespacedName // keeps no part of the request alive
}

// answer is what there is to say now, or, where that is not final, what there is to say once
// something changed, or after the wait.
func (q *inquiry) answer(wait time.Duration) (*greenlight.Answer, error) {
	ctx := q.request.Context()
	first, topic, err := q.read(ctx)
	if err != nil || wait == 0 || first.Final() || q.api.hub.isClosed() {
		return first, err
	}
	if len(q.request.RequestURI) > maxWaitingURL {
		return nil, &failure{code: "invalid_request", message: "Send a URL of at most " + strconv.Itoa(maxWaitingURL) + " bytes with wait, or leave wait out."}
	}
	if !q.request.move(q.api.waiting) {
		return nil, &failure{code: "overloaded", message: "As many requests wait for runs as the server can hold, or as many of this team as leave room for others. Ask again without wait, or in a few seconds."}
	}
	q.request.forget()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		news, leave := q.api.hub.join(topic)
		now, next, err := q.read(q.request.Context())
		switch {
		case err != nil || now.Final() || !now.Same(*first):
			leave()
			return now, err
		case next != topic: // not what was joined: join that, and read again
			leave()
			topic = next
			continue
		}
		woken := q.sleep(ctx, news)
		leave()
		if !woken || q.api.hub.isClosed() {
			return now, nil
		}
	}
}

// sleep is false where the wait is over.
func (q *inquiry) sleep(ctx context.Context, news <-chan struct{}) bool {
	select {
	case <-news:
		return true
	case <-ctx.Done():
		return false
	}
}

// read finds the run, the one that counts for it, and the run whose news may change the answer.
func (q *inquiry) read(ctx context.Context) (*greenlight.Answer, types.NamespacedName, error) {
	root, err := q.find(ctx)
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	stream, err := q.api.relevantTo(ctx, root)
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	relevant := greenlight.Relevant(root, stream)
	answer := greenlight.Of(root, relevant, func(s *v1alpha1.Suite) string {
		return suite.PageURL(q.api.PublicURL, s.Namespace, s.Name)
	})
	return &answer, client.ObjectKeyFromObject(relevant), nil
}

// find reads the run in the namespace of the team, and nowhere else, so that another team's run is
// an unknown one. What the cache does not have may be newer than the cache: the API server is asked.
// The Suite is shared with the cache.
func (q *inquiry) find(ctx context.Context) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := q.api.Cache.Get(ctx, q.run, s, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) {
		ctx, cancel := context.WithTimeout(ctx, q.api.Limits.AttemptTimeout)
		defer cancel()
		err = q.api.Live.Get(ctx, q.run, s)
	}
	switch {
	case err == nil:
		return s, nil
	case apierror.NotFound(err):
		return nil, &failure{code: "run_not_found", message: "Run not found: this team has no run of that id. Check the id and the API key; finished runs are deleted after a while."}
	default:
		return nil, unreadable(err)
	}
}

// streamOf lists the runs of a run's stream that the cache knows.
func (a *API) streamOf(ctx context.Context, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	key := suite.StreamKey(s)
	if key == "" {
		return nil, nil
	}
	var list v1alpha1.SuiteList
	err := a.Cache.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingFields{index.Stream: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	stream := make([]*v1alpha1.Suite, len(list.Items))
	for i := range list.Items {
		stream[i] = &list.Items[i]
	}
	return stream, nil
}

// relevantTo lists the runs among which the relevant one is, where it is not the run itself.
func (a *API) relevantTo(ctx context.Context, root *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	if root.State() != v1alpha1.ReasonSuperseded {
		return nil, nil
	}
	stream, err := a.streamOf(ctx, root)
	if err != nil {
		return nil, err
	}
	successor := root.Status.SupersededBy
	if successor == "" || slices.ContainsFunc(stream, func(s *v1alpha1.Suite) bool { return s.Name == successor }) {
		return stream, nil
	}
	return a.withSuccessor(ctx, stream, types.NamespacedName{Namespace: root.Namespace, Name: successor})
}

// withSuccessor asks the API server for the run that superseded another, which a cache has not yet
// where it has not the other either, and not any more where it was deleted.
func (a *API) withSuccessor(ctx context.Context, stream []*v1alpha1.Suite, name types.NamespacedName) ([]*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	ctx, cancel := context.WithTimeout(ctx, a.Limits.AttemptTimeout)
	defer cancel()
	switch err := a.Live.Get(ctx, name, s); {
	case err == nil:
		return append(stream, s), nil
	case apierror.NotFound(err):
		return stream, nil
	default:
		return nil, unreadable(err)
	}
}

func unreadable(err error) error {
	return &failure{code: "unavailable", cause: err, message: "The run cannot be looked up at the moment. Ask again in a few seconds."}
}
