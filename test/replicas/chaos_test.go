package replicas

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	briefly  = 700 * time.Millisecond // how long a fault lasts in the short form
	streams  = 4
	testTime = 400 * time.Millisecond // at most, of a run

	// endWithin is after the last fault: a lost node alone takes a quarter of a minute.
	endWithin = 3 * time.Minute
)

// TestChaos injects faults while pipelines send notifications, and then checks what they were told, and what happened to
// the runs. The short form injects each fault once; `make chaos` goes on for long. docs/chaos.md explains both.
func TestChaos(t *testing.T) {
	seed, duration := chaosSeed(t), chaosDuration(t)
	random := rand.New(rand.NewPCG(seed, 0))
	s := apiserver.Alone(t)
	ws := &worlds{}
	f := &fakecluster.Cluster{Pods: true, Tests: func(j *batchv1.Job) (history.Tests, time.Duration) {
		if strings.HasPrefix(j.Labels[v1alpha1.LabelEnvironment], worldPrefix) {
			return ws.tests(j)
		}
		return chaosTests(j)
	}}
	f.Start(t, s)
	tm := newTeam(t, s)
	ws.begin(tm, f)
	tm.unbind()
	smoke := tm.trigger("smoke")
	tm.update(smoke, func() { smoke.Spec.Results = &v1alpha1.Results{} })
	shop := tm.newWorkload()
	gitHub := codehost.GitHub(t)
	ws.gated(gitHub)
	fl := startFleet(t, s, f, random, chaosHold(duration), "--github-url="+gitHub.URL)
	tm.awaitKnown([]*replica{fl.members[0].replica, fl.members[1].replica})

	shop.awaitWatched()
	ws.await([]*replica{fl.members[0].replica, fl.members[1].replica})

	c := &pipelines{tm: tm, urls: fl.urls}
	ws.clients = &pipelines{tm: ws.tm, urls: fl.urls}
	ctx, over := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() { c.run(ctx, fmt.Sprintf("stream-%d", i), rand.New(rand.NewPCG(seed, uint64(i)+1))) })
	}
	all.Go(func() { shop.run(ctx, rand.New(rand.NewPCG(seed, streams+1))) })
	all.Go(func() { ws.run(ctx, seed, max(4*time.Second, duration/reviewsPerWorld*2)) })
	began := time.Now()
	injected := fl.inject(duration)
	lasted := time.Since(began)
	over()
	all.Wait()
	shop.awaitWatched() // a run of the last rollout may be created after all others have ended
	h := tm.history(c, f, shop.rollouts)
	ws.record(&h)
	violations := history.Check(h)
	fmt.Printf("CHAOS seed=%d seconds=%.0f faults=%d notifications=%d attempts=%d inquiries=%d runs=%d rollouts=%d "+
		"deployments=%d tested=%d restored=%d green=%d reviews=%d approvals=%d violations=%d%s%s\n",
		seed, lasted.Seconds(), total(injected), len(notifications(h)), len(h.Attempts), len(h.Inquiries), len(h.Runs), len(h.Rollouts),
		len(h.Deployments), len(h.Tested), ws.restored, len(h.Gates), len(h.Reviews), approvals(h.Reviews), len(violations),
		counted(states(h)), counted(injected))
	for _, a := range h.Attempts {
		if a.Failure != "" {
			t.Logf("%s has no run: %s", a.Identity, a.Failure)
		}
	}
	if len(violations) > 0 {
		t.Errorf("seed %d broke promises; the history is in %s", seed, save(t, h, seed))
	}
	for _, v := range violations {
		t.Error(v)
	}
	if len(h.Runs) < 2*streams {
		t.Errorf("there were %d runs, so this tested little", len(h.Runs))
	}
}

