package e2e

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestExactlyOnce sends identical notifications to three replicas at the same time: one of them creates
// the Suite, and the answers to all others name it as a duplicate. Then it repeats this while one in ten connections
// to the API server is cut after a Suite was written and before the answer.
func TestExactlyOnce(t *testing.T) {
	tier.All(t, "it is a flood of notifications")
	skipWithoutPods(t)
	t.Run("calm", func(t *testing.T) { exactlyOnce(t, false) })
	t.Run("cut", func(t *testing.T) { exactlyOnce(t, true) })
}

// parallel identical notifications make up a round.
const parallel = 30

func exactlyOnce(t *testing.T, cut bool) {
	rounds := 20
	if full() {
		rounds = 200
	}
	c := useCluster(t)
	tm := newTeam(t, c)
	// One run at a time, which does not end: what is counted here are Suites, and pods cost time.
	tm.trigger("shop", runs("sleep 600"), func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites = 1 })
	proxy := newFaultProxy(t, c)
	var cuts atomic.Int32
	if cut {
		proxy.cuts = func(r *http.Request) bool {
			wants := isSuiteCreate(r, "") && rand.IntN(10) == 0
			if wants {
				cuts.Add(1)
			}
			return wants
		}
	}
	replicas := runReplicas(tm, 3, proxy.kubeconfig)
	n := &tally{}
	for range rounds {
		n.round(replicas)
	}
	suites := len(tm.suites())
	name := strings.TrimPrefix(t.Name(), "TestExactlyOnce/")
	figure(t, "ONCE connections=%s rounds=%d notifications=%d suites=%d created=%d duplicate=%d errors=%d cut=%d",
		name, rounds, rounds*parallel, suites, n.created.Load(), n.duplicate.Load(), n.failed.Load(), cuts.Load())
	if suites != rounds || int(n.created.Load()) != rounds || int(n.duplicate.Load()) != rounds*(parallel-1) || n.failed.Load() != 0 {
		t.Errorf("want %d Suites, %d created, %d duplicates and no error", rounds, rounds, rounds*(parallel-1))
	}
	if cut && cuts.Load() == 0 {
		t.Error("no connection was cut")
	}
}

// tally counts answers.
type tally struct{ created, duplicate, failed atomic.Int32 }

// round sends one commit as often as there is parallel, to the replicas in turn.
func (n *tally) round(r *replicas) {
	same := notification{"branch": "main/" + random(4), "sha": sha()}
	var group sync.WaitGroup
	for i := range parallel {
		group.Go(func() {
			a, err := r.tryNotify(r.all[i%len(r.all)].manager, same)
			switch {
			case err != nil || len(a.Results) != 1:
				n.failed.Add(1)
				r.t.Logf("answer %s: %v", a.body, err)
			case a.Results[0].Created != "":
				n.created.Add(1)
			case a.Results[0].Duplicate != "":
				n.duplicate.Add(1)
			default:
				n.failed.Add(1)
				r.t.Logf("answer %s", a.body)
			}
		})
	}
	group.Wait()
}
