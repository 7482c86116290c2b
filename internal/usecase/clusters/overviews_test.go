package clusters_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/usecase/clusters"
)

// source answers with the number of the question to the cluster. Clusters can be slow, or fail.
type source struct {
	mu     sync.Mutex
	slow   map[string]time.Duration
	errs   map[string]error
	asked  []string // cluster/team [Environments]
	atOnce map[string]int
	most   map[string]int // at once, by cluster; "": of all
	byName map[string]int // questions to a cluster
}

func newSource() *source {
	return &source{slow: map[string]time.Duration{}, errs: map[string]error{}, atOnce: map[string]int{}, most: map[string]int{},
		byName: map[string]int{}}
}

func (s *source) count(cluster string, n int) {
	for _, name := range []string{cluster, ""} {
		s.atOnce[name] += n
		s.most[name] = max(s.most[name], s.atOnce[name])
	}
}

func (s *source) Overview(ctx context.Context, cluster string, c delegation.Command) (httpapi.Overview, error) {
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprint(cluster, "/", c.Team.Name, " ", c.Delegation.Environments))
	s.byName[cluster]++
	answer, slow, err := httpapi.Overview{Team: c.Team.Name, Queued: s.byName[cluster]}, s.slow[cluster], s.errs[cluster]
	s.count(cluster, 1)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(cluster, -1)
	}()
	select {
	case <-time.After(slow):
		return answer, err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

func (s *source) set(cluster string, slow time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow[cluster], s.errs[cluster] = slow, err
}

func (s *source) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func overviews(s *source, change ...func(*clusters.Limits)) *clusters.Overviews {
	limits := clusters.DefaultLimits()
	for _, c := range change {
		c(&limits)
	}
	return clusters.New(clusters.Config{Source: s, Limits: limits, Clock: clock.RealClock{},
		Cluster: func(_ context.Context, name string) (*v1alpha1.Cluster, error) {
			return &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{URL: "https://" + name + ".example.com"}}, nil
		}})
}

func team(name string) *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// in returns an Environment in each cluster.
func in(names ...string) (all []*v1alpha1.Environment) {
	for _, name := range names {
		all = append(all, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "at-" + name}, Spec: v1alpha1.EnvironmentSpec{Cluster: name}})
	}
	return all
}

// one is the answer of the only cluster, as a text.
func one(t *testing.T, o *clusters.Overviews, team *v1alpha1.Team, environments []*v1alpha1.Environment) string {
	t.Helper()
	answers, _ := o.Of(t.Context(), team, environments)
	if len(answers) != 1 {
		t.Fatalf("%d answers", len(answers))
	}
	return text(answers[0])
}

func text(a hub.Answer) string {
	if a.Overview == nil {
		return fmt.Sprintf("nothing, it %s", a.Problem)
	}
	return fmt.Sprintf("%d of %s ago in %s, %q", a.Overview.Queued, time.Since(a.AnsweredAt), a.Took, a.Problem)
}

// inVirtualTime runs a test whose clock moves only while all wait, until nothing is remembered.
func inVirtualTime(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		test(t)
		time.Sleep(time.Hour)
	})
}

// TestAnswersAreShared: within some seconds, all who look get one answer, and later they get another.
func TestAnswersAreShared(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		s.set("staging", 20*time.Millisecond, nil)
		o := overviews(s)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got := one(t, o, team("shop"), in("staging")); got != `1 of 0s ago in 20ms, ""` {
					t.Error(got)
				}
			})
		}
		all.Wait()
		time.Sleep(4 * time.Second)
		if got := one(t, o, team("shop"), in("staging")); got != `1 of 4s ago in 20ms, ""` {
			t.Error(got)
		}
		time.Sleep(time.Second)
		if got := one(t, o, team("shop"), in("staging")); got != `2 of 0s ago in 20ms, ""` {
			t.Error(got)
		}
		if got := strings.Join(s.asked, ", "); got != "staging/shop [at-staging], staging/shop [at-staging]" || s.most[""] != 1 {
			t.Errorf("%s; %d at once", got, s.most[""])
		}
	})
}

