package replicas

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tokens"
)

// neighbor is a team that does what teams do, while another one attacks.
type neighbor struct {
	*team
	r       *replica
	browser *http.Client // signed in
	ci      *tokens.Issuer

	numbers atomic.Int64
}

// newNeighbor has a workload, an Environment that names it, and a webhook of its repository.
func newNeighbor(t *testing.T, s *apiserver.Server) *neighbor {
	t.Helper()
	n := &neighbor{team: newTeam(t, s), ci: tokens.NewIssuer(t)}
	n.trusts(n.ci, "repository_id", "4711")
	n.unbind()
	n.binds("postflight-workloads-reader")
	n.binds("postflight-credentials-reader")
	n.create(&corev1.Secret{ObjectMeta: n.meta("postflight-events"), Data: map[string][]byte{"github": []byte(ofTheTeam)}})
	n.create(n.eventSource("repository"))
	smoke := &v1alpha1.Trigger{ObjectMeta: n.meta("smoke")}
	n.update(smoke, func() { smoke.Spec.Repository = &v1alpha1.Repository{Name: "acme/shop", Deployments: true} })
	shop := &fakecluster.Deployment{Client: s.Client, Namespace: n.namespace, Name: "shop"}
	shop.Next()
	if err := errors.Join(shop.Set(t.Context(), goodCommit), shop.Complete(t.Context(), goodCommit)); err != nil {
		t.Fatal(err)
	}
	n.create(n.named("usual"))
	return n
}

// named is an Environment of the workload.
func (n *neighbor) named(name string) *v1alpha1.Environment {
	e := &v1alpha1.Environment{ObjectMeta: n.meta(name)}
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "shop", Repository: "acme/shop"}}
	return e
}

// eventSource has the secret of a webhook, which need not exist.
func (tm *team) eventSource(name string) *v1alpha1.EventSource {
	return &v1alpha1.EventSource{ObjectMeta: tm.meta(name), Spec: v1alpha1.EventSourceSpec{
		Type: v1alpha1.EventsOfGitHub, Secret: &v1alpha1.SecretKeyReference{Name: "postflight-events", Key: "github"},
	}}
}

// awaitServed waits until the manager knows the team, and signs in.
func (n *neighbor) awaitServed(t *testing.T, r *replica) {
	t.Helper()
	n.r = r
	n.awaitKnown([]*replica{r})
	poll.Until(t, "the manager takes events, and tokens", func() string {
		if err := errors.Join(n.event(), n.token()); err != nil {
			return err.Error()
		}
		return ""
	})
	usual := n.named("usual")
	poll.True(t, "the workload is watched", func() bool {
		n.get(usual)
		return meta.IsStatusConditionTrue(usual.Status.Conditions, v1alpha1.ConditionReady)
	})
	reader := &pageReader{t: t, tm: n.team}
	reader.signIn(r)
	n.browser = reader.client
	n.browser.Timeout = time.Minute
}

// measure uses the manager for some time.
func (n *neighbor) measure(d time.Duration) (f figures) {
	over := time.After(d)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, u := range []struct {
		into    *series
		pause   time.Duration
		request func() error
	}{
		{&f.notifications, 200 * time.Millisecond, n.notification},
		{&f.events, 500 * time.Millisecond, n.event},
		{&f.statuses, time.Second, n.status},
		{&f.pages, 500 * time.Millisecond, n.page},
		{&f.tokens, time.Second, n.token},
	} {
		all.Go(func() { *u.into = repeat(stop, u.pause, u.request) })
	}
	<-over
	close(stop)
	all.Wait()
	return f
}

// commit is another one each time, so that nothing is a duplicate.
func (n *neighbor) commit() string { return rolledCommit(int(n.numbers.Add(1))) }

func (n *neighbor) notification() error {
	a, err := notifyOnce(n.t, n.r.URL, n.key, fmt.Sprintf(`{"branch":"main","sha":%q}`, n.commit()))
	if err == nil && (a.Status != http.StatusOK || !strings.Contains(a.Body, "created_suite_id")) {
		err = fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	return err
}

func (n *neighbor) event() error {
	e := codehost.DeploymentEvent("acme/shop", n.commit(), "staging", 1)
	request, err := e.Deliver(n.r.URL+"/api/events/"+n.namespace+"/repository", ofTheTeam)
	if err != nil {
		return err
	}
	body, err := readOK(client, request)
	if err == nil && !strings.Contains(body, `"results"`) {
		err = errors.New(body)
	}
	return err
}

func (n *neighbor) page() error {
	request, err := http.NewRequest(http.MethodGet, n.r.URL+"/runs/"+n.namespace, nil)
	if err == nil {
		_, err = readOK(n.browser, request)
	}
	return err
}

func readOK(by *http.Client, request *http.Request) (string, error) {
	answer, err := by.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", answer.StatusCode, body)
	}
	return string(body), err
}

// status creates an Environment with a workload, waits until its status says that this can be read, and deletes it.
func (n *neighbor) status() error {
	ctx, e := n.t.Context(), n.named("new-"+n.commit()[:8])
	if err := n.s.Client.Create(ctx, e); err != nil {
		return err
	}
	err := poll.Wait(poll.Limit, "the Environment is Ready", func() string {
		err := n.s.Client.Get(ctx, k8sclient.ObjectKeyFromObject(e), e)
		if err == nil && (meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionReady) || n.r.Ended()) {
			return ""
		}
		return fmt.Sprintf("%v, %+v", err, e.Status)
	})
	if n.r.Ended() {
		err = errors.New("the manager has ended")
	}
	return errors.Join(err, n.s.Client.Delete(ctx, e))
}
