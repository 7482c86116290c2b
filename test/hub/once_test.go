package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	clients = 16 // at once
	kills   = 10 // of each manager
)

// TestOnce: notifications of distinct commits make one run of each Trigger each, at the hub and in the cluster, while both managers
// are killed again and again, and the proxy between them loses answers, repeats requests and lets them overtake one another. Each
// client sends its notification until it is told of all runs, and is told of these.
func TestOnce(t *testing.T) {
	w := newWorld(t, options{})
	tm := w.newTeam(t, "smoke", "checkout")
	w.hub.create(t, tm.environment("local", v1alpha1.EnvironmentSpec{URL: "https://local.example.com"}))
	w.hub.create(t, tm.trigger("at-the-hub", "local"))
	notifications, kills := 1000, kills
	if tier.Gate() {
		notifications, kills = 50, 2
	}
	triggers := []string{"at-the-hub", "checkout", "smoke"}
	poll.Until(t, "the hub's own Trigger is known", func() string {
		a := tm.toHub.try(http.MethodPost, notifyPath+"?dryRun=true", `{"sha":"none"}`)
		if len(a.explanations()) != len(triggers) {
			return a.String()
		}
		return ""
	})
	w.between.loses.Store(7)
	w.between.repeats.Store(5)
	w.between.delays.Store(3)

	c := &crowd{team: tm, want: triggers, told: map[string]map[string]string{}}
	ended := c.send(notifications)
	for n := range 2 * kills { // each after a part of the answers, in the middle of others
		poll.True(t, "more clients are answered", func() bool { return c.answered.Load() >= int64((n+1)*notifications/(2*kills+2)) })
		[]*side{w.hub, w.cluster}[n%2].manager.Restart()
	}
	<-ended
	t.Logf("HUB_ONCE notifications=%d attempts=%d kills=%d passed=%d lost=%d repeated=%d delayed=%d", notifications, c.attempts.Load(), 2*kills,
		w.between.passed.Load(), w.between.lost.Load(), w.between.repeated.Load(), w.between.delayed.Load())
	for what, n := range map[string]*atomic.Int64{"lost": &w.between.lost, "repeated": &w.between.repeated, "delayed": &w.between.delayed} {
		if n.Load() == 0 {
			t.Errorf("nothing was %s, so this tested nothing", what)
		}
	}
	c.check(notifications)
}

// crowd are clients, each with a notification of its own, and what they were told.
type crowd struct {
	*team
	want               []string // Triggers
	attempts, answered atomic.Int64

	mu   sync.Mutex
	told map[string]map[string]string // runs by Trigger, by commit
}

// send returns a channel that is closed when each notification has been answered.
func (c *crowd) send(notifications int) (ended chan struct{}) {
	ended = make(chan struct{})
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := client; n < notifications; n += clients {
				c.notify(client, fmt.Sprintf("commit-%04d", n))
				c.answered.Add(1)
			}
		})
	}
	go func() {
		all.Wait()
		close(ended)
	}()
	return ended
}

// notify is a pipeline that is started again until it is told of all runs. Each client deploys to a URL of its own: a commit that was
// replaced there by another one is deployed again if it is sent again, and has another run.
func (c *crowd) notify(client int, sha string) {
	body := fmt.Sprintf(`{"branch":"main","sha":%q,"deployment_url":"https://client-%d.example.com"}`, sha, client)
	var headers []string
	if client%2 == 0 {
		headers = []string{"Idempotency-Key", "pipeline-of-" + sha}
	}
	err := poll.Wait(poll.Limit, "the answer to "+sha, func() string {
		c.attempts.Add(1)
		a := c.toHub.tryIn(context.Background(), http.MethodPost, notifyPath, body, headers...)
		var answer httpapi.NotificationResult
		if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &answer) != nil {
			return a.String()
		}
		if !c.learn(sha, answer.Results) {
			return a.String()
		}
		return ""
	})
	if err != nil {
		c.t.Error(err)
	}
}

// learn reports whether there is a run of each Trigger.
func (c *crowd) learn(sha string, results []httpapi.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told[sha] == nil {
		c.told[sha] = map[string]string{}
	}
	for _, r := range results {
		before, id := c.told[sha][r.TriggerID], r.RunID()
		if id != "" && before != "" && id != before {
			c.t.Errorf("%s: the run of %s was %s, and is now %s", sha, r.TriggerID, before, id)
		}
		if id != "" {
			c.told[sha][r.TriggerID] = id
		}
	}
	return slices.Equal(slices.Sorted(maps.Keys(c.told[sha])), c.want)
}

// check compares what there is with what the clients were told.
func (c *crowd) check(notifications int) {
	c.t.Helper()
	found := map[string]map[string]string{}
	for _, s := range append(c.suites(c.hub), c.suites(c.cluster)...) {
		sha, trigger := s.Spec.Deployment.SHA, s.Spec.Trigger.Name
		if found[sha] == nil {
			found[sha] = map[string]string{}
		}
		if other := found[sha][trigger]; other != "" {
			c.t.Errorf("%s has two runs of %s: %s and %s", sha, trigger, other, s.Name)
		}
		found[sha][trigger] = s.Name
	}
	if len(found) != notifications {
		c.t.Errorf("there are runs of %d commits, want %d", len(found), notifications)
	}
	for sha, told := range c.told {
		if !maps.Equal(told, found[sha]) {
			c.t.Errorf("%s: the client was told of %v, and there are %v", sha, told, found[sha])
		}
	}
}
