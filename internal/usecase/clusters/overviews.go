// Package clusters asks other clusters what teams have there, and remembers the answers while people look at them.
package clusters

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
)

// Source asks a cluster. Errors are mostly *delegation.Errors.
type Source interface {
	// Overview reads at most hub.MaxBytes.
	Overview(ctx context.Context, cluster string, c delegation.Command) (httpapi.Overview, error)
}

// Limits bound what a hub asks and remembers.
type Limits struct {
	FreshFor   time.Duration // how long an answer is used, or that there was none, until the next question
	PageWait   time.Duration // how long a page waits for answers
	AskTimeout time.Duration // of a question
	KeptFor    time.Duration // how long an answer is kept that no page shows
	Asking     int           // questions at once
	AskingOne  int           // questions at once to a cluster; 1 after it did not answer
	Kept       int           // answers
	KeptOfOne  int           // answers of a cluster
	Clusters   int           // that the pages of a team show
}

// DefaultLimits are the limits, each with its reason.
func DefaultLimits() Limits {
	return Limits{
		FreshFor:   5 * time.Second,        // A person who reloads a page gets the next answer, and many people cost one question.
		PageWait:   700 * time.Millisecond, // Twice around the world, and shorter than people take for broken.
		AskTimeout: 10 * time.Second,       // A cluster that takes longer is unavailable.
		KeptFor:    5 * time.Minute,        // Longer than people look elsewhere.
		Asking:     64,                     // One for each of 50 clusters that do not answer, and 14 for those that do.
		AskingOne:  4,                      // 40 teams in a cluster that is 20 ms away take a fifth of a second.
		Kept:       1000,                   // 50 clusters with 20 teams. Of ten Triggers and four Environments, 50 KiB each: 50 MiB.
		KeptOfOne:  100,                    // A cluster that sends as much as it may, 400 KiB each, takes 40 MiB.
		Clusters:   50,
	}
}

// Config is what Overviews need.
type Config struct {
	Source
	// Cluster returns a Cluster, or nil if there is none of the name.
	Cluster func(ctx context.Context, name string) (*v1alpha1.Cluster, error)
	Limits
	Clock clock.WithDelayedExecution
}

// Overviews remember what clusters answer.
type Overviews struct {
	Config
	mu       sync.Mutex
	asked    map[pair]*entry
	clusters map[string]*cluster
	asking   int
	sweeping bool
}

// pair is what an answer is about. A Team that was created again is another one.
type pair struct {
	cluster, team string
	uid           types.UID
}

func pairOf(cluster string, t *v1alpha1.Team) pair { return pair{cluster, t.Name, t.UID} }

// entry is what is known of a pair.
type entry struct {
	pair
	command  delegation.Command // of the newest question, open or next
	lookedAt time.Time          // when a page showed it last
	endedAt  time.Time          // when the newest question ended; zero: none has
	open     chan struct{}      // closed when the open question ends; nil: none is open
	answer   hub.Answer
}

// cluster is what is asked of a cluster.
type cluster struct {
	queue  []*entry // open questions that wait for their turn
	asking int
	failed time.Time // when the newest question ended without an answer; zero: it got one
	why    string
}

// New returns Overviews that know nothing yet.
func New(c Config) *Overviews {
	return &Overviews{Config: c, asked: map[pair]*entry{}, clusters: map[string]*cluster{}}
}

// Of returns what the clusters of a team's Environments answered last, ordered by their names, and how many clusters are left out.
// It waits a moment for those that have to be asked.
func (o *Overviews) Of(ctx context.Context, team *v1alpha1.Team, environments []*v1alpha1.Environment) (answers []hub.Answer, omitted int) {
	targets := delegation.Targets(environments)
	if len(targets) > o.Clusters {
		targets, omitted = targets[:o.Clusters], len(targets)-o.Clusters
	}
	if len(targets) == 0 {
		return nil, 0
	}
	o.wait(ctx, o.look(team, targets))
	for i, a := range o.known(team, targets) {
		a = a.Within(targets[i].Environments)
		a.Cluster = targets[i].Cluster
		if c, err := o.Cluster(ctx, a.Cluster); err == nil && c != nil {
			a.URL = c.Spec.URL
		}
		answers = append(answers, a)
	}
	return answers, omitted
}

// look asks what is not fresh, and returns the open questions for which a page waits: not those to a cluster that did not answer last.
func (o *Overviews) look(team *v1alpha1.Team, targets []delegation.Target) (open []chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.Clock.Now()
	for _, t := range targets {
		e, c := o.entryOf(pairOf(t.Cluster, team)), o.clusterOf(t.Cluster)
		e.lookedAt = now
		if e.open == nil && (e.endedAt.IsZero() || now.Sub(e.endedAt) >= o.FreshFor) {
			e.open = make(chan struct{})
			e.command = delegation.Command{Team: team, RequestID: "page-of-" + team.Name,
				Delegation: delegation.Delegation{For: "the pages of the team", Environments: t.Environments}}
			c.queue = append(c.queue, e)
			o.start(c)
		}
		if e.open != nil && c.failed.IsZero() {
			open = append(open, e.open)
		}
	}
	o.sweepLater()
	return open
}

func (o *Overviews) wait(ctx context.Context, open []chan struct{}) {
	if len(open) == 0 {
		return
	}
	timer := o.Clock.NewTimer(o.PageWait)
	defer timer.Stop()
	for _, ended := range open {
		select {
		case <-ended:
		case <-timer.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

// known returns an answer for each target.
func (o *Overviews) known(team *v1alpha1.Team, targets []delegation.Target) (answers []hub.Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range targets {
		a, c := hub.Answer{}, o.clusterOf(t.Cluster)
		if e := o.asked[pairOf(t.Cluster, team)]; e != nil {
			a = e.answer
		}
		switch {
		case a.Problem == "" && c.failed.After(a.AnsweredAt):
			a.Problem = c.why
		case a.Problem == "" && a.Overview == nil:
			a.Problem = "has not answered yet"
		}
		answers = append(answers, a)
	}
	return answers
}

func (o *Overviews) clusterOf(name string) *cluster {
	if o.clusters[name] == nil {
		o.clusters[name] = &cluster{}
	}
	return o.clusters[name]
}
