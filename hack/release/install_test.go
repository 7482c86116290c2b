package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// TestInstall pushes a release to a registry, applies its manifests to a cluster from which the nodes pull the image, and
// follows docs/first-team.md: with the command line of the release for the key, and the published npm client in CI.
func TestInstall(t *testing.T) {
	if !*full || runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOT PASSED: it needs a whole cluster, and so root and minutes: make release-check")
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	r := hostRelease(t)
	r.Image = strings.TrimPrefix(server.URL, "http://") + "/team/postflight"
	if _, err := r.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := push(r.Output, r.Image+":"+r.Version); err != nil {
		t.Fatal(err)
	}
	kubectl := startCluster(t, r)
	began := time.Now()
	if out := kubectl("apply", "-f", r.path(installName)); strings.Contains(strings.ToLower(out), "warning") {
		t.Errorf("kubectl apply without flags warns:\n%s", out)
	}
	kubectl("rollout", "status", "-n", "postflight-system", "deployment/postflight-manager", "--timeout=300s")
	ready := time.Since(began)

	kubectl("apply", "-f", firstTeam(t, r))
	key := regexp.MustCompile(`pf_acme_\w+`).FindString(runProgram(t, releasedCLI(t, r), "keys", "create", "ci", "-n", "acme"))
	kubectl("wait", "apikey/ci", "trigger/hello", "-n", "acme", "--for=condition=Ready", "--timeout=60s")
	notify(t, r, portForward(t, r), key)
	kubectl("wait", "suite", "--all", "-n", "acme", "--for=condition=Succeeded", "--timeout=120s")
	fmt.Printf("INSTALL ready_seconds=%.0f passed_seconds=%.0f\n", ready.Seconds(), time.Since(began).Seconds())
}

// startCluster starts a cluster with nothing of Postflight in it, and returns its kubectl, which ends the test if it fails.
func startCluster(t *testing.T, r release) func(args ...string) string {
	t.Helper()
	dev, dir := filepath.Join(r.Root, "bin", "dev"), filepath.Join(r.Root, ".test", "release")
	up := exec.Command(dev, "up", "--no-manager", "--dir", dir, "--port-base", "9500")
	up.Dir = r.Root
	t.Cleanup(func() {
		down := exec.Command(dev, "down", "--dir", dir)
		down.Dir = r.Root
		if out, err := down.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if out, err := up.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kubeconfig := regexp.MustCompile(`(?m)KUBECONFIG='?([^'\n]+)`).FindStringSubmatch(readText(t, filepath.Join(dir, "env")))
	t.Setenv("KUBECONFIG", kubeconfig[1])
	kubectl := func(args ...string) string {
		t.Helper()
		return runProgram(t, filepath.Join(r.Root, "bin", "cluster", "kubectl"), args...)
	}
	kubectl("delete", "-f", r.path(installName), "--ignore-not-found", "--timeout=120s")
	return kubectl
}

// firstTeam writes the manifest of docs/first-team.md to a file.
func firstTeam(t *testing.T, r release) string {
	t.Helper()
	blocks := regexp.MustCompile("(?ms)^```yaml\n(apiVersion: v1\nkind: Namespace.*?)^```").
		FindStringSubmatch(readText(t, filepath.Join(r.Root, "docs", "first-team.md")))
	if blocks == nil {
		t.Fatal("docs/first-team.md has no team")
	}
	path := filepath.Join(t.TempDir(), "team.yaml")
	if err := os.WriteFile(path, []byte(blocks[1]), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func releasedCLI(t *testing.T, r release) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "postflight")
	content := untar(t, r.path(r.archiveName("postflight", r.Platforms[0])))["postflight"]
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// portForward returns the URL under which the Service is reached until the test ends.
func portForward(t *testing.T, r release) string {
	t.Helper()
	forward := exec.CommandContext(t.Context(), filepath.Join(r.Root, "bin", "cluster", "kubectl"),
		"port-forward", "-n", "postflight-system", "service/postflight", ":80")
	out, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	forward.Stderr = os.Stderr
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = forward.Process.Kill(); _ = forward.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if address == "" {
		t.Fatalf("kubectl port-forward says %q (%v)", line, err)
	}
	return "http://" + address
}

// notify tells of a deployment with the published client, as CI does.
func notify(t *testing.T, r release, url, key string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "notify.mjs"} {
		content := readText(t, filepath.Join(r.Root, "test", "e2e", "npm", name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runProgram(t, "npm", "ci", "--prefix", dir, "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts")
	const deployment = `{"branch": "main", "sha": "good1234", "deploymentType": "staging"}`
	config := fmt.Sprintf(`{"apiKey": %q, "serviceBase": %q, "deployment": %s}`, key, url, deployment)
	if answer := runProgram(t, "node", filepath.Join(dir, "notify.mjs"), config); !strings.Contains(answer, `"outcome":"success"`) {
		t.Errorf("the client got %s", answer)
	}
}
