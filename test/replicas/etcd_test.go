package replicas

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestWatchesExpire: while a manager is cut off, much changes, etcd is compacted, and the API server
// starts anew. It refuses the watches that the manager had (410), which then has to list, and to notice
// all that it missed.
func TestWatchesExpire(t *testing.T) {
	tier.All(t, "it compacts etcd, and starts the API server again")
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	tm.create(tm.apiKey("second", "pf_second"+tm.namespace))
	r := startLeader(t, s, p)
	tm.awaitKnown([]*replica{r})
	ends, deleted := tm.started(r, "ends"), tm.started(r, "deleted")
	remade := tm.byHand("remade")
	tm.awaitState(remade, v1alpha1.ReasonStarting)
	tm.complete(remade)
	tm.awaitState(remade, v1alpha1.ReasonPassed)
	tm.removeJob(remade) // its deletion would cause a reconcile of the Suite

	p.down()
	held := make(chan answer, 1)
	go func() { a, _ := notify(t.Context(), r.URL, tm.key, alone("held")); held <- a }()
	tm.complete(ends)
	tm.removeJob(deleted)
	tm.remove(&v1alpha1.Suite{ObjectMeta: tm.meta(deleted)})
	tm.remove(&v1alpha1.Suite{ObjectMeta: tm.meta(remade)})
	tm.byHand("remade")
	tm.remove(&v1alpha1.APIKey{ObjectMeta: tm.meta("second")})
	tm.create(tm.trigger("late"))
	unseen := tm.byHand("unseen")
	s.Outage(t, func() { s.Compact(t) })
	p.up()

	back := time.Now()
	if a := <-held; a.Status != 200 || a.Results[0].Created == "" {
		t.Errorf("the notification that was held: %+v, want a run", a)
	}
	tm.awaitState(ends, v1alpha1.ReasonPassed)
	tm.awaitState(unseen, v1alpha1.ReasonStarting)
	tm.awaitState(remade, v1alpha1.ReasonStarting)
	poll.True(t, "the Trigger that came meanwhile", func() bool {
		a, err := notify(t.Context(), r.URL, tm.key, alone("deleted"))
		return err == nil && len(a.Results) == 2
	})
	poll.True(t, "the key that was deleted meanwhile is refused", func() bool {
		a, err := notify(t.Context(), r.URL, "pf_second"+tm.namespace, `{}`)
		return err == nil && a.Status == http.StatusUnauthorized
	})
	tm.started(r, "deleted")
	t.Logf("WATCHES_EXPIRED watches=%d all_known_after_seconds=%.1f", p.expired.Load(), time.Since(back).Seconds())
	if p.expired.Load() == 0 {
		t.Error("no watch was too old, so this tested nothing")
	}
}

// fullHold is the hold budget while etcd is full: long enough for a busy machine to make room meanwhile.
const fullHold = 15 * time.Second

