package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	dayTwo     = "day-two" // the release
	dayTwoRate = 33        // notifications a second
)

// TestDayTwo: 33 notifications a second go to the Service while helm upgrades the release, and while the pod of the leader
// is evicted, as a drain of its node does. Each is answered with 200, and has a run of its own.
func TestDayTwo(t *testing.T) {
	skipUnlessFull(t, "it takes two minutes; TestUpgradeAndDowngrade in test/replicas has a shorter form")
	c := useCluster(t)
	tm := newTeam(t, c)
	owner := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.name}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"maxConcurrentSuites":1,"maxSuites":0,"maxUnfinishedSuites":0}}`))
	if err := c.Patch(t.Context(), owner, patch); err != nil {
		t.Fatal(err)
	}
	tm.trigger("smoke", runs("sleep 600"))
	values := "crds.enabled=false,policy.enabled=false,rbac.clusterRoles=false,image.tag=dev,fullnameOverride=" + dayTwo
	tm.helm("install", dayTwo, "charts/postflight", "--create-namespace", "--set", values, "--wait")
	t.Cleanup(func() {
		tm.helm("uninstall", dayTwo, "--wait")
		_ = c.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tm.systemName()}})
	})
	service := &corev1.Service{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: tm.systemName(), Name: dayTwo}, service); err != nil {
		t.Fatal(err)
	}
	m := &manager{url: "http://" + service.Spec.ClusterIP}
	poll.Until(t, "the release knows the team", func() string {
		if a, err := tm.tryNotify(m, notification{"sha": sha()}); err != nil || len(a.Results) != 1 {
			return fmt.Sprintf("%s, %v", a.body, err)
		}
		return ""
	})
	tm.during("upgrade", m, func() {
		tm.helm("upgrade", dayTwo, "charts/postflight", "--reuse-values", "--set-string", "podAnnotations.again=true", "--wait")
	})
	tm.during("eviction", m, tm.evictLeader)
}

// during sends notifications until something is over, and some seconds more.
func (tm *team) during(what string, m *manager, do func()) {
	tm.t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		do()
		time.Sleep(10 * time.Second) // the pods that stop answer for five
	}()
	var all sync.WaitGroup
	var lock sync.Mutex
	ticker := time.NewTicker(time.Second / dayTwoRate)
	defer ticker.Stop()
	sent, created, longest, first := 0, map[string]bool{}, time.Duration(0), ""
	for going := true; going; {
		select {
		case <-over:
			going = false
		case <-ticker.C:
			sent++
			all.Go(func() {
				began := time.Now()
				a, err := tm.tryNotify(m, notification{"branch": "main", "sha": sha()})
				lock.Lock()
				defer lock.Unlock()
				longest = max(longest, time.Since(began))
				if err != nil || len(a.Results) != 1 || a.Results[0].Created == "" {
					first = fmt.Sprintf("%v %+v", err, a.Results)
					return
				}
				created[a.Results[0].Created] = true
			})
		}
	}
	all.Wait()
	figure(tm.t, "DAY_TWO what=%s per_second=%d sent=%d created=%d longest=%s", what, dayTwoRate, sent, len(created), longest.Round(time.Millisecond))
	if len(created) != sent {
		tm.t.Errorf("%s: %d of %d notifications got a run; e.g. %s", what, len(created), sent, first)
	}
}

// systemName is the namespace of the release.
func (tm *team) systemName() string { return tm.name + "-system" }

// evictLeader does what kubectl drain does to one pod.
func (tm *team) evictLeader() {
	lease := &coordinationv1.Lease{}
	if err := tm.Get(tm.t.Context(), client.ObjectKey{Namespace: tm.systemName(), Name: "postflight"}, lease); err != nil || lease.Spec.HolderIdentity == nil {
		tm.t.Errorf("nobody leads: %v", err)
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: tm.systemName(), Name: *lease.Spec.HolderIdentity}}
	if err := tm.SubResource("eviction").Create(tm.t.Context(), pod, &policyv1.Eviction{}); err != nil {
		tm.t.Error(err)
	}
}

// helm runs the real one on the namespace of the release.
func (tm *team) helm(args ...string) {
	folder := filepath.Join(tm.t.TempDir(), "helm")
	cmd := exec.Command(filepath.Join(root(), "bin", "helm"), append(args, "--namespace", tm.systemName(), "--timeout=4m")...)
	cmd.Dir = root()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+tm.env["KUBECONFIG"], "HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		tm.t.Errorf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
