package replicas

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
)

var quiet = log.New(io.Discard, "", 0)

const system = "postflight-system"

// replica is a process of the manager.
type replica struct {
	t       testing.TB
	url     string
	probes  string
	metrics string
	log     string
	cmd     *exec.Cmd
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
		r.awaitReady()
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

// startReplica starts one by the command, which ends in the manager's own, or without one.
func startReplica(t testing.TB, kubeconfig string, command ...string) *replica {
	t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary := cmp.Or(os.Getenv("POSTFLIGHT_MANAGER"), filepath.Join(root, "bin", "manager"))
	if _, err := os.Stat(binary); err != nil {
		missing := t.Skipf
		if os.Getenv("CI") == "true" {
			missing = t.Fatalf
		}
		missing("SKIPPED, NOT PASSED: there is no manager to test; build it by `make manager`: %v", err)
	}
	api, probes, metrics := freeport.Address(t), freeport.Address(t), freeport.Address(t)
	r := &replica{t: t, url: "http://" + api, probes: "http://" + probes, metrics: "http://" + metrics, log: filepath.Join(t.TempDir(), "log")}
	command = append(command, binary, "--kubeconfig="+kubeconfig, "--bind-address="+api, "--health-probe-bind-address="+probes,
		"--metrics-bind-address="+metrics, "--metrics-auth=false", "--leader-election-namespace="+system, "--drain-delay=0s")
	r.cmd = exec.Command(command[0], command[1:]...)
	out, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r.cmd.Stdout, r.cmd.Stderr = out, out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.end)
	return r
}

func (r *replica) end() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	if r.t.Failed() {
		content, _ := os.ReadFile(r.log)
		r.t.Logf("--- the end of the log of %s\n%s", r.url, content[max(0, len(content)-3000):])
	}
}

func (r *replica) awaitReady() {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(r.probes + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	r.t.Fatalf("%s is not ready after 2 minutes", r.url)
}

// client keeps enough connections for a crowd.
var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 200}}

// answer is the answer that a client gets.
type answer struct {
	Status  int
	Body    string
	Took    time.Duration
	Results []struct {
		Created   string `json:"created_suite_id"`
		Duplicate string `json:"duplicate_suite_id"`
		Failure   string `json:"failure_reason"`
	} `json:"results"`
}

// notify sends a notification once, as the clients do.
func notify(ctx context.Context, url, key, body string) (answer, error) {
	return notifyBy(ctx, client, url, key, body)
}

func notifyBy(ctx context.Context, by *http.Client, url, key, body string) (answer, error) {
	start := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/webhooks/deploy_success", strings.NewReader(body))
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
