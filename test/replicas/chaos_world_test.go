package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
)

// worldTime is how long tests of a world take at most: long enough for something else to be deployed, and known, meanwhile.
const worldTime = 7 * time.Second

const worldPrefix = "world-" // of the names of their Environments

// worlds are Environments to which the test really deploys, in a team of their own. What is there decides how tests end.
type worlds struct {
	tm      *team
	clients *pipelines
	cluster *fakecluster.Cluster
	all     []*world

	mu          sync.Mutex
	deployments []history.Deployment // in order
	gates       []history.Gate
	earlier     []history.Run // of which the Suites were restored since
	restored    int
	releases    releases
	forgotten   map[int]bool // deployments that only the status of a restored Suite knew
}

// world is one Environment. Both branches of each repository are deployed to it.
type world struct {
	*worlds
	name  string
	pool  []worldCommit
	named string // whether pipelines name the repository: always, never or sometimes

	sent  []worldMessage
	asked []worldGate
	runs  []string
}

type worldCommit struct {
	repository, branch, sha string
	good                    bool
}

// worldMessage is what was sent of a deployment, for the second time as it is.
type worldMessage struct {
	about int // of worlds.deployments
	body  string
	key   string
	event *codehost.Event // nil: a pipeline sent it
}

type worldGate struct {
	about   int
	run     string
	created bool // for it
}

// begin creates worlds that differ in what decides about runs again.
func (ws *worlds) begin(tm *team, f *fakecluster.Cluster) {
	tm.t.Helper()
	ws.cluster, ws.forgotten = f, map[int]bool{}
	ws.tm = newTeamNamed(tm, "worlds")
	ws.tm.create(ws.tm.apiKey("ci", ws.tm.key))
	ws.tm.unbind()
	ws.tm.create(&corev1.Secret{ObjectMeta: ws.tm.meta("postflight-events"), Data: map[string][]byte{"github": []byte(ofTheTeam)}})
	ws.tm.binds("postflight-credentials-reader")
	ws.tm.create(&v1alpha1.EventSource{ObjectMeta: ws.tm.meta("repository"), Spec: v1alpha1.EventSourceSpec{
		Type: v1alpha1.EventsOfGitHub, Secret: &v1alpha1.SecretKeyReference{Name: "postflight-events", Key: "github"},
	}})
	for i, w := range []*world{
		{named: "sometimes", pool: commitsOf(0, "acme/shop")},
		{named: "always", pool: commitsOf(1, "acme/shop", "acme/pay")},
		{named: "sometimes", pool: commitsOf(2, "acme/shop", "acme/pay")},
	} {
		w.worlds, w.name = ws, fmt.Sprint(worldPrefix, i)
		ws.all = append(ws.all, w)
		e := &v1alpha1.Environment{ObjectMeta: ws.tm.meta(w.name)}
		e.Spec.URL = "https://" + w.name + ".example.com"
		ws.tm.create(e)
		t := ws.tm.trigger(w.name)
		t.Spec.Environment, t.Spec.Results, t.Spec.Retry = w.name, &v1alpha1.Results{}, &v1alpha1.Retry{OnError: 2}
		t.Spec.Match.DeploymentTypes = []string{w.name}
		t.Spec.Duplicates = []v1alpha1.DuplicatePolicy{
			v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment, v1alpha1.DuplicatesRerunUnsuccessful,
		}[i]
		t.Spec.Supersede = []v1alpha1.SupersedePolicy{v1alpha1.SupersedeBranch, v1alpha1.SupersedeNone, v1alpha1.SupersedeEnvironment}[i]
		t.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "*/5 * * * *"}
		ws.tm.create(t)
	}
}

// commitsOf are four of each repository, of two branches; every second is good.
func commitsOf(world int, repositories ...string) (all []worldCommit) {
	for i, r := range repositories {
		for n := range 4 {
			all = append(all, worldCommit{
				repository: r, branch: []string{"main", "hotfix"}[n/2], good: n%2 == 1,
				sha: strings.Repeat(fmt.Sprintf("%x%x%x0", world+1, i+10, n+1), 10),
			})
		}
	}
	return all
}

// await waits until the replicas know the team, its Triggers and its source of events. It deploys nothing: a schedule would test that.
func (ws *worlds) await(all []*replica) {
	ws.tm.t.Helper()
	for _, w := range ws.all {
		for _, r := range all {
			poll.True(ws.tm.t, "the world is known", func() bool {
				a, err := dryRun(ws.tm.t.Context(), r.URL, ws.tm.key, fmt.Sprintf(`{"sha":"warm-up","deployment_type":%q}`, w.name))
				return err == nil && a.Status == 200 && len(a.Results) == 1
			})
		}
	}
	for _, r := range all {
		poll.True(ws.tm.t, "events are taken", func() bool {
			status, _ := ws.tm.send(r, ws.eventsPath(), codehost.DeploymentEvent("acme/shop", "warm-up", "nowhere", 1))
			return status == 200
		})
	}
}

func (ws *worlds) eventsPath() string { return "/api/events/" + ws.tm.namespace + "/repository" }

// tests end as what is there decides: well if the last commit of each repository is good.
func (ws *worlds) tests(j *batchv1.Job) (history.Tests, time.Duration) {
	last := j.Name[len(j.Name)-1]
	takes := worldTime / time.Duration(1+last%4)
	i := slices.IndexFunc(ws.all, func(w *world) bool { return w.name == j.Labels[v1alpha1.LabelEnvironment] })
	if i < 0 || !ws.all[i].good() {
		return history.Failed, takes
	}
	return history.Passed, takes
}

func (w *world) good() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := map[string]bool{}
	for _, d := range w.deployments {
		if d.Place == w.name {
			there[d.Repository] = w.commit(d.Commit).good
		}
	}
	for _, good := range there {
		if !good {
			return false
		}
	}
	return len(there) > 0
}

// commit is known by its whole SHA.
func (w *world) commit(sha string) worldCommit {
	i := slices.IndexFunc(w.pool, func(c worldCommit) bool { return c.sha == sha })
	if i < 0 {
		return worldCommit{sha: sha}
	}
	return w.pool[i]
}

// run lets people, pipelines and code hosts act in all worlds until ctx is done.
func (ws *worlds) run(ctx context.Context, seed uint64, pause time.Duration) {
	var all sync.WaitGroup
	for i, w := range ws.all {
		n := streams + 2 + 2*uint64(i)
		all.Go(func() { w.deploys(ctx, rand.New(rand.NewPCG(seed, n))) })
		all.Go(func() { w.meddles(ctx, rand.New(rand.NewPCG(seed, n+1))) })
		all.Go(func() { w.release(ctx, rand.New(rand.NewPCG(seed, n+100)), pause) })
	}
	all.Wait()
}

// record adds to a history what was deployed, and what came of it, once all runs have ended.
func (ws *worlds) record(h *history.History) {
	ws.tm.t.Helper()
	suites := ws.tm.awaitEnds(ws.cluster)
	h.Tested = ws.earlier
	for _, w := range ws.all {
		for _, g := range w.asked {
			w.ask(g)
		}
		for _, s := range suites {
			if s.Spec.Environment == w.name {
				r := runOf(&s, ws.cluster)
				r.Place, r.Repository = w.name, w.commit(r.Commit).repository
				h.Tested = append(h.Tested, r)
			}
		}
	}
	h.Deployments, h.Gates, h.Reviews = ws.deployments, ws.gates, ws.reviews()
}
