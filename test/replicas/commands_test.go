package replicas

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// call sends a request, and returns its status. It decodes the answer into a value, unless that is nil.
func (tm *team) call(method, url, body string, into any) int {
	tm.t.Helper()
	r, err := http.NewRequestWithContext(tm.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		tm.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+tm.key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		tm.t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err == nil && into != nil && resp.StatusCode < 300 {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		tm.t.Errorf("%s %s: %d %s: %v", method, url, resp.StatusCode, content, err)
	}
	return resp.StatusCode
}

// ended creates a run that has failed.
func (tm *team) ended(name, sha string) {
	tm.t.Helper()
	s := &v1alpha1.Suite{ObjectMeta: tm.meta(name), Spec: v1alpha1.SuiteSpec{
		Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", Supersede: v1alpha1.SupersedeNone,
		Deployment: v1alpha1.Deployment{SHA: sha}, Variables: v1alpha1.Variables{"GREP": "@smoke"},
	}}
	tm.create(s)
	c := v1alpha1.Failed("Exit code 1.")
	c.LastTransitionTime = metav1.Now()
	poll.True(tm.t, "the run has ended", func() bool {
		tm.get(s)
		s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{c}, &c.LastTransitionTime
		err := tm.s.Client.Status().Update(tm.t.Context(), s)
		if err != nil && !apierrors.IsConflict(err) { // with the leader
			tm.t.Fatal(err)
		}
		return err == nil
	})
}

// TestRerunOnce: many requests to rerun a run, to three processes at once, make one next attempt, which one of them has
// created; also where every tenth answer of the API server is lost after the write.
func TestRerunOnce(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	tm.unbind()
	all := replicas(t, s, p.kubeconfig(), processes)
	tm.awaitKnown(all)
	p.every.Store(10)
	shas := []string{"a", "", "b", "", "c", "", "d", "", "e", "f"} // those without one are told apart by their run
	if tier.Gate() {
		shas = shas[:4]
	}
	for round, sha := range shas {
		name := fmt.Sprintf("ended-%d", round)
		tm.ended(name, sha)
		var wait sync.WaitGroup
		var mu sync.Mutex
		statuses, ids := map[int]int{}, map[string]int{}
		for i := range crowd {
			wait.Go(func() {
				var next httpapi.Run
				status := tm.call(http.MethodPost, all[i%processes].URL+"/api/v0/runs/"+name+"/rerun", "", &next)
				mu.Lock()
				defer mu.Unlock()
				statuses[status]++
				ids[next.ID]++
			})
		}
		wait.Wait()
		if statuses[http.StatusCreated] != 1 || statuses[http.StatusOK] != crowd-1 || len(ids) != 1 {
			t.Errorf("round %d: status %v, ids %v; want one 201 and the same id", round, statuses, ids)
		}
	}
	attempts := map[int32]int{}
	for _, s := range tm.suites() {
		attempts[s.Spec.Attempt]++
		if s.Spec.Variables["GREP"] != "@smoke" {
			t.Errorf("the run %s has the variables %v", s.Name, s.Spec.Variables)
		}
	}
	if attempts[1] != len(shas) || attempts[2] != len(shas) || len(attempts) != 2 {
		t.Errorf("attempts %v, want %d first and as many second ones", attempts, len(shas))
	}
	if p.lost.Load() == 0 {
		t.Error("no answer was lost, so this tested nothing")
	}
}

// TestCommands: a run is listed by each process, canceled, and gone with its environment.
func TestCommands(t *testing.T) {
	s := apiserver.Alone(t)
	freeLead(t, s)
	startCluster(t, s)
	tm := newTeam(t, s)
	other := newTeamNamed(tm, "other")
	other.create(other.apiKey("ci", other.key))
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), processes)
	tm.awaitKnown(all)
	const url = "https://pr-7.example.com"
	a, err := notify(t.Context(), all[0].URL, tm.key, `{"sha":"abc1234","ephemeral_environment":true,"deployment_url":"`+url+`"}`)
	if err != nil || len(a.Results) != 1 || a.Results[0].Created == "" {
		t.Fatalf("%v: %d %s", err, a.Status, a.Body)
	}
	id := a.Results[0].Created
	for i, r := range all {
		poll.True(t, fmt.Sprintf("replica %d lists the run", i), func() bool {
			var page httpapi.Runs
			status := tm.call(http.MethodGet, r.URL+"/api/v0/runs?sha=abc1234", "", &page)
			return status == http.StatusOK && slices.ContainsFunc(page.Runs, func(r httpapi.Run) bool { return r.ID == id })
		})
		for _, path := range []string{"", "/logs", "/artifacts"} {
			if status := other.call(http.MethodGet, r.URL+"/api/v0/runs/"+id+path, "", nil); status != http.StatusNotFound {
				t.Errorf("another team's key gets status %d for %s", status, path)
			}
		}
	}
	for _, r := range all {
		var result httpapi.TerminationResult
		status := tm.call(http.MethodPost, r.URL+"/api/webhooks/environment_terminated", `{"deploymentUrl":"`+url+`"}`, &result)
		if status != http.StatusOK && status != http.StatusNotFound { // the first may have deleted it by then
			t.Errorf("status %d", status)
		}
	}
	poll.True(t, "the run is canceled", func() bool {
		var run httpapi.Run
		return tm.call(http.MethodGet, all[1].URL+"/api/v0/runs/"+id, "", &run) == http.StatusOK && run.State == v1alpha1.ReasonCanceled &&
			strings.Contains(run.Message, "the API key ci, which ended its ephemeral Environment")
	})
	poll.True(t, "the Environment is deleted", func() bool {
		var list v1alpha1.EnvironmentList
		if err := s.Client.List(t.Context(), &list, k8sclient.InNamespace(tm.namespace)); err != nil {
			t.Fatal(err)
		}
		return len(list.Items) == 1 // the static one
	})
	for _, r := range all {
		if status := tm.call(http.MethodPost, r.URL+"/api/v0/runs/"+id+"/cancel", "", nil); status != http.StatusOK {
			t.Errorf("canceled again: status %d", status)
		}
	}
	owner := &v1alpha1.Suite{ObjectMeta: tm.meta(id)}
	if err := s.Client.Get(t.Context(), k8sclient.ObjectKeyFromObject(owner), owner); err == nil && len(owner.OwnerReferences) != 1 {
		t.Errorf("the run has the owners %v, want its Environment", owner.OwnerReferences)
	} else if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