// chaosSeed chooses the faults, the pauses and what clients send. Timing differs between two tests of one seed.
func chaosSeed(t *testing.T) uint64 {
	t.Helper()
	set := os.Getenv("POSTFLIGHT_CHAOS_SEED")
	if set == "" {
		return tier.Random(t).Uint64() >> 32
	}
	seed, err := strconv.ParseUint(set, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// chaosDuration is 0 in the short form.
func chaosDuration(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("POSTFLIGHT_CHAOS_DURATION"), "0s"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// chaosHold is how long replicas hold a notification. The short form has the default, with which an API server that starts
// again is no failure. In the long one, in which faults may last longer than that, clients have to send again.
func chaosHold(duration time.Duration) time.Duration {
	if duration == 0 {
		return 45 * time.Second
	}
	return 5 * time.Second
}

// chaosTests end as the name of their run decides, which is a hash. Some exit with 0 although a test failed.
func chaosTests(j *batchv1.Job) (history.Tests, time.Duration) {
	last := j.Name[len(j.Name)-1]
	takes := testTime / time.Duration(1+last%4)
	if j.Labels[v1alpha1.LabelEnvironment] == rolledEnvironment {
		takes *= 4 // so that something is rolled out meanwhile
	}
	switch last % 10 {
	case 0:
		return history.Failed, takes
	case 5:
		return history.Reported, takes
	}
	return history.Passed, takes
}

// inject injects each fault once, or random ones for a while. It returns how often each was.
func (fl *fleet) inject(duration time.Duration) map[string]int {
	injected := map[string]int{}
	do := func(f fault, lasts time.Duration) {
		fl.t.Logf("%s: %s for %s", time.Now().Format(time.TimeOnly), f.name, lasts)
		injected[f.name]++
		f.inject(fl, lasts)
	}
	if duration == 0 {
		for _, f := range faults {
			do(f, briefly)
		}
		return injected
	}
	among := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !strings.Contains(f.name, os.Getenv("POSTFLIGHT_CHAOS_FAULT")) })
	for end := time.Now().Add(duration); time.Now().Before(end); {
		do(among[fl.random.IntN(len(among))], briefly+time.Duration(fl.random.Int64N(int64(15*time.Second))))
		time.Sleep(time.Duration(fl.random.Int64N(int64(5 * time.Second))))
	}
	return injected
}

// awaitEnds returns the Suites once all have ended, or as they are then: the check says which have not.
func (tm *team) awaitEnds(f *fakecluster.Cluster) (suites []v1alpha1.Suite) {
	tm.t.Helper()
	_ = poll.Wait(endWithin, "all runs have ended", func() string {
		if suites = tm.suites(); !allFinished(suites) {
			return "some have not"
		}
		for _, s := range suites { // its watch may have to begin again
			if f.Run(s.Namespace, s.Name).Ended.IsZero() {
				return "the end of " + s.Name + " was not seen"
			}
		}
		return ""
	})
	return suites
}

// history waits until all runs have ended, and puts together what was recorded.
func (tm *team) history(c *pipelines, f *fakecluster.Cluster, rollouts []history.Rollout) history.History {
	tm.t.Helper()
	h := history.History{Attempts: c.attempts, Inquiries: c.inquiries, Rollouts: rollouts}
	for _, s := range tm.awaitEnds(f) {
		run := runOf(&s, f)
		if run.Repeats != "" {
			run.Identity = "repeat/" + run.Repeats // it has no notification of its own
		} else if run.Rolled {
			run.Identity += "/" + run.Commit // two may be rolled out in one second
		}
		h.Runs = append(h.Runs, run)
	}
	return h
}

func runOf(s *v1alpha1.Suite, f *fakecluster.Cluster) history.Run {
	run := history.Run{
		ID: s.Name, Identity: s.Annotations["postflight.dev/idempotency-key"], Commit: s.Spec.Deployment.SHA, Stream: s.Spec.Deployment.Branch,
		State: s.State(), SupersededBy: s.Status.SupersededBy, DecidedBy: string(s.Status.DecidedBy),
		Rolled: s.Spec.Environment == rolledEnvironment, Repeats: s.Annotations[v1alpha1.AnnotationRepeats], Created: s.CreationTimestamp.Time,
		Origin: string(s.Origin()),
	}
	if s.Status.Results != nil {
		run.PassedTests = s.Status.Results.Passed
	}
	if at := s.Status.CompletionTime; at != nil {
		run.CompletedAt = at.Time
	}
	if end := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded); end != nil {
		run.Message = end.Message
	}
	played := f.Run(s.Namespace, s.Name)
	run.Ends, run.Jobs, run.Tests, run.Began, run.Stopped, run.Ended = played.Ends, played.Jobs, played.Tests, played.Began, played.Stopped, played.Ended
	return run
}

func allFinished(suites []v1alpha1.Suite) bool {
	return !slices.ContainsFunc(suites, func(s v1alpha1.Suite) bool { return !s.Finished() })
}

func notifications(h history.History) map[string]int {
	all := map[string]int{}
	for _, a := range h.Attempts {
		all[a.Identity]++
	}
	return all
}

func states(h history.History) map[string]int {
	all := map[string]int{}
	for _, r := range h.Runs {
		all[r.State]++
	}
	return all
}

func total(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// counted is a part of a figure.
func counted(counts map[string]int) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf(" %s=%d", strings.ReplaceAll(strings.ToLower(name), "-", "_"), counts[name])
	}
	return text
}

// save writes the history to a file that stays.
func save(t *testing.T, h history.History, seed uint64) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("postflight-chaos-%d.json", seed))
	content, err := json.MarshalIndent(h, "", "  ")
	if err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
	return path
}
