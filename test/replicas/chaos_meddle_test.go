package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
)

// deploys deploys until ctx is done, and notifies before it deploys again. Pauses make the order certain for all replicas.
func (w *world) deploys(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		c := w.pool[random.IntN(len(w.pool))]
		w.notifies(w.deploy(c), c, random)
		select {
		case <-ctx.Done():
		case <-time.After(history.Tolerance + time.Duration(random.IntN(3000))*time.Millisecond):
		}
	}
}

func (w *world) deploy(c worldCommit) (number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deployments = append(w.deployments, history.Deployment{Place: w.name, Repository: c.repository, Commit: c.sha, At: time.Now()})
	return len(w.deployments) - 1
}

// notifies is a pipeline, the code host, or both.
func (w *world) notifies(about int, c worldCommit, random *rand.Rand) {
	m := worldMessage{about: about, key: fmt.Sprintf("%s-%d", w.name, about)}
	n := httpapi.Notification{SHA: c.sha, Branch: c.branch, DeploymentType: w.name}
	if w.named == "always" || w.named == "sometimes" && random.IntN(2) == 0 {
		n.Repository = spelled(c.repository, random)
	}
	body, err := json.Marshal(n)
	if err != nil {
		w.tm.t.Error(err)
	}
	m.body = string(body)
	if random.IntN(3) == 0 {
		event := codehost.DeploymentEvent(spelled(c.repository, random), c.sha, w.name, 1)
		w.send(worldMessage{about: about, event: &event}, random)
		if random.IntN(2) == 0 {
			return
		}
	}
	w.send(m, random)
}

// spelled is a repository as the code host writes it, or as somebody else does.
func spelled(repository string, random *rand.Rand) string {
	if random.IntN(2) == 0 {
		return repository
	}
	return map[string]string{"acme/shop": "Acme/Shop", "acme/pay": "acme/PAY"}[repository]
}

// send repeats a message until it is answered.
func (w *world) send(m worldMessage, random *rand.Rand) {
	err := poll.Wait(answerWithin, "the answer to "+m.key, func() string {
		results, answered := w.post(m, random)
		if !answered {
			return "there is none"
		}
		w.answered(m, results)
		return ""
	})
	if err != nil {
		w.tm.t.Error(err)
	}
}

func (w *world) post(m worldMessage, random *rand.Rand) (results []httpapi.Result, answered bool) {
	url := w.clients.pick(random)
	if m.event == nil {
		var reply httpapi.NotificationResult
		status := w.clients.call(http.MethodPost, url+"/api/webhooks/deploy_success", m.key, m.body, &reply)
		return reply.Results, status == http.StatusOK && len(reply.Results) > 0 // else the replica does not know the Trigger
	}
	r, err := m.event.Deliver(url+w.eventsPath(), ofTheTeam)
	if err != nil {
		w.tm.t.Error(err)
		return nil, true
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close()
	var reply httpapi.EventResult
	err = json.NewDecoder(resp.Body).Decode(&reply)
	return reply.Results, resp.StatusCode == http.StatusOK && err == nil && (len(reply.Results) > 0 || reply.Ignored != "")
}

// answered remembers whom to ask what came of a deployment. An answer that names a difference says itself that its run is of another one.
func (w *world) answered(m worldMessage, results []httpapi.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, m)
	for _, r := range results {
		if r.RunID() == "" {
			w.tm.t.Logf("%s has no run: %s", m.key, r.FailureReason)
			continue
		}
		if d := &w.deployments[m.about]; d.Told.IsZero() && !w.forgotten[m.about] {
			d.Told = time.Now()
		}
		w.runs = append(w.runs, r.RunID())
		if len(r.DuplicateDiffers) == 0 {
			w.asked = append(w.asked, worldGate{m.about, r.RunID(), r.CreatedSuiteID != ""})
		}
	}
}

// meddles presses buttons, sends messages again, and asks how runs went, until ctx is done.
func (w *world) meddles(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		switch n := random.IntN(20); {
		case n == 0:
			w.restores(random)
		case n < 11:
			w.reruns(random)
		case n < 14:
			if m, found := one(w, random, &w.sent); found && (m.event != nil || m.key != "") {
				w.send(m, random)
			}
		default:
			if g, found := one(w, random, &w.asked); found {
				w.ask(g)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
		}
	}
}

// one is often of the last few: what happened lately is what people look at.
func one[T any](w *world, random *rand.Rand, all *[]T) (any T, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(*all)
	if n == 0 {
		return any, false
	}
	if random.IntN(2) == 0 {
		return (*all)[n-1-random.IntN(min(n, 5))], true
	}
	return (*all)[random.IntN(n)], true
}

// reruns presses the button of some run, which may be refused.
func (w *world) reruns(random *rand.Rand) {
	run, found := one(w, random, &w.runs)
	if !found {
		return
	}
	var next httpapi.Run
	status := w.clients.call(http.MethodPost, w.clients.pick(random)+"/api/v0/runs/"+run+"/rerun", "", "", &next)
	if status == http.StatusOK || status == http.StatusCreated {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.runs = append(w.runs, next.ID)
	}
}

// ask remembers the answer of a gate if it is green: what is not green stops everybody.
func (w *world) ask(g worldGate) {
	var answer httpapi.Greenlight
	for _, url := range w.clients.urls() {
		if w.clients.call(http.MethodGet, url+"/api/v0/ci-greenlight/"+g.run, "", "", &answer) == http.StatusOK {
			break
		}
	}
	if !answer.Greenlight {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	gate := history.Gate{About: w.deployments[g.about], Asked: g.run, Run: answer.Counting(), Green: true}
	gate.About.Told = time.Time{} // equal whenever it is asked
	if !slices.Contains(w.gates, gate) {
		w.gates = append(w.gates, gate)
	}
}
