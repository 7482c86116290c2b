package replicas

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/managers"
)

var quiet = log.New(io.Discard, "", 0)

const system = "postflight-system"

// replica is a process of the manager.
type replica struct {
	*managers.Process
	t testing.TB
}

// replicas are n processes that reach the API server by the kubeconfig; they elect one leader.
func replicas(t testing.TB, s *apiserver.Server, kubeconfig string, n int) []*replica {
	t.Helper()
	systemNamespace(t, s)
	all := make([]*replica, n)
	for i := range all {
		all[i] = startReplica(t, kubeconfig)
	}
	for _, r := range all {
		r.AwaitReady()
	}
	return all
}

// systemNamespace holds the leader's Lease.
func systemNamespace(t testing.TB, s *apiserver.Server) {
	t.Helper()
	err := s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func startReplica(t testing.TB, kubeconfig string, flags ...string) *replica {
	t.Helper()
	return startWith(t, managers.Options{Kubeconfig: kubeconfig, Flags: flags})
}

func startWith(t testing.TB, o managers.Options) *replica {
	t.Helper()
	return &replica{managers.Start(t, o), t}
}

// client keeps enough connections for a crowd.
var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 200}}

// answer is the answer that a client gets.
type answer struct {
	Status  int
	Body    string
	Took    time.Duration
	Results []struct {
		Created   string    `json:"created_suite_id"`
		Duplicate string    `json:"duplicate_suite_id"`
		EndedAt   time.Time `json:"duplicate_ended_at"`
		Failure   string    `json:"failure_reason"`
	} `json:"results"`
}

// notify sends a notification once, as the clients do.
func notify(ctx context.Context, url, key, body string) (answer, error) {
	return notifyBy(ctx, client, url, key, body)
}

func notifyBy(ctx context.Context, by *http.Client, url, key, body string) (answer, error) {
	return postBy(ctx, by, url+"/api/webhooks/deploy_success", key, body)
}

// dryRun asks what a notification would start.
func dryRun(ctx context.Context, url, key, body string) (answer, error) {
	return postBy(ctx, client, url+"/api/webhooks/deploy_success?dryRun=true", key, body)
}

func postBy(ctx context.Context, by *http.Client, url, key, body string) (answer, error) {
	start := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := by.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{Status: resp.StatusCode, Body: string(bytes.TrimSpace(content)), Took: time.Since(start)}
	return a, json.Unmarshal(content, &a)
}