// TestEtcdFull: etcd accepts no writes. Reads still work; notifications are held and then rejected, and no answer names
// a run that does not exist. When etcd has room again, the manager continues.
func TestEtcdFull(t *testing.T) {
	tier.All(t, "it fills an etcd of its own, and waits until a notification is given up")
	t.Parallel()
	s := smallEtcd(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	r := startLeader(t, s, p, "--hold-budget="+fullHold.String())
	tm.awaitKnown([]*replica{r})
	ends, spare := tm.started(r, "ends"), tm.started(r, "spare")
	p.down() // so that the manager learns of these only when it can do nothing about them
	tm.complete(ends)
	unseen := tm.byHand("unseen")
	fill(t, s)
	p.up()

	tm.expectUnavailable(r, "full")
	tm.remove(&v1alpha1.Suite{ObjectMeta: tm.meta(spare)}) // which has no finalizer, so that this makes room
	if !r.Ready() {
		t.Error("it is not ready, though other replicas would do no better")
	}
	if status := tm.askGreenlight(r, ends); status != http.StatusOK {
		t.Errorf("a question about a run got %d, want 200", status)
	}
	held := make(chan answer, 1)
	go func() { a, _ := notify(t.Context(), r.URL, tm.key, alone("held")); held <- a }()
	time.Sleep(time.Second)
	makeRoom(t, s)
	room := time.Now()
	if a := <-held; a.Status != 200 || a.Results[0].Created == "" || a.Took < time.Second {
		t.Errorf("the notification that was held: %+v, want a run", a)
	}
	answered := time.Since(room)
	tm.awaitState(ends, v1alpha1.ReasonPassed)
	tm.awaitState(unseen, v1alpha1.ReasonStarting)
	tm.started(r, "full")
	t.Logf("ETCD_FULL answered_after_seconds=%.1f all_runs_after_seconds=%.1f", answered.Seconds(), time.Since(room).Seconds())
}

// TestEtcdFullForLong: etcd is full for so long that the leader cannot renew its lease. The process answers requests, and
// leads again once etcd accepts writes.
func TestEtcdFullForLong(t *testing.T) {
	tier.All(t, "it fills an etcd of its own, and waits until the lead is lost")
	t.Parallel()
	s := smallEtcd(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	r := startLeader(t, s, p, "--leader-elect-lease-duration="+testLease.String())
	tm.awaitKnown([]*replica{r})
	run := tm.started(r, "run")
	fill(t, s)
	r.AwaitLog("has lost the lead")
	if status := tm.askGreenlight(r, run); status != http.StatusOK {
		t.Errorf("a question about a run got %d, want 200", status)
	}
	makeRoom(t, s)
	tm.complete(run)
	tm.awaitState(run, v1alpha1.ReasonPassed)
	tm.started(r, "next")
}

// smallEtcd is an API server with a small etcd, which is soon full.
func smallEtcd(t *testing.T) *apiserver.Server {
	t.Helper()
	return apiserver.Own(t, apiserver.Options{Etcd: map[string]string{"quota-backend-bytes": strconv.Itoa(16 << 20)}})
}

// startLeader starts a replica behind the proxy, which reconciles.
func startLeader(t *testing.T, s *apiserver.Server, p *proxy, flags ...string) *replica {
	t.Helper()
	systemNamespace(t, s)
	freeLead(t, s)
	r := startReplica(t, p.kubeconfig(), flags...)
	r.AwaitReady()
	r.AwaitLog("Successfully acquired lease")
	return r
}

// alone is a notification of a deployment in a stream and to a place of its own.
func alone(sha string) string {
	return fmt.Sprintf(`{"branch":%[1]q,"sha":%[1]q,"deployment_url":"https://%[1]s.example.com"}`, sha)
}

// started is a run of the sha that was created just now, and has its Job.
func (tm *team) started(r *replica, sha string) string {
	tm.t.Helper()
	a, err := notify(tm.t.Context(), r.URL, tm.key, alone(sha))
	if err != nil || len(a.Results) == 0 {
		tm.t.Fatalf("%+v, %v, want results", a, err)
	}
	id := cmp.Or(a.Results[len(a.Results)-1].Created, a.Results[len(a.Results)-1].Duplicate)
	tm.awaitState(id, v1alpha1.ReasonStarting)
	return id
}

// byHand creates a Suite as people do, in a stream of its own.
func (tm *team) byHand(sha string) string {
	tm.t.Helper()
	trigger := tm.trigger("smoke")
	tm.get(trigger)
	return tm.inStream(trigger, sha, sha)
}

func (tm *team) inStream(trigger *v1alpha1.Trigger, sha, stream string) string {
	tm.t.Helper()
	s := rawSuite(trigger, sha)
	s.Spec.SupersedeKey = stream
	tm.create(s)
	return s.Name
}

// complete acts as the kubelet and the Job controller when the pod has succeeded, which it creates if it does not exist.
func (tm *team) complete(name string) {
	tm.t.Helper()
	j, p := &batchv1.Job{ObjectMeta: tm.meta(name)}, &corev1.Pod{}
	tm.get(j)
	err := tm.s.Client.Get(tm.t.Context(), k8sclient.ObjectKey{Namespace: tm.namespace, Name: fakecluster.PodName(name)}, p)
	if apierrors.IsNotFound(err) {
		p = fakecluster.NewPod(j, "node")
		tm.create(p)
	} else if err != nil {
		tm.t.Fatal(err)
	}
	if p.Status.Phase != corev1.PodSucceeded {
		tm.updateStatus(p, func() { fakecluster.EndPod(p, 0) })
	}
	tm.updateStatus(j, func() { fakecluster.CompleteJob(j) })
}

// touch acts as the Job controller when it first sees a Job.
func (tm *team) touch(name string) {
	tm.t.Helper()
	j := &batchv1.Job{}
	err := tm.s.Client.Get(tm.t.Context(), k8sclient.ObjectKey{Namespace: tm.namespace, Name: name}, j)
	if err == nil && j.Status.StartTime == nil {
		tm.updateStatus(j, func() { fakecluster.SeeJob(j) })
	}
}

// removeJob deletes a Job at once: with background deletion there is no finalizer for a garbage collector, which
// does not run.
func (tm *team) removeJob(name string) {
	tm.t.Helper()
	j := &batchv1.Job{ObjectMeta: tm.meta(name)}
	if err := tm.s.Client.Delete(context.Background(), j, k8sclient.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		tm.t.Fatal(err)
	}
}

func (tm *team) awaitState(name, state string) {
	tm.t.Helper()
	s := &v1alpha1.Suite{ObjectMeta: tm.meta(name)}
	poll.Until(tm.t, name+" is "+state, func() string {
		if state == v1alpha1.ReasonStarting {
			tm.touch(name)
		}
		if tm.get(s); s.State() != state {
			return fmt.Sprintf("%+v", s.Status)
		}
		return ""
	})
}

func (tm *team) expectUnavailable(r *replica, sha string) {
	tm.t.Helper()
	a, err := notify(tm.t.Context(), r.URL, tm.key, alone(sha))
	if err != nil || a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"unavailable"`) || a.Took < fullHold/2 {
		tm.t.Errorf("%+v, %v, want 503 after it was held", a, err)
	}
	for _, s := range tm.suites() {
		if s.Spec.Deployment.SHA == sha {
			tm.t.Errorf("there is a run, %s", s.Name)
		}
	}
}

func (tm *team) askGreenlight(r *replica, id string) int {
	tm.t.Helper()
	req, err := http.NewRequestWithContext(tm.t.Context(), http.MethodGet, r.URL+"/api/v0/ci-greenlight/"+id, nil)
	if err != nil {
		tm.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tm.key)
	resp, err := client.Do(req)
	if err != nil {
		tm.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// filler is the namespace of the objects that fill etcd.
const filler = "default"

func fill(t *testing.T, s *apiserver.Server) {
	t.Helper()
	for i := range 100 {
		content := make([]byte, 600<<10)
		_, _ = rand.Read(content) // never fails
		c := &corev1.ConfigMap{BinaryData: map[string][]byte{"x": content}}
		c.Namespace, c.Name = filler, fmt.Sprintf("fill-%d", i)
		err := s.Client.Create(t.Context(), c)
		if err != nil && strings.Contains(err.Error(), "database space exceeded") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("etcd is not full")
}

func makeRoom(t *testing.T, s *apiserver.Server) {
	t.Helper()
	if out, err := s.Kubectl(t, "delete", "configmaps", "--namespace="+filler, "--all"); err != nil {
		t.Fatal(out, err)
	}
	s.Compact(t)
	s.Disarm(t)
}