// TestSlowCluster: a page waits a moment, and then has the answer of before. The next page gets what came meanwhile.
func TestSlowCluster(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		s.set("slow", 3*time.Second, nil)
		o := overviews(s)
		for i, want := range []string{"nothing, it has not answered yet", `1 of 7s ago in 3s, ""`, `2 of 7s ago in 3s, ""`} {
			began := time.Now()
			answers, _ := o.Of(t.Context(), team("shop"), in("fast", "slow"))
			if waited := time.Since(began); waited != 700*time.Millisecond {
				t.Errorf("it waited %s", waited)
			}
			if got := strings.Replace(text(answers[1]), ".7s ago", "s ago", 1); got != want {
				t.Errorf("page %d: %s, want %s", i, got, want)
			}
			if answers[0].Overview == nil || answers[0].Problem != "" || answers[0].URL != "https://fast.example.com" {
				t.Errorf("the other cluster: %+v", answers[0])
			}
			time.Sleep(9300 * time.Millisecond)
		}
	})
}

// TestDeadCluster: pages have the last answer with its age and the reason, and wait for a cluster that is known to be dead no more.
func TestDeadCluster(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		o := overviews(s)
		one(t, o, team("shop"), in("prod"))
		s.set("prod", time.Hour, nil)
		time.Sleep(4 * time.Minute)
		one(t, o, team("shop"), in("prod"))
		time.Sleep(time.Minute)
		began := time.Now()
		for name, want := range map[string]string{
			"shop": `1 of 5m0.7s ago in 0s, "did not answer within 10s"`, "pay": "nothing, it did not answer within 10s",
		} {
			if got := one(t, o, team(name), in("prod")); got != want || !time.Now().Equal(began) {
				t.Errorf("%s after %s, want %s at once", got, time.Since(began), want)
			}
		}
		time.Sleep(30 * time.Second)
		inside := errors.New("dial tcp 10.0.0.7:8443: connection refused")
		for want, err := range map[string]error{
			"does not answer":                      &delegation.Error{Message: "does not answer", Cause: inside},
			"failed: it breaks; <b>its</b> answer": &delegation.Error{Message: "failed: it breaks\n<b>its</b> answer.", Cause: inside},
			"cannot be asked at the moment":        inside,
		} {
			s.set("prod", 0, err)
			one(t, o, team("shop"), in("prod"))
			time.Sleep(15 * time.Second)
			if got := one(t, o, team("shop"), in("prod")); !strings.HasSuffix(got, fmt.Sprintf("%q", want)) {
				t.Errorf("%s, want %q", got, want)
			}
			time.Sleep(15 * time.Second)
		}
		time.Sleep(15 * time.Second)
		s.set("prod", 0, nil)
		one(t, o, team("shop"), in("prod"))
		time.Sleep(time.Second)
		if got := one(t, o, team("shop"), in("prod")); !strings.HasSuffix(got, `ago in 0s, ""`) {
			t.Error(got)
		}
	})
}

// TestDeadClustersTakeNothing: however many clusters hang, with however many teams, another one answers all its teams at once.
func TestDeadClustersTakeNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		names := []string{"alive"}
		for i := range 49 {
			names = append(names, fmt.Sprint("dead-", i))
			s.set(fmt.Sprint("dead-", i), time.Hour, nil)
		}
		s.set("alive", 20*time.Millisecond, nil)
		o := overviews(s)
		for range 5 { // until all are known to be dead
			o.Of(t.Context(), team("first"), in(names...))
			time.Sleep(10 * time.Second)
		}
		s.most = map[string]int{}
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				began := time.Now()
				answers, _ := o.Of(t.Context(), team(fmt.Sprint("team-", i)), in(names...))
				if answers[0].Overview == nil || time.Since(began) > 60*time.Millisecond {
					t.Errorf("%s after %s", text(answers[0]), time.Since(began))
				}
				if a := answers[1]; a.Problem != "did not answer within 10s" {
					t.Errorf("%s: %q", a.Cluster, a.Problem)
				}
			})
		}
		all.Wait()
		if s.most["alive"] != 4 || s.most["dead-7"] != 1 || s.most[""] > 64 {
			t.Errorf("at once: %d of the one that answers, %d of a dead one, %d in all", s.most["alive"], s.most["dead-7"], s.most[""])
		}
	})
}

