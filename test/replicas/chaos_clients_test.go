package replicas

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
)

// pipelines send notifications, each in a stream of its own, and record all answers.
type pipelines struct {
	tm   *team
	urls func() []string // of the replicas that there are

	mu        sync.Mutex
	attempts  []history.Attempt
	inquiries []history.Inquiry
	told      []string // ids of runs
}

// run notifies until ctx is done. A notification that was sent is repeated until it is answered.
func (c *pipelines) run(ctx context.Context, branch string, random *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		sha := fmt.Sprintf("%s-%04d", branch, n)
		c.notifyTwice(notified{branch, sha, sha}, random)
		c.inquire(random)
		if random.IntN(3) == 0 { // an earlier commit, or this one, is deployed again
			earlier := fmt.Sprintf("%s-%04d", branch, max(0, n-random.IntN(3)))
			c.notifyTwice(notified{branch, earlier, fmt.Sprintf("%s-again-%04d", earlier, n)}, random)
		}
		pause := time.Duration(random.IntN(1200)) * time.Millisecond
		if random.IntN(5) == 0 {
			pause = history.Tolerance + 100*time.Millisecond // so that the order is certain
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// answerWithin bounds how long a client repeats a notification.
const answerWithin = 3 * time.Minute

// notified is a notification.
type notified struct{ branch, sha, key string }

// notifyTwice is a pipeline that may have been started twice.
func (c *pipelines) notifyTwice(n notified, random *rand.Rand) {
	var twins sync.WaitGroup
	for range 1 + random.IntN(2) {
		seed := random.Uint64()
		twins.Go(func() { c.notify(n, rand.New(rand.NewPCG(seed, 0))) })
	}
	twins.Wait()
}

func (c *pipelines) notify(n notified, random *rand.Rand) {
	err := poll.Wait(answerWithin, "the answer to "+n.key, func() string {
		a := c.attempt(n, c.pick(random))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.attempts = append(c.attempts, a)
		if id := cmp.Or(a.Created, a.Known); id != "" {
			c.told = append(c.told, id)
		}
		if a.Status != http.StatusOK {
			return fmt.Sprintf("status %d", a.Status)
		}
		return ""
	})
	if err != nil {
		c.tm.t.Error(err)
	}
}

func (c *pipelines) pick(random *rand.Rand) string {
	urls := c.urls()
	return urls[random.IntN(len(urls))]
}

// attempt notifies of a URL of the stream, because a commit of another stream at the same URL would replace this one.
func (c *pipelines) attempt(n notified, url string) history.Attempt {
	a := history.Attempt{Identity: n.key, Commit: n.sha, Stream: n.branch, Sent: time.Now()}
	var reply answer
	a.Status = c.call(http.MethodPost, url+"/api/webhooks/deploy_success", n.key,
		fmt.Sprintf(`{"branch":%q,"sha":%q,"deployment_url":"https://%s.example.com"}`, n.branch, n.sha, n.branch), &reply)
	a.Answered = time.Now()
	if a.Status != http.StatusOK || len(reply.Results) == 0 {
		a.Status = 0 // an answer without a result is none: the replica does not know the Trigger
		return a
	}
	result := reply.Results[0]
	a.Created, a.Known, a.Failure = result.Created, result.Duplicate, result.Failure
	a.Ended = result.EndedAt
	return a
}

// call returns the status, and 0 where there is no whole answer.
func (c *pipelines) call(method, url, key, body string, reply any) int {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		c.tm.t.Error(err)
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+c.tm.key)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(reply); err != nil {
		return 0
	}
	return resp.StatusCode
}

// inquire asks how some run goes.
func (c *pipelines) inquire(random *rand.Rand) {
	c.mu.Lock()
	if len(c.told) == 0 {
		c.mu.Unlock()
		return
	}
	id := c.told[random.IntN(len(c.told))]
	c.mu.Unlock()
	var g httpapi.Greenlight
	if c.call(http.MethodGet, c.pick(random)+"/api/v0/ci-greenlight/"+id, "", "", &g) != http.StatusOK {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inquiries = append(c.inquiries, history.Inquiry{
		Run: g.RelevantRunID, Over: g.RunStage != httpapi.Initializing, Green: g.Greenlight, Canceled: g.RunStage == httpapi.Canceled,
	})
}
