package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
)

// releases are deployments to production beyond each world, which wait on GitHub until a DeploymentGate has decided.
type releases struct {
	host *codehost.Host
	all  []release
}

type release struct {
	codehost.Waiting
	world *world
}

// reviewsPerWorld bounds the questions, so that the answers stay below the 500 an hour that GitHub allows.
const reviewsPerWorld = 60

func (w *world) production() string { return "production-" + w.name }

// gated lets a commit to production beyond each world if it has passed there.
func (ws *worlds) gated(host *codehost.Host) {
	ws.releases = releases{host: host}
	ws.tm.create(&corev1.Secret{ObjectMeta: ws.tm.meta("postflight-github"), Data: codehost.Secret()})
	for _, w := range ws.all {
		g := &v1alpha1.DeploymentGate{ObjectMeta: ws.tm.meta(w.name)}
		g.Spec = v1alpha1.DeploymentGateSpec{
			Source: "repository", Environments: v1alpha1.NamePatterns{w.production()},
			Requires:     []v1alpha1.GateRequirement{{Environment: w.name}},
			StartTimeout: &metav1.Duration{Duration: 5 * time.Second}, Timeout: &metav1.Duration{Duration: time.Minute},
			Credentials: &v1alpha1.RepositoryCredentials{SecretRef: v1alpha1.SecretReference{Name: "postflight-github"}},
		}
		ws.tm.create(g)
	}
}

// releases asks about commits until ctx is done, with pauses that spread the questions over the test.
func (w *world) release(ctx context.Context, random *rand.Rand, longest time.Duration) {
	for range reviewsPerWorld {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(random.Int64N(int64(longest)))):
		}
		c := w.pool[random.IntN(len(w.pool))]
		if last, found := w.last(); found && random.IntN(2) == 0 {
			c = last
		}
		w.mu.Lock()
		n := len(w.releases.all) + 1
		waiting := w.releases.host.Wait(codehost.Waiting{
			Repository: c.repository, Environment: w.production(), SHA: c.sha, Ref: c.branch, RunID: int64(n),
		})
		w.releases.all = append(w.releases.all, release{waiting, w})
		w.mu.Unlock()
		for range 1 + random.IntN(2) {
			w.delivers(waiting.Event(), random)
		}
	}
}

func (w *world) last() (c worldCommit, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.deployments {
		if d.Place == w.name {
			c, found = w.commit(d.Commit), true
		}
	}
	return c, found
}

// delivers repeats an event until a review is named.
func (w *world) delivers(e codehost.Event, random *rand.Rand) {
	err := poll.Wait(answerWithin, "the answer to "+e.Kind, func() string {
		r, err := e.Deliver(w.clients.pick(random)+w.eventsPath(), ofTheTeam)
		if err != nil {
			return err.Error()
		}
		resp, err := client.Do(r)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		var reply httpapi.EventResult
		if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || resp.StatusCode != http.StatusOK || reply.Review == "" {
			return fmt.Sprintf("%d %+v %v", resp.StatusCode, reply, err)
		}
		return ""
	})
	if err != nil {
		w.tm.t.Error(err)
	}
}

// reviews waits until all deployments have a decision, or returns them as they are then.
func (ws *worlds) reviews() (all []history.Review) {
	ws.tm.t.Helper()
	_ = poll.Wait(endWithin, "all deployments are decided about", func() string {
		for _, r := range ws.releases.all {
			if len(ws.releases.host.Decisions(r.RunID)) == 0 {
				return fmt.Sprintf("run %d is not", r.RunID)
			}
		}
		return ""
	})
	for _, r := range ws.releases.all {
		review := history.Review{ID: fmt.Sprint(r.RunID), Place: r.world.name, Repository: r.Repository, Commit: r.SHA}
		for _, d := range ws.releases.host.Decisions(r.RunID) {
			review.Decisions = append(review.Decisions, history.Decision{Approved: d.State == "approved", At: d.At})
		}
		all = append(all, review)
	}
	return all
}

// approvals counts those of a history.
func approvals(all []history.Review) (n int) {
	for _, r := range all {
		for _, d := range r.Decisions {
			if d.Approved {
				n++
			}
		}
	}
	return n
}