// TestAtOnce: before it is known which clusters hang, questions are bounded, and all get their turn.
func TestAtOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		var names []string
		for i := range 50 {
			names = append(names, fmt.Sprint("c", i))
			s.set(names[i], time.Second, nil)
		}
		o := overviews(s)
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() { o.Of(t.Context(), team(fmt.Sprint("team-", i)), in(names...)) })
		}
		all.Wait()
		time.Sleep(8 * time.Second)
		if s.most[""] != 64 || s.most["c7"] > 4 || s.questions() != 250 {
			t.Errorf("%d at once, %d of a cluster, %d questions", s.most[""], s.most["c7"], s.questions())
		}
	})
}

// TestRefused: what a team saw in a cluster is gone once the cluster, or its operator, refuses it. Others are asked as before.
func TestRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		o := overviews(s)
		one(t, o, team("shop"), in("prod"))
		s.set("prod", 0, &delegation.Error{Refused: true, Message: "is not for the Team shop"})
		time.Sleep(time.Minute)
		if got := one(t, o, team("shop"), in("prod")); got != "nothing, it is not for the Team shop" {
			t.Error(got)
		}
		s.set("prod", 0, nil)
		if got := one(t, o, team("pay"), in("prod")); !strings.HasSuffix(got, `ago in 0s, ""`) {
			t.Error(got)
		}
		again := team("pay")
		again.UID = types.UID("another")
		s.set("prod", 0, errors.New("no"))
		if got := one(t, o, again, in("prod")); !strings.HasPrefix(got, "nothing") {
			t.Errorf("a Team that was created again sees %s", got)
		}
	})
}

// TestForgotten: nothing is asked that no page shows, and it is forgotten, also if no page is shown any more.
func TestForgotten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		o := overviews(s)
		for i := range 200 {
			o.Of(t.Context(), team(fmt.Sprint("team-", i)), in("a", "b"))
		}
		if pairs, _ := o.Size(); pairs != 200 { // KeptOfOne
			t.Errorf("%d answers are kept", pairs)
		}
		time.Sleep(11 * time.Minute)
		if pairs, known := o.Size(); pairs != 0 || known != 0 || s.questions() != 400 {
			t.Errorf("%d answers of %d clusters are kept after %d questions", pairs, known, s.questions())
		}
	})
}

// TestKept: the answers that are kept are bounded, and those that a page has just shown stay.
func TestKept(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		s := newSource()
		o := overviews(s, func(l *clusters.Limits) { l.Kept, l.Clusters = 30, 20 })
		names := make([]string, 25)
		for i := range names {
			names[i] = fmt.Sprintf("c%02d", i)
		}
		for _, who := range []string{"shop", "pay", "search"} {
			answers, omitted := o.Of(t.Context(), team(who), in(names...))
			if len(answers) != 20 || omitted != 5 || slices.ContainsFunc(answers, func(a hub.Answer) bool { return a.Overview == nil }) {
				t.Errorf("%d answers, %d omitted", len(answers), omitted)
			}
			time.Sleep(time.Second)
		}
		if pairs, _ := o.Size(); pairs != 30 {
			t.Errorf("%d answers are kept", pairs)
		}
		before := s.questions()
		if o.Of(t.Context(), team("search"), in(names...)); s.questions() != before {
			t.Error("what was just shown is asked again")
		}
	})
}

// TestNoCluster: a team without other clusters costs nothing.
func TestNoCluster(t *testing.T) {
	s := newSource()
	if answers, _ := overviews(s).Of(t.Context(), team("shop"), in("")); len(answers) > 0 || s.questions() > 0 {
		t.Errorf("%v after %d questions", answers, s.questions())
	}
}
