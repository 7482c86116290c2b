package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// replica is a manager with the name by which it holds the lease.
type replica struct {
	*manager
	name string
}

// replicas are several managers of which one leads.
type replicas struct {
	*team
	all []replica
}

// runReplicas starts managers, straight to the API server where kubeconfig is empty.
func runReplicas(tm *team, count int, kubeconfig string) *replicas {
	tm.t.Helper()
	r := &replicas{team: tm}
	r.freeLease()
	for i := range count {
		name := fmt.Sprintf("replica-%d", i)
		m := newManager(tm.t, tm.cluster, options{kubeconfig: kubeconfig, leaderElect: true, flags: []string{"--replica-name=" + name}})
		m.start()
		r.all = append(r.all, replica{m, name})
	}
	for _, one := range r.all {
		one.awaitReady()
	}
	story(tm.t, "%d replicas serve, %s leads", count, r.leader().name)
	return r
}

func (r *replicas) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "postflight-system", Name: "postflight"}}
}

// freeLease deletes the lease that the replicas of an earlier test did not release.
func (r *replicas) freeLease() {
	r.t.Helper()
	if err := client.IgnoreNotFound(r.Delete(r.t.Context(), r.lease())); err != nil {
		r.t.Fatal(err)
	}
}

// leader waits for the replica that holds the lease.
func (r *replicas) leader() replica {
	r.t.Helper()
	var leader replica
	poll.True(r.t, "a replica holds the lease", func() bool {
		lease := r.lease()
		err := r.Get(r.t.Context(), client.ObjectKeyFromObject(lease), lease)
		if err != nil || lease.Spec.HolderIdentity == nil {
			return false
		}
		i := slices.IndexFunc(r.all, func(one replica) bool { return one.name == *lease.Spec.HolderIdentity })
		if i >= 0 {
			leader = r.all[i]
		}
		return i >= 0
	})
	return leader
}

// TestHandover stops the leader with SIGTERM: it releases its lease before it ends, and the other replica continues the run; each
// night, long before the lease would have expired.
func TestHandover(t *testing.T) {
	tier.All(t, "it needs two managers of its own, and TestKillAtEachStep hands over, too")
	tm := newTeam(t, useCluster(t))
	tm.trigger("shop", runs("sleep 3"))
	r := runReplicas(tm, 2, "")
	before := r.leader()
	id := tm.run(before.manager, notification{"branch": "main", "sha": sha()})
	tm.awaitPod(id)
	before.stop()
	stopped := time.Now()
	after := r.leader()
	story(t, "%s ended, and %s leads after %s", before.name, after.name, time.Since(stopped).Round(100*time.Millisecond))
	if after.name == before.name {
		t.Errorf("%s still holds the lease after its end", before.name)
	}
	tm.awaitState(id, v1alpha1.ReasonPassed)
	if took := time.Since(stopped); took > 45*time.Second && !tier.Change() {
		t.Errorf("the run ended only %s after the handover", took)
	}
	tm.awaitState(tm.run(after.manager, notification{"branch": "main", "sha": sha()}), v1alpha1.ReasonPassed)
}
